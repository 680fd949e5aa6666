"""Wraps the CEL engine's objects: declares functions and types, runs programs, and converts values to Python.

All workarounds for cel-expr-python 0.1.3 are here, in ``cel.calls`` or in ``cel.program``
(docs/adr/0002-cel-engine.md). The engine has no type information, so the engine's objects are ``Any``, and are not used
outside ``cel``.
"""

import ctypes
import re
import sys
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeVar

from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3
from google.protobuf.descriptor_pool import DescriptorPool

from ..errors import EvaluationError
from . import declarations, dispatch, opaque, program
from .bodies import Bodies
from .calls import Calls
from .engine_errors import error_of
from .functions import CARRIED, FUNCTIONS, NODES_FIELDS, Function, ReviewContext
from .libraries import AUTHORIZATION, LIBRARIES
from .libraries.native import ORDERS
from .types import INT, NODES, OPTIONAL, STRING, CelType

# A program's operands and results: a value that is no int, string or bool is JSON; a node set is its number.
_RUN_TIME = {
    INT.name: cel.Type.INT,
    STRING.name: cel.Type.STRING,
    "bool": cel.Type.BOOL,
    "list(string)": cel.Type.LIST,
    "list(list(string))": cel.Type.LIST,
    NODES.name: cel.Type.INT,
}

# Making an environment of the engine takes 0.5 ms, 0.8 more for the Pod's types, and 0.8 more for all functions; a
# check takes 50 us, so expressions share one where possible. Beyond this number all are dropped.
_REMEMBERED = 64
_WORD = re.compile(r"\w+")
_OF_KUBERNETES = "k8s."


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """The variables of one review with values, which are converted to the CEL engine's form at the first use."""

    engine: Any
    review: ReviewContext
    bindings: Mapping[str, object]
    """The values of the variables, by name, as plain Python."""
    runner: "Runner"
    """The runner that made the activation; only programs of this runner can be evaluated with the activation."""


@dataclass(frozen=True, slots=True, eq=False)
class _Declared:
    """An environment of the CEL engine for type checking, with its variables and the names of its functions."""

    engine: Any
    variables: Mapping[str, CelType]
    functions: AbstractSet[str]


def _keep_none() -> None:
    """Make None immortal on Python 3.11, as Python 3.12 and later do (PEP 683).

    cel-expr-python 0.1.3 releases one reference too many to None for every converted null. On 3.11, the missing
    references crash the process after some ten thousand nulls ("none_dealloc"). This function raises the reference
    count so far that the count never reaches zero.
    """
    if sys.version_info < (3, 12):
        # ob_refcnt is the first field of every object: https://docs.python.org/3.11/c-api/structures.html#c.PyObject
        ctypes.c_ssize_t.from_address(id(None)).value += 1 << 40


_keep_none()


class Runner:
    """Runs the CEL engine's programs on plain JSON, with podberth's functions bound to the current review."""

    def __init__(self, names: Iterable[str]) -> None:
        """Declare podberth's functions to the CEL engine; ``names`` are the variables that every activation binds."""
        self._calls = Calls()
        self._names: Mapping[str, Any] = dict.fromkeys(names)
        self._engine = cel.NewEnv(
            opaque.POOL,
            declarations.run(),
            variables=dict.fromkeys(self._names, cel.Type.DYN),
            functions=[
                *map(self._function, FUNCTIONS),
                *map(self._nodes_field, NODES_FIELDS),
                *dispatch.declarations(self._calls.bind),
            ],
        )

    def load(self, serialized: bytes) -> Any:
        """Return the loaded program; None if nested more deeply than the 100 messages that protobuf reads."""
        try:
            return self._engine.deserialize(serialized)
        except RuntimeError:
            return None

    def activation(self, bindings: Mapping[str, object], review: ReviewContext) -> Activation:
        """Return the variables of a review with the values in ``bindings``; a missing variable is null."""
        named = {**self._names, **bindings}
        return Activation(self._engine.Activation(named), review, named, self)

    def run(self, loaded: Any, activation: Activation) -> Any:
        """Evaluate a program and return the CEL engine's value object, which may be a CEL error.

        Raises:
            UndecidedError: the engine stopped, because the program exceeded the maximum number of iterations; or the
                answer of the variable ``authorizer`` is not known.
            EvaluationError: the engine got a value that CEL does not have; or one of podberth's functions failed, which
                is a bug.
        """
        self._calls.review = activation.review
        try:
            value = loaded.eval(activation.engine)
        except RuntimeError as error:
            self._raise_fault()
            raise error_of(str(error)) from error
        finally:
            self._calls.settle()
        if self._calls.fault is not None:
            self._raise_fault()
        return value

    def _raise_fault(self) -> None:
        """Raise EvaluationError if one of podberth's functions raised an exception, which is a bug.

        ``||`` and ``&&`` do not absorb the error. The policy's failurePolicy applies to the error, so the review still
        gets an answer.
        """
        fault, self._calls.fault = self._calls.fault, None
        if isinstance(fault, Exception):
            raise EvaluationError(f"a function of podberth's failed: {type(fault).__name__}: {fault}") from fault
        if fault is not None:
            raise fault

    def _function(self, row: Function) -> Any:
        parameters = [_RUN_TIME[each] for each in row.parameters if each in CARRIED]
        # An overload that takes an object would have to say MAP: DYN matches no map here.
        result = _RUN_TIME.get(row.result, cel.Type.MAP)
        call = self._calls.bind(row.call, len(parameters))
        overload = cel.Overload(row.id, return_type=result, parameters=parameters, impl=call)
        return cel.FunctionDecl(row.id, [overload])

    def _nodes_field(self, name: str) -> Any:
        answer = NODES_FIELDS[name]

        def call(review: ReviewContext, handle: int) -> Any:
            return answer(review.nodes(handle))

        function = program.field_function(name)
        overload = cel.Overload(
            function, return_type=cel.Type.DYN, parameters=[cel.Type.INT], impl=self._calls.bind(call, 1)
        )
        return cel.FunctionDecl(function, [overload])


class Checker:
    """Type-checks expressions: against the types of variables, message types and functions."""

    def __init__(self, pool: DescriptorPool) -> None:
        """Declare to the CEL engine the functions, by the names that policies use; ``pool`` has the message types."""
        self._pool = pool
        self._engines: list[_Declared] = []
        self._functions = declarations.functions((*FUNCTIONS, *LIBRARIES, *ORDERS, *AUTHORIZATION))
        self._document = declarations.checked({})
        self.bodies = Bodies(declarations.run())
        """The compiler of the library functions that are written in CEL."""

    def check(self, source: str, variables: Mapping[str, CelType]) -> bytes:
        """Return the type-checked expression, serialised; ``variables`` are the variables that it may use.

        Raises:
            RuntimeError: the expression does not type-check; the message is the engine's text of all problems.
        """
        return bytes(self._engine(source, variables).compile(source).serialize())

    def _engine(self, source: str, variables: Mapping[str, CelType]) -> Any:
        """Return an environment that has, of the names in ``source``, those in ``variables``, and the functions.

        The environment may have any other names, because the engine looks up only the names in ``source``.
        """
        words = frozenset(_WORD.findall(source))
        named, functions = _named(variables, words), _named(self._functions, words)
        for each in self._engines:
            if (
                named.items() <= each.variables.items()
                and functions.keys() <= each.functions
                and _named(each.variables, words).keys() == named.keys()
            ):
                return each.engine
        if len(self._engines) >= _REMEMBERED:
            self._engines.clear()
        # The other variables of the policy are declared for its later expressions; the Pod's types are too expensive.
        declared = named | {name: each for name, each in variables.items() if not each.name.startswith(_OF_KUBERNETES)}
        optionals = {name: each for name, each in declared.items() if each.name == OPTIONAL}
        engine = cel.NewEnv(
            self._pool,
            declarations.checked(optionals) if optionals else self._document,
            variables={
                name: declarations.engine_type(each) for name, each in declared.items() if name not in optionals
            },
            functions=list(functions.values()),
        )
        self._engines.append(_Declared(engine, declared, functions.keys()))
        return engine


_Value = TypeVar("_Value")


def _named(values: Mapping[str, _Value], words: Container[str]) -> dict[str, _Value]:
    """Return the items whose name an expression with these words may use, and the operators.

    An expression names ``variables.count`` only if it has the word ``count``.
    """
    return {
        name: each
        for name, each in values.items()
        if (last := name.rpartition(".")[2]) in words or not last.isidentifier()
    }


def plain(value: Any, *, may_hold_optional: bool = False) -> Any:
    """Return the result of a program as plain Python.

    Args:
        value: the CEL engine's value object.
        may_hold_optional: whether a list or map may contain an optional. Then the value is checked first, because
            converting a map with an optional ({'a': optional.of(1)}) crashes the process.

    Raises:
        EvaluationError: the value is an error, contains an optional, or has a text that is not UTF-8.
    """
    # An error's plain value is a string, and an optional's type is ERROR too.
    is_error = value.type() == cel.Type.ERROR
    if may_hold_optional and _holds_optional(value):
        raise EvaluationError("got an optional inside a value, want it taken out with orValue() or [?...]")
    try:
        found = value.plain_value()
    except TypeError as error:  # pybind11's error for a text that is no UTF-8
        raise EvaluationError("got a text that is no UTF-8, want Unicode text") from error
    if is_error:
        raise error_of(str(found))
    return found


def _holds_optional(value: Any) -> bool:
    waiting = [value]
    while waiting:
        try:
            found = waiting.pop().value()  # one level; the inner values keep the engine's own form
        except TypeError:  # pybind11: the one kind of value that has no conversion
            return True
        if isinstance(found, list):
            waiting.extend(found)
        elif isinstance(found, dict):
            waiting.extend(found.values())
    return False
