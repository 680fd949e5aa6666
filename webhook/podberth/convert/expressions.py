"""Converts expressions of GPUPolicies to expressions of native policies, and back.

A native policy has no variable ``gpu``. So each field of ``gpu``, such as ``gpu.count``, becomes a variable of the
native policy (``gpu_facts``). A matchCondition cannot use variables, so each field is replaced by its native expression
there. All other text stays unchanged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ..cel.engine import CelProblem, CelType, CompileError, Environment, Expression, Room, Want
from ..cel.parts import Token, tokens_of
from ..cel.types import BOOL, DYN, OPTIONAL
from ..cel.typing import NATIVE_VARIABLES
from .gpu_facts import ASKED, EXPANDED, KNOWN_KINDS

_CLUSTER: Final = "a native policy does not see the cluster's nodes"
_NOT_NATIVE: Final[Mapping[str, str]] = {
    "topology": f"topology: {_CLUSTER}",
    "mig": f"mig: {_CLUSTER}",
    "gang": "gang: what the pod's gang is stands in the keys and objects of many operators, which podberth reads",
    "shell": "shell: a function of podberth's",
    "models": "models: a function of podberth's",
    "jsonpatch": "jsonpatch: validations have no such function",
}
FACT_VARIABLES: Final[Mapping[str, str]] = dict(EXPANDED.values())
"""The CEL expression of each fact of ``gpu``, by the name of the native policy's variable for that fact."""
_FIELDS: Final = {name: field for field, (name, _) in EXPANDED.items()}
_COMPARISONS: Final = frozenset({"==", "!="})
_ASKED: Final = {(">", "0"): False, ("==", "0"): True}
# A comparison between one of these tokens and one of those is an operand of its own.
_BEFORE: Final = frozenset({"", "&&", "||", "(", "?", ":", ","})
_BEHIND: Final = frozenset({"", "&&", "||", ")", "?", ":", ","})
_NAMES: Final = frozenset(NATIVE_VARIABLES)
MUTATION_NAMES: Final = _NAMES | {"variables", "jsonpatch"}
"""The CEL variables that a mutation of a native policy may use."""
CONDITION_NAMES: Final = _NAMES - {"namespaceObject"}
"""The CEL variables that a match condition of a native policy may use."""


def check_facts(source: str, *, writes: bool = False) -> None:
    """Check that a native policy can read everything that an expression reads.

    ``writes`` says that the expression belongs to a mutation, which may use ``jsonpatch``.

    Raises:
        CompileError: the expression has a name that a native policy cannot read; the error is at the position of the
            name.
    """
    tokens = tokens_of(source)
    for index, token in enumerate(tokens):
        if not _is_name(tokens, index):
            continue
        if token.text in _NOT_NATIVE and not (writes and token.text == "jsonpatch"):
            raise _at(source, token, _NOT_NATIVE[token.text])
        if token.text == "gpu":
            why = _unsaid(tokens, index, _fact(tokens, index))
            if why:
                raise _at(source, token, why)


def with_variables(source: str) -> str:
    """Return a CEL expression in which variables of a native policy replace fields of ``gpu`` such as ``gpu.count``."""
    return _replaced(source, lambda name: f"variables.{name}")


def as_condition(source: str) -> str:
    """Return a CEL expression for a matchCondition, in which native expressions replace fields of ``gpu``."""
    return _replaced(source, lambda name: f"({FACT_VARIABLES[name]})")


def without_variables(source: str) -> str:
    """Return a CEL expression in which fields of ``gpu`` replace a native policy's variables for the fields."""
    tokens, text, behind = tokens_of(source), "", 0
    for token in tokens:
        if token.text not in _FIELDS or not source[: token.start].endswith("variables."):
            continue
        start, field = token.start - len("variables."), _FIELDS[token.text]
        fact, negated = f"gpu.{field}", False
        if field == ASKED:
            negated = source[:start].endswith("!")
            fact = "gpu.count == 0" if negated else "gpu.count > 0"
        text, behind = text + source[behind : start - negated] + fact, token.end
    return text + source[behind:]


def from_condition(source: str) -> str:
    """Return a CEL expression in which fields of ``gpu`` replace the native expressions for the fields.

    A text without such expressions is unchanged.
    """
    for name, expression in FACT_VARIABLES.items():
        source = source.replace(f"({expression})", f"variables.{name}")
    return without_variables(source)


def conjuncts(source: str) -> Iterator[str]:
    """Yield the operands of a CEL conjunction (``&&`` outside brackets); the whole text if there is none."""
    tokens, depth, start = tokens_of(source), 0, 0
    found: list[str] = []
    for token in tokens:
        depth += (token.text in ("(", "[", "[?", "{")) - (token.text in (")", "]", "}"))
        if depth == 0 and token.text in ("||", "?"):
            yield source.strip()
            return
        if depth == 0 and token.text == "&&":
            found, start = [*found, source[start : token.start]], token.end
    yield from (each.strip() for each in (*found, source[start:]))


class Native:
    """Compiles the expressions of one native policy, one after the other."""

    def __init__(self, environment: Environment) -> None:
        """Create the compiler; ``environment`` must be a CEL environment of native policies."""
        self._environment = environment
        self._room = Room.of_policy(None)
        self.variables: dict[str, Expression | CelType] = {}
        """The variables of the policy that were compiled before; later expressions may use these variables."""

    def compiled(
        self, source: str, names: frozenset[str] = _NAMES | {"variables"}, want: Want = Want.ANY
    ) -> Expression:
        """Return the compiled expression, which may use the variables ``names``, with a value of the type ``want``.

        Raises:
            CompileError: the expression does not compile.
        """
        known = self.variables if "variables" in names else {}
        return self._environment.compile(source, want=want, variables=known, names=names, room=self._room)

    def of_type(self, source: str, wanted: CelType, names: frozenset[str] = _NAMES | {"variables"}) -> Expression:
        """Return the compiled expression, with a conversion to ``wanted`` if the static type is dyn, as in Kubernetes.

        The expression may use the variables ``names``.

        Raises:
            CompileError: the expression does not compile, or has an optional type.
        """
        found = self.compiled(source, names)
        if found.type == DYN:
            return self.compiled(f"({source}) == true" if wanted == BOOL else f"string({source})", names)
        if found.type.name == OPTIONAL:
            message = f"got {found.type}, want {wanted}: a native policy takes no optional value"
            raise CompileError((CelProblem(1, 1, message),))
        return found


class _Fact(NamedTuple):
    """A field of the CEL variable ``gpu`` in an expression: its name, and where its text ends."""

    field: str
    last: int
    """The index of the fact's last token."""
    negated: bool = False


def _fact(tokens: Sequence[Token], index: int) -> _Fact:
    """Return the field of the CEL variable ``gpu`` whose text begins at the token ``index``, which is ``gpu``.

    For ``gpu.count > 0``, the result is the fact ``ASKED`` (the pod asks for accelerators), because the native
    expression of ``ASKED`` is shorter than that of ``gpu.count``. For ``gpu.count == 0``, it is ``ASKED`` negated.
    """
    field = _text(tokens, index + 2) if _text(tokens, index + 1) == "." else ""
    compared = (_text(tokens, index + 3), _text(tokens, index + 4))
    stands_alone = _text(tokens, index - 1) in _BEFORE and _text(tokens, index + 5) in _BEHIND
    if field == "count" and compared in _ASKED and stands_alone:
        return _Fact(ASKED, index + 4, _ASKED[compared])
    return _Fact(field, index + 2)


def _unsaid(tokens: Sequence[Token], index: int, fact: _Fact) -> str:
    if fact.field not in EXPANDED:
        what = f"gpu.{fact.field}" if fact.field else "gpu"
        return f"{what}: no expression over the pod gives it"
    if fact.field == "kind" and not _compares_with_a_known_kind(tokens, index):
        known = ", ".join(sorted(KNOWN_KINDS))
        return f"gpu.kind: whether a claim is for accelerators is not in the pod; compare it with {known}"
    return ""


def _replaced(source: str, by: Callable[[str], str]) -> str:
    """Return an expression with each field of ``gpu`` replaced by ``by(name)``.

    The argument ``name`` is the name of the variable that a native policy has for the field.
    """
    tokens, text, behind = tokens_of(source), "", 0
    for index, token in enumerate(tokens):
        if token.text == "gpu" and _is_name(tokens, index):
            fact = _fact(tokens, index)
            made = "!" * fact.negated + by(EXPANDED[fact.field][0])
            text, behind = text + source[behind : token.start] + made, tokens[fact.last].end
    return text + source[behind:]


def _is_name(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a token is the name of a variable, and neither a field nor a key."""
    return index == 0 or tokens[index - 1].text not in (".", ".?")


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _compares_with_a_known_kind(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the ``gpu.kind`` at ``index`` is compared only with values that native policies can compute."""
    compares, other = _text(tokens, index + 3), _text(tokens, index + 4)
    if _text(tokens, index - 1) == "+":
        return False
    if compares in _COMPARISONS:
        return _is_kind(other) and _text(tokens, index + 5) not in ("+", ".")
    among = [each.text for each in tokens[index + 5 :]] if (compares, other) == ("in", "[") else []
    return "]" in among and all(map(_is_kind, among[: among.index("]") : 2]))


def _is_kind(literal: str) -> bool:
    return literal[1:-1] in KNOWN_KINDS and literal[:1] in "'\""


def _at(source: str, token: Token, why: str) -> CompileError:
    head = source[: token.start]
    return CompileError((CelProblem(head.count("\n") + 1, len(head) - head.rfind("\n"), why),))
