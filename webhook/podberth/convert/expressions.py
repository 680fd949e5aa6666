"""Expressions of GPUPolicies as expressions of native policies, and back.

``gpu.count`` and the other facts of ``gpu_facts`` become variables; in a match condition, which has no variables, an
``all`` over a list of one element names the value. All other text stays as its author wrote it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..cel.engine import CelProblem, CelType, CompileError, Environment, Expression, Room, Want
from ..cel.parts import Token, tokens_of
from ..cel.types import BOOL, DYN, OPTIONAL
from ..cel.typing import NATIVE_VARIABLES
from .gpu_facts import EXPANDED, KNOWN_KINDS

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
"""The expressions of the facts, by the names of their variables."""
_FIELDS: Final = {name: field for field, (name, _) in EXPANDED.items()}
_COMPARISONS: Final = frozenset({"==", "!="})
_NAMES: Final = frozenset(NATIVE_VARIABLES)
CONDITION_NAMES: Final = _NAMES - {"namespaceObject"}
"""The names that a match condition may use."""


def facts_in(source: str) -> tuple[tuple[str, ...], CelProblem | None]:
    """Return the facts of ``gpu`` that an expression reads, each once, and the first part that cannot be said."""
    tokens, found = tokens_of(source), dict[str, None]()
    for index, token in enumerate(tokens):
        if _is_name(tokens, index) and token.text in _NOT_NATIVE:
            return (), _at(source, token, _NOT_NATIVE[token.text])
        if not (_is_name(tokens, index) and token.text == "gpu"):
            continue
        field = tokens[index + 2].text if _text(tokens, index + 1) == "." and index + 2 < len(tokens) else ""
        if field not in EXPANDED:
            what = f"gpu.{field}" if field else "gpu"
            return (), _at(
                source, token, f"{what}: it is not in the pod alone, or no expression of a native policy gives it"
            )
        if field == "kind" and not _compares_with_a_known_kind(tokens, index):
            why = "gpu.kind: whether a claim is for accelerators is not in the pod; compare it with "
            return (), _at(source, token, why + ", ".join(sorted(KNOWN_KINDS)))
        found[field] = None
    return tuple(found), None


def with_variables(source: str) -> str:
    """Return the text with each fact of ``gpu`` as a variable of the policy."""
    return _replaced(source, lambda field: f"variables.{EXPANDED[field][0]}")


def as_condition(source: str, facts: Iterable[str]) -> str:
    """Return the text of a match condition, whose ``facts`` are named by loops over one element."""
    text = _replaced(source, lambda field: EXPANDED[field][0])
    for field in facts:
        name, expression = EXPANDED[field]
        text = f"[{expression}].all({name}, {text})"
    return text


def without_variables(source: str) -> str:
    """Return the text with the facts in place of their variables: what ``with_variables`` came from."""
    tokens, text, behind = tokens_of(source), "", 0
    for index, token in enumerate(tokens):
        is_fact = _text(tokens, index + 1) == "." and _text(tokens, index + 2) in _FIELDS
        if token.text == "variables" and _is_name(tokens, index) and is_fact:
            text += source[behind : token.start] + f"gpu.{_FIELDS[tokens[index + 2].text]}"
            behind = tokens[index + 2].end
    return text + source[behind:]


def from_condition(source: str) -> str:
    """Return the text that ``as_condition`` came from, or the same text if it came from none."""
    text, facts = source, dict[str, str]()
    heads = {name: f"[{expression}].all({name}, " for name, expression in EXPANDED.values()}
    while name := next((each for each, head in heads.items() if text.startswith(head)), ""):
        text, facts[name] = text[len(heads[name]) : -1], f"gpu.{_FIELDS[name]}"
    tokens, made, behind = tokens_of(text), "", 0
    for index, token in enumerate(tokens):
        if token.text in facts and _is_name(tokens, index):
            made, behind = made + text[behind : token.start] + facts[token.text], token.end
    return made + text[behind:]


def conjuncts(source: str) -> Iterator[str]:
    """Yield the operands that all must be true; the whole text if it is no conjunction."""
    tokens, depth, start = tokens_of(source), 0, 0
    found: list[str] = []
    for token in tokens:
        depth += (token.text in ("(", "[", "[?", "{")) - (token.text in (")", "]", "}"))
        if depth == 0 and token.text in ("||", "?"):
            yield source.strip()
            return
        if depth == 0 and token.text == "&&":
            found, start = [*found, source[start : token.start]], token.end
    yield from (" ".join(each.split()) for each in (*found, source[start:]))


class Native:
    """Compiles expressions as a native policy's, one after the other."""

    def __init__(self, environment: Environment) -> None:
        """Take the environment of native policies (``cel.typing.NATIVE_VARIABLES``)."""
        self._environment = environment
        self._room = Room.of_policy(None)
        self.variables: dict[str, Expression | CelType] = {}
        """The variables that later expressions may use."""

    def compiled(self, source: str, names: frozenset[str] = _NAMES | {"variables"}) -> Expression:
        """Return the expression compiled with any type.

        Raises:
            CompileError: it does not compile.
        """
        known = self.variables if "variables" in names else {}
        return self._environment.compile(source, want=Want.ANY, variables=known, names=names, room=self._room)

    def of_type(self, source: str, wanted: CelType, names: frozenset[str] = _NAMES | {"variables"}) -> Expression:
        """Return the expression compiled, changed so that its static type is the wanted one, as upstream demands.

        Raises:
            CompileError: it does not compile, or has another type.
        """
        found = self.compiled(source, names)
        if found.type == DYN:
            return self.compiled(f"({source}) == true" if wanted == BOOL else f"string({source})", names)
        if found.type.name == OPTIONAL:
            message = f"got {found.type}, want {wanted}: a native policy takes no optional value"
            raise CompileError((CelProblem(1, 1, message),))
        return found


def _replaced(source: str, by: Callable[[str], str]) -> str:
    tokens, text, behind = tokens_of(source), "", 0
    for index, token in enumerate(tokens):
        if token.text == "gpu" and _is_name(tokens, index):
            text, behind = text + source[behind : token.start] + by(tokens[index + 2].text), tokens[index + 2].end
    return text + source[behind:]


def _is_name(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a token is a name of its own: neither a field nor a key."""
    return index == 0 or tokens[index - 1].text not in (".", ".?")


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _compares_with_a_known_kind(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the ``gpu.kind`` at ``index`` is compared with literals that its expression can give."""
    compares, other = _text(tokens, index + 3), _text(tokens, index + 4)
    if _text(tokens, index - 1) == "+":
        return False
    if compares in _COMPARISONS:
        return _is_kind(other) and _text(tokens, index + 5) not in ("+", ".")
    among = [each.text for each in tokens[index + 5 :]] if (compares, other) == ("in", "[") else []
    return "]" in among and all(map(_is_kind, among[: among.index("]") : 2]))


def _is_kind(literal: str) -> bool:
    return literal[1:-1] in KNOWN_KINDS and literal[:1] in "'\""


def _at(source: str, token: Token, why: str) -> CelProblem:
    head = source[: token.start]
    return CelProblem(head.count("\n") + 1, len(head) - (head.rfind("\n") + 1) + 1, why)
