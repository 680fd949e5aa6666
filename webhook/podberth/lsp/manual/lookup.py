"""Finds the manual's sentence about a variable, a field, a function or a macro of CEL.

The generated pages arrange the functions in the tables of ``TABLES``, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from ...cel.functions import FUNCTIONS, Function
from ...cel.libraries import (
    AUTHORIZATION,
    Overload,
    cidr,
    format,  # noqa: A004 - the library's own name
    ip,
    lists,
    native,
    optionals,
    quantity,
    regex,
    semver,
    url,
)
from ...cel.libraries.native import Macro
from ...cel.typing import DECLARED, VARIABLES
from . import library, variables
from .pod_fields import MEANINGS
from .variables import Manual

_TO_STRING: Final = tuple(row for row in native.STRINGS if row.name == "string")
TABLES: Final[Mapping[str, tuple[Sequence[Overload], Sequence[Macro]]]] = {
    "macros": ((), native.LANGUAGE_MACROS),
    "operators": (native.TABLES["operators"], ()),
    "standard": (native.TABLES["functions"], ()),
    "conversions": ((*native.TABLES["conversions"], *_TO_STRING), ()),
    "times": (native.TABLES["times"], ()),
    "lists": ((*lists.OVERLOADS, *native.TABLES["lists"]), native.LIST_MACROS),
    "sets": (native.TABLES["sets"], ()),
    "optionals": ((*native.TABLES["optionals"], *optionals.OVERLOADS), native.OPTIONAL_MACROS),
    "strings": (tuple(row for row in native.STRINGS if row not in _TO_STRING), ()),
    "regex": (regex.OVERLOADS, ()),
    "quantities": (quantity.OVERLOADS, ()),
    "versions": (semver.OVERLOADS, ()),
    "addresses": (ip.OVERLOADS, ()),
    "networks": (cidr.OVERLOADS, ()),
    "urls": (url.OVERLOADS, ()),
    "formats": (format.OVERLOADS, ()),
}
"""The functions and macros of each table of docs/cel.md, by the table's name."""

_NAMES: Final = {kind: name for name, kind in VARIABLES.items()}


def signature(function: Function) -> str:
    """Return a function of podberth as the manual writes it, such as ``mig.capacity(string)``."""
    receiver, *arguments = (_NAMES.get(each, each.removeprefix("podberth.")) for each in function.parameters)
    return f"{receiver}.{function.name}({', '.join(arguments)})"


def type_of(path: str) -> str:
    """Return the CEL type of a field by its path in the manual: from a variable, or from a type of podberth."""
    first, *steps = path.replace("[]", "").split(".")
    spelled = VARIABLES.get(first, f"podberth.{first}")
    for step in steps:
        spelled = DECLARED[element(spelled)][step]
    return spelled


def element(spelled: str) -> str:
    """Return the type of the items of a list type; any other type is returned unchanged."""
    return spelled.removeprefix("list(").removesuffix(")") if spelled.startswith("list(") else spelled


@cache
def fields() -> Mapping[tuple[str, str], str]:
    """Return the manual's sentence about each field, by (message type, name of the field)."""
    found = {(f"k8s.{kind}", name): each for kind, rows in MEANINGS.items() for name, each in rows.items()}
    for table in variables.FIELDS.values():
        for path, meaning in table.items():
            owner, _, name = path.rpartition(".")
            found[element(type_of(owner)), name.removesuffix("[]")] = meaning
    return found


@cache
def functions() -> tuple[tuple[Overload, Manual | None], ...]:
    """Return every function that an author can call by its name, each with its manual; operators are left out.

    The functions of ``authorizer``, which are upstream's, have no manual.
    """
    own = ((each, variables.MANUALS[signature(each)]) for each in FUNCTIONS)
    libraries = (
        (row, library.MANUALS[table][row.name])
        for table, (rows, _) in TABLES.items()
        for row in rows
        if row.name.replace(".", "").isidentifier()
    )
    return (*own, *libraries, *((row, None) for row in AUTHORIZATION))


def macros() -> Iterator[tuple[Macro, Manual]]:
    """Yield every macro with its manual."""
    for table, (_, rows) in TABLES.items():
        yield from ((row, library.MANUALS[table][row.name]) for row in rows)
