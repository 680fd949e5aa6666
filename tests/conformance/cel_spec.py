"""google/cel-spec's simple conformance cases, as data (../shared/conformance), on the engine as policies meet it.

What is checked is rewritten by ``cel.program`` before it runs, as every expression of a policy is: so a case also says
that the rewriting keeps the meaning, but where upstream's is another. A case that must not be checked has no types to
rewrite by: it runs on the bare engine, and so does one with a container, which no policy has.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3
from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math  # type: ignore[import-untyped]
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from node_builders import index_of, need_of
from podberth.cel import ast, declarations, opaque, program
from podberth.cel.bodies import Bodies
from podberth.cel.functions import ReviewContext
from podberth.cel.libraries.overload import OPAQUE
from podberth.cel.runtime import Checker, Runner
from podberth.cel.types import parse
from podberth.cel.typing import descriptor_pool
from podberth.errors import EvaluationError

# Two of protobuf's own messages are CEL's times; every other name of a message is one that no pod has.
_OF_PROTOBUF = re.compile(r"TestAllTypes|cel\.expr\.conformance|google\.protobuf(?!\.(Timestamp|Duration))")
_CONTAINERS = ("cel.expr.conformance.proto2", "cel.expr.conformance.proto3")
_PRIMITIVES = {
    "BOOL": "bool",
    "INT64": "int",
    "UINT64": "uint",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "bytes",
}
_TYPES = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "uint": cel.Type.UINT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "bytes": cel.Type.BYTES,
    "null": cel.Type.NULL,
    "type": cel.Type.TYPE,
}
# What the engine's Python interface calls a type that is a value: its own constant's name, "LIST<DYN>".
_AS_VALUES = {
    "NULL": "null_type",
    "TIMESTAMP": "google.protobuf.Timestamp",
    "DURATION": "google.protobuf.Duration",
}


_SCALARS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "uint": int,
    "double": float,
    "bytes": bytes.fromhex,
    "duration": lambda text: timedelta(seconds=float(text.removesuffix("s"))),
}
_OTHERS = (ext_math.ExtMath(), ext_bindings.ExtBindings(), ext_encoders.ExtEncoders())


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the file."""

    id: str
    document: Mapping[str, Any]

    @property
    def file(self) -> str:
        """The upstream file that it is from."""
        return self.id.partition("/")[0]

    @property
    def needs_protobuf(self) -> bool:
        """Whether it is about protobuf messages, which no pod has.

        A container alone makes none: 15 cases are in upstream's package of test messages and name an enum of it or a
        message of one field, which ``_test_messages`` declares.
        """
        stated = {key: each for key, each in self.document.items() if key != "container" or each not in _CONTAINERS}
        return bool(stated.get("needsProto") or _OF_PROTOBUF.search(json.dumps(stated)))


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file of JSON lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        yield Case(document["id"], document)


class UnsupportedError(Exception):
    """A case that ``cel.program`` refuses, for the engine could not run it."""


def engine_holds(case: Case) -> bool:
    """Run a case on the engine with every extension that it ships; return whether it came out as upstream says.

    The same type and value, the type deduced, or an error.
    """
    return _comes_out(case, _bare(_OTHERS))


def policies_hold(case: Case) -> bool:
    """Run a case as a policy's expression is: podberth's checker and libraries, and no extension that policies lack."""
    document = case.document
    is_a_policys = not any(document.get(key) for key in ("disableCheck", "container")) and not any(
        "function" in each for each in document.get("declares", [])
    )
    return _comes_out(case, _as_policy if is_a_policys else _bare(()))


Evaluate: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Returns what a case evaluates to, an error included; of a case that is only checked the type, spelt out."""


def _comes_out(case: Case, evaluate: Evaluate) -> bool:
    document = case.document
    try:
        found = evaluate(document)
    except (RuntimeError, EvaluationError, DecodeError):
        return "error" in document
    except UnsupportedError:
        return False
    if document.get("checkOnly"):
        return bool(found == _spelled(document["type"]))
    if found.type() == cel.Type.ERROR:
        return "error" in document
    return "value" in document and _same(found, document["value"])


def _bare(extensions: tuple[Any, ...]) -> Evaluate:
    def evaluate(document: Mapping[str, Any]) -> Any:
        engine = _engine(document.get("container", ""), json.dumps(document.get("declares", [])), extensions)
        unchecked = bool(document.get("disableCheck"))
        compiled = engine.compile(document["expr"], disable_check=unchecked)
        if document.get("checkOnly"):
            return _type_of(ast.decode(compiled.serialize()))
        return compiled.eval(engine.Activation(_bindings(document)))

    return evaluate


def _as_policy(document: Mapping[str, Any]) -> Any:
    declared = {each["name"]: parse(_spelled(each["ident"]["type"])) for each in document.get("declares", [])}
    checked = ast.decode(_checker().check(document["expr"], declared))
    if document.get("checkOnly"):
        return _type_of(checked)
    bindings = _bindings(document)
    runner = _runner(tuple(bindings))
    loaded = runner.load(_lowered(checked, _checker().bodies))
    return runner.run(loaded, runner.activation(bindings, ReviewContext(index_of([]), need_of(0))))


def _lowered(checked: Any, bodies: Bodies) -> bytes:
    lowered, problems = program.lower(checked, {}, bodies)
    if problems:
        raise UnsupportedError(str(problems))
    return program.assemble([lowered], as_list=False)


def _type_of(checked: Any) -> str:
    return str(ast.type_of(checked, checked.expr))


def _bindings(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: untagged(value) for name, value in document.get("bindings", {}).items()}


@lru_cache(maxsize=64)
def _engine(container: str, declares: str, extensions: tuple[Any, ...]) -> Any:
    declared = json.loads(declares)
    functions = [_function(each) for each in declared if "function" in each]
    return cel.NewEnv(
        _test_messages() if container in _CONTAINERS else opaque.POOL,
        cel.NewEnvConfigFromYaml(json.dumps({"functions": functions})) if functions else declarations.run(),
        variables={each["name"]: _engine_type(each["ident"]["type"]) for each in declared if "ident" in each},
        extensions=extensions,
        container=cel.ExpressionContainer(container) if container else None,
    )


@cache
def _checker() -> Checker:
    return Checker(descriptor_pool({name: {} for name in OPAQUE}))


@lru_cache(maxsize=64)
def _runner(names: tuple[str, ...]) -> Runner:
    return Runner(names)


@cache
def _test_messages() -> DescriptorPool:
    """Return what the cases that are not about messages name of cel-spec's proto/cel/expr/conformance."""
    pool, kind = DescriptorPool(), descriptor_pb2.FieldDescriptorProto
    for package in _CONTAINERS:
        syntax = package.rpartition(".")[2]
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax=syntax)
        numbers = file.enum_type.add(name="GlobalEnum").value
        for number, name in enumerate(("GOO", "GAR", "GAZ")):
            numbers.add(name=name, number=number)
        if syntax == "proto2":
            fields = file.message_type.add(name="TestRequired").field
            fields.add(name="required_int32", number=1, type=kind.TYPE_INT32, label=kind.LABEL_REQUIRED)
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _function(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a declared function as the engine's environment document has it."""
    return {
        "name": declared["name"],
        "overloads": [
            {
                "id": each["overloadId"],
                "args": [_in_document(parameter) for parameter in each["params"]],
                "return": _in_document(each["resultType"]),
            }
            for each in declared["function"]["overloads"]
        ],
    }


def _in_document(document: Mapping[str, Any]) -> dict[str, Any]:
    kind, inner = next(iter(document.items()))
    if kind == "typeParam":
        return {"type_name": inner, "is_type_param": True}
    if kind == "abstractType":
        return {"type_name": inner["name"], "params": [_in_document(each) for each in inner["parameterTypes"]]}
    return {"type_name": _spelled(document)}


def _engine_type(document: Mapping[str, Any]) -> Any:
    if "null" in document:  # of a variable; the engine's Python interface has a constant for it, and no name
        return cel.Type.NULL
    return declarations.engine_type(parse(_spelled(document)))


def _spelled(document: Mapping[str, Any]) -> str:
    """Return a type as ``CelType`` is spelt."""
    kind, inner = next(iter(document.items()))
    match kind:
        case "primitive":
            return _PRIMITIVES[inner]
        case "listType":
            return f"list({_spelled(inner['elemType'])})"
        case "mapType":
            return f"map({_spelled(inner['keyType'])}, {_spelled(inner['valueType'])})"
        case "abstractType":
            return f"{inner['name']}({', '.join(map(_spelled, inner['parameterTypes']))})"
        case "messageType":
            return str(inner)
        case _:
            return {"null": "null_type"}.get(kind, kind)


def untagged(tagged: Mapping[str, Any]) -> Any:
    """Return a tagged value as plain Python."""
    kind, value = next(iter(tagged.items()))
    if kind == "list":
        return [untagged(each) for each in value]
    if kind == "map":
        return {untagged(key): untagged(each) for key, each in value}
    return _SCALARS[kind](value) if kind in _SCALARS else value


def _same(value: Any, tagged: Mapping[str, Any]) -> bool:
    """Compare in type and value; a map in any order."""
    kind, plain = next(iter(tagged)), value.value()
    if kind == "list":
        return isinstance(plain, list) and len(plain) == len(tagged[kind]) and all(map(_same, plain, tagged[kind]))
    if kind == "map":
        entries = {untagged(key): each for key, each in tagged[kind]}
        if not isinstance(plain, dict) or plain.keys() != entries.keys():
            return False
        return all(_same(each, entries[key]) for key, each in plain.items())
    if value.type() != _TYPES[kind]:
        return False
    if kind == "type":
        name = plain.name().partition("<")[0]
        return bool(_AS_VALUES.get(name, name.lower()) == tagged[kind])
    expected = untagged(tagged)
    return bool(plain == expected or (kind == "double" and math.isnan(plain) and math.isnan(expected)))
