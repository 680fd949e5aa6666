"""Compilation and evaluation of CEL (docs/adr/0002-cel-engine.md).

An expression is type-checked against ``cel.typing`` and then evaluated on plain dicts. Only one thread may use an
Environment, because an Environment holds the current review for podberth's functions. More threads would not be faster,
because the engine never releases the interpreter lock; more processes are. Environments are independent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from google.protobuf.message import DecodeError

from ..errors import EvaluationError
from ..kube.schema import PodSchema
from ..topology.index import TopologyIndex
from ..topology.need import Need
from . import ast, opaque, patch_types, program
from .compile_limits import Late, Room, excess, never, too_large, too_many_parts
from .constants import constant_calls
from .cost import MAX_MICROSECONDS, Cost, cost_of
from .engine_errors import TOO_DEEP, CelProblem, Vocabulary, explain, unwanted
from .formats import wrong_formats
from .functions import FUNCTIONS, ReviewContext
from .libraries import LIBRARIES
from .libraries.authz import Question
from .libraries.overload import AUTHORIZER, RESOURCE_CHECK
from .literals import mixed_literals
from .program import VARIABLES_PREFIX, Lowered
from .runtime import Activation, Checker, Runner, plain
from .types import OPTIONAL, CelType, Want, accepts
from .typing import NATIVE_VARIABLES, VARIABLES, descriptor_pool, messages
from .value_types import misfit, ordered

__all__ = [
    "Activation",
    "Batch",
    "CelProblem",
    "CelType",
    "CompileError",
    "Environment",
    "Expression",
    "Late",
    "ReviewContext",
    "Room",
    "Want",
    "never",
]

_VARIABLES = VARIABLES_PREFIX.rstrip(".")
_OURS: Mapping[str, Mapping[str, object]] = {"mig": {}, "jsonpatch": {}, "shell": {}, "models": {}}
"""The variables without fields, such as ``mig``: expressions use such a variable only to call functions on it."""
_FUNCTION_NAMES = frozenset(row.name for row in FUNCTIONS) | frozenset(row.name for row in LIBRARIES)
_ABORTED = "[ABORTED]"


class CompileError(Exception):
    """An expression cannot be used: it is no CEL, does not type-check, is too large, or its value has an unwanted type.

    The field ``problems`` lists all problems of the expression.
    """

    def __init__(self, problems: tuple[CelProblem, ...]) -> None:
        """Create the error with ``problems``; the message has one line for each problem."""
        super().__init__("\n".join(f"{each.line}:{each.column}: {each.message}" for each in problems))
        self.problems = problems


class Expression:
    """A compiled expression, which can be evaluated for any number of reviews.

    ``load`` makes the program that the engine runs. If ``load`` was not called, the first evaluation makes the program.
    """

    def __init__(
        self,
        source: str,
        want: Want,
        checked: ast.Node,
        lowered: Lowered,
        *,
        runner: Runner,
        variables: "Mapping[str, Expression]",
    ) -> None:
        """Create the expression from its text, the wanted type, the checked tree, and the corrected tree.

        ``variables`` are the expressions that the expression may name as ``variables.<key>``.
        """
        self.source = source
        self.want = want
        self.type: CelType = lowered.type
        """The type that the checker found for the value; ``optional_type(T)`` if the value may be absent."""
        self.variables = lowered.names
        """The names of the policy's variables that the expression itself refers to."""
        self.reads = lowered.reads
        """The paths of the fields that the expression, its variables and the called functions read (``cel.reads``)."""
        self.functions: frozenset[str] = lowered.functions
        """The names of the functions and operators that the expression calls."""
        self._is_optional = lowered.type.name == OPTIONAL
        self._makes_patches = patch_types.may_be_named(source, want)
        self._loaded: Any = None
        self._lowered = lowered
        self._nameable = variables
        self._unpriced = checked
        self._runner = runner

    @cached_property
    def costs(self) -> Mapping[str, Cost]:
        """The maximum costs of an evaluation: the key "" has the cost of the expression itself.

        The name of a variable that the expression needs has the cost of that variable.
        """
        costs = {"": cost_of(self._unpriced, {name: each.costs[""].value for name, each in self._nameable.items()})}
        for name in self.variables & self._nameable.keys():
            inner = self._nameable[name].costs
            costs |= {each: inner[each] for each in inner if each} | {name: inner[""]}
        self._nameable, self._unpriced = {}, None
        return costs

    def load(self, room: Room | None) -> None:
        """Load the program that evaluates the expression together with the needed variables.

        The compiler of policies does not call ``load`` for variables: a variable is part of each program that needs the
        variable.

        Args:
            room: the budget of syntax-tree nodes (``cel.compile_limits``), which shrinks by the program's nodes; None
                if the expression belongs to no policy.

        Raises:
            CompileError: the program would exceed the limit or the budget, or is nested too deeply.
        """
        parts = self._lowered.parts_in_all
        if message := too_large(parts) or (room.take(parts) if room else ""):
            raise CompileError((CelProblem(1, 1, message),))
        self._loaded = self._program()
        if self._loaded is None:
            raise CompileError((CelProblem(1, 1, TOO_DEEP),))

    def _program(self) -> Any:
        return self._runner.load(program.assemble([self._lowered], as_list=False))

    def evaluate(self, activation: Activation) -> Any:
        """Return the value of the expression as plain Python: None, bool, int, float, str, list, dict.

        None stands for null or an absent optional; in a mutation both mean "no change". If ``want`` is ANY, a timestamp
        becomes a datetime, a duration a timedelta, and bytes a bytearray. A set of nodes becomes a number that is valid
        only in the current review.

        Raises:
            EvaluationError: the evaluation failed, or the value does not have the wanted type.
        """
        if activation.runner is not self._runner:
            self._runner, self._loaded = activation.runner, None
        if self._loaded is None:  # a variable that is evaluated alone
            self._loaded = self._program()
        value = self._runner.run(self._loaded, activation)
        if self.want is Want.BOOL:
            answer = value.plain_value()
            if answer is True or answer is False:
                return answer
        found = plain(value, may_hold_optional=self._lowered.may_hold_optional)
        if self._is_optional:
            found = found[0] if found else None
        if problem := misfit(found, self.want):
            raise EvaluationError(problem)
        if self._makes_patches:
            return patch_types.settled(found)
        return ordered(found) if self.want in (Want.MAP, Want.LIST_OF_MAPS) else found


@dataclass(frozen=True, slots=True)
class Batch:
    """Several conditions that one program evaluates together."""

    _expressions: tuple[Expression, ...]
    _loaded: Any
    """The loaded program; None if the conditions are too large for one program."""
    _runner: Runner

    def evaluate(self, activation: Activation) -> list[bool | EvaluationError]:
        """Return the values of the conditions, in order; for a condition that failed, the list has the error.

        If one condition fails, or all conditions together exceed 10,000 iterations, the whole program fails. Then the
        conditions are evaluated one by one, so that each condition gets the value of a separate evaluation.
        """
        if self._loaded is not None:
            try:
                return list(plain(self._runner.run(self._loaded, activation)))
            except EvaluationError:
                pass
        return [_answer(each, activation) for each in self._expressions]


class Environment:
    """The variables and functions that expressions may use.

    Making an Environment takes 30 ms, and only one thread may use it.
    """

    def __init__(
        self,
        schema: PodSchema,
        *,
        deadline: Callable[[], Late] = lambda: never,
        native: bool = False,
    ) -> None:
        """Declare the types of the Pod schema, podberth's own types, and the functions.

        Args:
            schema: the types of pods and of the objects inside pods.
            deadline: starts the time limit for compiling one set of policies, and returns the check of that limit.
            native: whether expressions have the variables of native policies, and types follow the API server's rules
                for native policies: all elements of a list literal have one type, and a text has the type string.
        """
        self.schema = schema
        self.deadline = deadline
        self._names = NATIVE_VARIABLES if native else VARIABLES
        self._exact = native
        self._types = messages(schema)
        pool = descriptor_pool(self._types)
        self._checker = Checker(pool)
        self._runner = Runner({**VARIABLES, **self._names})

    def native(self) -> "Environment":
        """Return an environment for native policies, with the Pod schema and the time limit of this environment."""
        return Environment(self.schema, native=True, deadline=self.deadline)

    def compile(
        self,
        source: str,
        *,
        want: Want,
        variables: Mapping[str, CelType | Expression] | None = None,
        names: frozenset[str] | None = None,
        room: Room | None = None,
    ) -> Expression:
        """Type-check an expression and return the compiled expression.

        Args:
            source: the expression.
            want: the type that the value must have.
            variables: an expression or a type for each ``variables.<key>``. An expression of this Environment becomes
                part of the program, and is evaluated at most once, at its first use. If a key has a type, the value
                must be bound as "variables.<key>" in the activation.
            names: the names that the expression may use, among the names of the Environment and "variables"; None means
                all.
            room: the budget of the expression's policy, which shrinks by the size of the expression; the caller must
                call ``load`` before the expression can be evaluated. None: the expression is part of no policy, and can
                be evaluated at once.

        Raises:
            CompileError: the expression does not compile or is too large; the error has every problem that the checker
                found.
        """
        allowed = self._every_name if names is None else names
        given = dict(variables or {}) if _VARIABLES in allowed else {}
        declared = self._declared(given, allowed)
        checker, text = self._checker_of(source, want)
        checked = self._check(text, declared, self._every_name - allowed, checker, want)
        mixed = tuple(mixed_literals(checked)) if self._exact else ()
        formats = tuple(wrong_formats(checked, objects_have_text=not self._exact))
        expressions = {name: each for name, each in given.items() if isinstance(each, Expression)}
        failing = self._failing(checked)
        inlined = {name: each._lowered for name, each in expressions.items()}  # noqa: SLF001
        lowered, problems = program.lower(ast.copy_of(checked), inlined, self._checker.bodies)
        problems += (*mixed, *formats, *failing)
        if not accepts(want, lowered.type, exact=self._exact):
            problems.append(unwanted(lowered.type, want, source))
        if problems:
            raise CompileError(tuple(sorted(problems)))
        if message := too_many_parts(lowered.parts) or (room.take(lowered.parts) if room else ""):
            raise CompileError((CelProblem(1, 1, message),))
        if room and self._runner.load(program.assemble_alone(lowered)) is None:
            raise CompileError((CelProblem(1, 1, TOO_DEEP),))
        expression = Expression(source, want, checked, lowered, runner=self._runner, variables=expressions)
        if room is None:
            expression.load(None)
        return expression

    def checked(self, source: str, variables: Mapping[str, CelType | Expression]) -> ast.Node:
        """Return a type-checked expression, before it is rewritten for the CEL engine.

        Raises:
            CompileError: the expression does not compile.
        """
        checker, text = self._checker_of(source, Want.PART)
        return self._check(text, self._declared(variables, self._every_name), frozenset(), checker)

    def type_of(self, source: str, variables: Mapping[str, CelType]) -> CelType:
        """Return the type of an expression, which is not compiled to a program.

        Raises:
            CompileError: the expression does not compile.
        """
        checked = self.checked(source, variables)
        return ast.type_of(checked, checked.expr)

    def batch(self, expressions: Sequence[Expression]) -> Batch:
        """Return one program that evaluates several conditions (``Want.BOOL``) together."""
        serialized = program.assemble([each._lowered for each in expressions], as_list=True)  # noqa: SLF001
        return Batch(tuple(expressions), self._runner.load(serialized), self._runner)

    def activation(self, bindings: Mapping[str, object], review: ReviewContext) -> Activation:
        """Return the variables of a review with values, as the argument for the evaluation of an expression.

        ``bindings`` has the values as plain JSON, by name; a missing name is null. The variables ``topology`` and
        ``mig`` get their values from ``review``. Callers must not modify the values while the activation is in use.
        """
        return self._runner.activation({**bindings, **_OURS, "topology": {"known": review.index.known}}, review)

    @staticmethod
    def authorizer(question: Question) -> dict[str, object]:
        """Return the bindings of ``authorizer`` and ``authorizer.requestResource`` for an activation.

        ``question`` has the requester, and the resource and the object of the request. Without a requester, every use
        of these variables is an error.
        """
        return {
            "authorizer": opaque.wrap(AUTHORIZER, Question(user=question.user).text),
            "authorizer.requestResource": opaque.wrap(RESOURCE_CHECK, question.text),
        }

    def _failing(self, checked: ast.Node) -> list[CelProblem]:
        """Return a problem for each call of constants that always fails; the API server refuses such calls, too."""
        # A pattern may be what makes an expression too expensive; then it is refused for that, and not compiled here.
        calls = [each for each in constant_calls(checked) if cost_of(each.checked, {}).microseconds <= MAX_MICROSECONDS]
        programs = [program.lower(each.checked, {}, self._checker.bodies)[0] for each in calls]
        if not calls or not self._failure(programs):
            return []
        found = ((call, self._failure([alone])) for call, alone in zip(calls, programs, strict=True))
        return [
            CelProblem(
                *ast.position(checked, call.literal.id), f"got {ast.constant(call.literal)!r}, want {call.want} ({why})"
            )
            for call, why in found
            if why
        ]

    def _failure(self, constants: Sequence[Lowered]) -> str:
        """Return the error of the first expression in ``constants`` that fails; empty if no expression fails."""
        loaded = self._runner.load(program.assemble(constants, as_list=True))
        if loaded is None:  # nested too deeply: ``load`` refuses the whole expression for that
            return ""
        nothing = self._runner.activation({}, ReviewContext(TopologyIndex.build(()), Need()))
        try:
            plain(self._runner.run(loaded, nothing))
        except EvaluationError as error:
            return str(error)
        return ""

    def _checker_of(self, source: str, want: Want) -> tuple[Checker, str]:
        """Return (the type checker for an expression, the text of the expression for that type checker).

        An expression that makes patches gets a type checker that knows the types in the text, such as ``Object.spec``.
        In the text for that checker, "_" replaces "." in the names of such types.
        """
        if not patch_types.may_be_named(source, want):
            return self._checker, source
        text = patch_types.flattened(source)
        return Checker(descriptor_pool({**self._types, **patch_types.messages(text)})), text

    @property
    def _every_name(self) -> frozenset[str]:
        return frozenset((*self._names, _VARIABLES))

    def _declared(self, variables: Mapping[str, CelType | Expression], names: frozenset[str]) -> dict[str, CelType]:
        """Return a mapping from every name that an expression may use to the type of the variable."""
        types = {name: each if isinstance(each, CelType) else each.type for name, each in variables.items()}
        return {
            **{name: CelType(kind) for name, kind in self._names.items() if name in names},
            **{f"{VARIABLES_PREFIX}{name}": kind for name, kind in types.items()},
        }

    def _check(
        self,
        source: str,
        declared: Mapping[str, CelType],
        forbidden: frozenset[str],
        checker: Checker,
        want: Want = Want.PART,
    ) -> ast.Node:
        if problem := excess(source):
            raise CompileError((problem,))
        try:
            source.encode()
            return ast.decode(_parsed(checker, source, declared))
        except UnicodeEncodeError as error:
            raise CompileError((CelProblem(1, 1, "got half a surrogate pair, want Unicode text"),)) from error
        except DecodeError as error:
            raise CompileError((CelProblem(1, 1, TOO_DEEP),)) from error
        except RuntimeError as error:
            words = Vocabulary(
                names=frozenset(declared),
                forbidden=forbidden,
                functions=_FUNCTION_NAMES,
                fields=self._types,
            )
            raise CompileError(explain(str(error), source, words, want)) from error


def _parsed(checker: Checker, source: str, declared: Mapping[str, CelType]) -> bytes:
    """Return the type-checked expression, serialised; an internal failure of the parser is retried once.

    The parser reports internal exceptions as ABORTED, without a message. ABORTED occurred once in tens of thousands of
    compilations of correct sources, and never twice for the same source. Problems of a source are reported each time.
    """
    try:
        return checker.check(source, declared)
    except RuntimeError as error:
        if _ABORTED not in str(error):
            raise
    return checker.check(source, declared)


def _answer(expression: Expression, activation: Activation) -> bool | EvaluationError:
    try:
        return bool(expression.evaluate(activation))
    except EvaluationError as error:
        text = str(error)
    # A new one: the traceback of the one raised holds the activation, and with it the pod, for as long as it is kept.
    return EvaluationError(text)
