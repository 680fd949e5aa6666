"""google/cel-spec's simple conformance cases, as data (../shared/conformance), on the engine as policies meet it.

What is checked is rewritten by ``cel.program`` before it runs, as every expression of a policy is: so a case also says
that the rewriting keeps the meaning. A case that must not be checked has no types to rewrite by: it runs on the bare
engine.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3
from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math  # type: ignore[import-untyped]

from podberth.cel import ast, declarations, opaque, program
from podberth.cel.bodies import Bodies

# Two of protobuf's own messages are CEL's times; every other name of a message is one that no pod has.
_OF_PROTOBUF = re.compile(r"TestAllTypes|cel\.expr\.conformance|google\.protobuf(?!\.(Timestamp|Duration))")
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
        """Whether it is about protobuf messages, which no pod has."""
        return bool(self.document.get("needsProto") or _OF_PROTOBUF.search(json.dumps(self.document)))


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file of JSON lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        yield Case(document["id"], document)


class UnsupportedError(Exception):
    """A case that the engine's Python interface cannot state: a generic function, an abstract type."""


def holds(case: Case, *, with_all: bool) -> bool:
    """Run a case; tell whether it came out as upstream says: the same type and value, the type deduced, an error.

    With ``with_all`` the engine has every extension that it ships (math, bindings, encoders), else those of policies.
    """
    document = case.document
    try:
        engine = _engine(document.get("container", ""), json.dumps(document.get("declares", [])), with_all)
        return _check(engine, document) if document.get("checkOnly") else _evaluate(engine, document)
    except (RuntimeError, ast.DecodeError):
        return "error" in document
    except UnsupportedError:
        return False


def _check(engine: Any, document: Mapping[str, Any]) -> bool:
    checked = ast.decode(engine.compile(document["expr"]).serialize())
    return str(ast.type_of(checked, checked.expr)) == _spelled(document["type"])


def _evaluate(engine: Any, document: Mapping[str, Any]) -> bool:
    unchecked = bool(document.get("disableCheck"))
    compiled = engine.compile(document["expr"], disable_check=unchecked)
    if not unchecked:
        lowered, problems = program.lower(ast.decode(compiled.serialize()), {}, _bodies().apply)
        if problems:
            raise UnsupportedError(str(problems))
        compiled = engine.deserialize(program.assemble([lowered], as_list=False))
    bindings = {name: _plain(value) for name, value in document.get("bindings", {}).items()}
    value = compiled.eval(engine.Activation(bindings))
    if value.type() == cel.Type.ERROR:
        return "error" in document
    return "value" in document and _same(value, document["value"])


@lru_cache(maxsize=64)
def _engine(container: str, declares: str, with_all: bool) -> Any:
    declared = json.loads(declares)
    if any("function" in each for each in declared):
        raise UnsupportedError("function")
    return cel.NewEnv(
        opaque.POOL,
        declarations.run(),
        variables={each["name"]: _engine_type(each["ident"]["type"]) for each in declared},
        extensions=_OTHERS if with_all else (),
        container=cel.ExpressionContainer(container) if container else None,
    )


@cache
def _bodies() -> Bodies:
    return Bodies(declarations.run())


def _engine_type(document: Mapping[str, Any]) -> Any:
    kind, inner = next(iter(document.items()))
    match kind:
        case "primitive":
            return _TYPES[_PRIMITIVES[inner]]
        case "null":
            return cel.Type.NULL
        case "dyn":
            return cel.Type.DYN
        case "listType":
            return cel.Type.List(_engine_type(inner["elemType"]))
        case "mapType":
            return cel.Type.Map(_engine_type(inner["keyType"]), _engine_type(inner["valueType"]))
        case "messageType":
            return {"google.protobuf.Timestamp": cel.Type.TIMESTAMP, "google.protobuf.Duration": cel.Type.DURATION}[
                inner
            ]
        case _:
            raise UnsupportedError(kind)


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
        case "null":
            return "null_type"
        case _:
            return kind


def _plain(tagged: Mapping[str, Any]) -> Any:
    """Return a tagged value as plain Python."""
    kind, value = next(iter(tagged.items()))
    if kind == "list":
        return [_plain(each) for each in value]
    if kind == "map":
        return {_plain(key): _plain(each) for key, each in value}
    return _SCALARS[kind](value) if kind in _SCALARS else value


def _same(value: Any, tagged: Mapping[str, Any]) -> bool:
    """Compare in type and value; a map in any order."""
    kind, plain = next(iter(tagged)), value.value()
    if kind == "list":
        return isinstance(plain, list) and len(plain) == len(tagged[kind]) and all(map(_same, plain, tagged[kind]))
    if kind == "map":
        entries = {_plain(key): each for key, each in tagged[kind]}
        if not isinstance(plain, dict) or plain.keys() != entries.keys():
            return False
        return all(_same(each, entries[key]) for key, each in plain.items())
    if value.type() != _TYPES[kind]:
        return False
    if kind == "type":
        name = plain.name().partition("<")[0]
        return bool(_AS_VALUES.get(name, name.lower()) == tagged[kind])
    expected = _plain(tagged)
    return bool(plain == expected or (kind == "double" and math.isnan(plain) and math.isnan(expected)))
