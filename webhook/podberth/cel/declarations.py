"""Declares types, extensions and library functions to the CEL engine: in Python, and in a configuration document.

The document has the declarations that the engine's Python interface cannot express: extensions beyond strings and
optional types, type parameters, and optional types (cel.Type("optional_type<int>") makes a type that matches no
overload). Parsing the document is slow (4 ms with all libraries in the document), so everything else is declared in
Python.
"""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3

from .libraries import LIBRARIES, Overload
from .libraries.native import ORDERS
from .types import OPTIONAL, CelType, parse

# The engine's own extensions. Those of upstream are checked. podberth declares strings itself, because it adds
# functions (libraries.native), and builds its regex library on regex.
_CHECKED_EXTENSIONS = ("optional", "lists", "sets", "two-var-comprehensions")
_RUN_EXTENSIONS = (*_CHECKED_EXTENSIONS, "strings", "regex")
# The engine takes a function from one declaration only.
_DECLARED_AGAIN = ("string", *sorted({row.name for row in ORDERS}))


# A type parameter, or an optional type.
_IN_DOCUMENT_ALONE = re.compile(rf"\b(?:[A-Z]|{OPTIONAL})\b")


def _needs_document(rows: Iterable[Overload]) -> bool:
    return any(_IN_DOCUMENT_ALONE.search(each) for row in rows for each in (*row.parameters, row.result))


def by_name(rows: Iterable[Overload]) -> dict[str, tuple[Overload, ...]]:
    """Return a mapping from each function's name to the overloads of the function, sorted by name."""
    ordered = sorted(rows, key=lambda row: row.name)
    return {name: tuple(each) for name, each in groupby(ordered, key=lambda row: row.name)}


_IN_DOCUMENT = {name: rows for name, rows in by_name(LIBRARIES).items() if _needs_document(rows)}


def functions(rows: Iterable[Overload]) -> dict[str, Any]:
    """Return, by name, the engine's declarations of the functions that its Python interface can express.

    The engine's configuration document declares the other functions.
    """
    return {
        name: cel.FunctionDecl(name, [_overload(row) for row in each])
        for name, each in by_name(rows).items()
        if name not in _IN_DOCUMENT
    }


def checked(optionals: Mapping[str, CelType]) -> Any:
    """Return the CEL engine's configuration document for type checking.

    ``optionals`` has the types of the variables that are optionals, by the variable's name.
    """
    return _document(
        extensions=[{"name": name} for name in _CHECKED_EXTENSIONS],
        stdlib={"exclude_functions": [{"name": name} for name in _DECLARED_AGAIN]},
        functions=[
            {"name": name, "overloads": [_spelled_overload(row) for row in rows]} for name, rows in _IN_DOCUMENT.items()
        ],
        variables=[{"name": name, **_spelled(each)} for name, each in optionals.items()],
    )


def run() -> Any:
    """Return the CEL engine's configuration document for running programs."""
    return _document(extensions=[{"name": name} for name in _RUN_EXTENSIONS])


def engine_type(found: CelType) -> Any:
    """Return a CelType as a type of the CEL engine's Python interface (``cel.Type``)."""
    parameters = [engine_type(each) for each in found.parameters]
    match found.name:
        case "list":
            return cel.Type.List(*parameters)
        case "map":
            return cel.Type.Map(*parameters)
        case "optional_type":  # inside a list or map: only the document can declare it
            return cel.Type.DYN
        case name:
            return cel.Type(name)


def _document(**parts: object) -> Any:
    return cel.NewEnvConfigFromYaml(json.dumps({key: each for key, each in parts.items() if each}))


def _overload(row: Overload) -> Any:
    operands = [engine_type(parse(each)) for each in row.parameters]
    result = engine_type(parse(row.result))
    return cel.Overload(row.id, return_type=result, parameters=operands, is_member=row.is_member)


def _spelled_overload(row: Overload) -> dict[str, Any]:
    operands = [_spelled(parse(each)) for each in row.parameters]
    made: dict[str, Any] = {"id": row.id, "return": _spelled(parse(row.result))}
    return made | ({"target": operands[0], "args": operands[1:]} if row.is_member else {"args": operands})


def _spelled(found: CelType) -> dict[str, Any]:
    if found.is_parameter:
        return {"type_name": found.name, "is_type_param": True}
    return {"type_name": found.name, "params": [_spelled(each) for each in found.parameters]}
