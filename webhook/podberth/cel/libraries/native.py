"""The engine's own functions: CEL's standard operators and functions, the extensions, and the macros.

The tables are in ``data/native.json``: the signature of each overload, by the engine's id of the overload. A test
compares each signature with the engine's checker. The tables are used for docs/cel.md and for suggestions after a
misspelt name. podberth declares two tables to the engine, because it adds overloads to their functions: ``STRINGS`` and
``ORDERS``. Sources: cel-spec doc/langdef.md (list of standard definitions); cel-cpp runtime/optional_types,
extensions/lists, sets, strings, comprehensions_v2.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

from .overload import Overload, overload

TABLES: Final[Mapping[str, tuple[Overload, ...]]] = {
    table: tuple(overload(each, signature) for each, signature in rows.items())
    for table, rows in json.loads(resources.files(__package__).joinpath("data", "native.json").read_bytes()).items()
}
"""The overloads by table: operators, functions, conversions, times, lists, sets, optionals and strings.

The operators have the names in a checked expression, such as ``_+_`` for a + b. The conversions are the type conversion
functions, except ``string``.
"""
ORDERS = tuple(row for row in TABLES["operators"] if row.name in {"_<_", "_<=_", "_>_", "_>=_"})
"""The comparisons ``<``, ``<=``, ``>`` and ``>=``.

The engine's type checker does not declare comparisons of two different types of number, so podberth's declaration
replaces the CEL engine's (cel-go CrossTypeNumericComparisons).
"""
NATIVE = tuple(row for table, rows in TABLES.items() if table != "strings" for row in rows)

STRINGS = TABLES["strings"]
"""The functions of the strings extension, and the conversion to string. The engine accepts only one declaration of a
function. As podberth adds overloads (``indexOf`` of a list, ``string`` of an IP), podberth's declaration repeats the
CEL engine's own overloads.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """One form of a macro. The parser expands macros, so a macro has no overloads."""

    name: str
    receiver: str
    """The receiver's type, as in an Overload; empty if the macro is not called on a receiver."""
    arguments: tuple[str, ...]
    """For each argument: a loop variable (one small letter), a field (``e.f``), or the type of an expression."""
    result: str


def _forms(name: str, receivers: tuple[str, ...], *forms: tuple[tuple[str, ...], str]) -> tuple[Macro, ...]:
    return tuple(
        Macro(name=name, receiver=receiver, arguments=arguments, result=result)
        for arguments, result in forms
        for receiver in receivers
    )


_LIST, _MAP, _OPTIONAL = "list(A)", "map(A, B)", "optional_type(A)"
_BOTH = (_LIST, _MAP)
_ONE, _TWO = (("x", "bool"), "bool"), (("k", "v", "bool"), "bool")

LANGUAGE_MACROS: tuple[Macro, ...] = (
    *_forms("has", ("",), (("e.f",), "bool")),
    *_forms("all", _BOTH, _ONE, _TWO),
    *_forms("exists", _BOTH, _ONE, _TWO),
    *_forms("exists_one", _BOTH, _ONE),
    *_forms("existsOne", _BOTH, _TWO),
    *_forms("filter", (_LIST,), (("x", "bool"), _LIST)),
    *_forms("filter", (_MAP,), (("x", "bool"), "list(A)")),
    *_forms("map", _BOTH, (("x", "C"), "list(C)"), (("x", "bool", "C"), "list(C)")),
    *_forms("transformList", _BOTH, (("k", "v", "C"), "list(C)"), (("k", "v", "bool", "C"), "list(C)")),
)
LIST_MACROS: tuple[Macro, ...] = _forms("sortBy", (_LIST,), (("x", "C"), _LIST))
OPTIONAL_MACROS: tuple[Macro, ...] = (
    *_forms("optMap", (_OPTIONAL,), (("x", "C"), "optional_type(C)")),
    *_forms("optFlatMap", (_OPTIONAL,), (("x", "optional_type(C)"), "optional_type(C)")),
)
MACROS: tuple[Macro, ...] = (*LANGUAGE_MACROS, *LIST_MACROS, *OPTIONAL_MACROS)

_CALLED = {row.name for row in NATIVE} | {macro.name for macro in MACROS}
_WORDS = {part for name in _CALLED for part in name.split(".") if part.replace("_", "").isalpha()}
# Near to "regex", and only for lists.
NAMES: frozenset[str] = frozenset(_WORDS - {"range"})
"""The words in the names of functions and macros, for suggestions after a misspelt name. ``optional.of``, for example,
has two words."""
