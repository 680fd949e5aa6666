"""The engine's own functions: CEL's standard operators and functions, its extensions, and the macros.

Nothing here is declared to the engine. The table is for documentation (docs/cel.md) and for suggestions after a
misspelt name. cel-spec doc/langdef.md (list of standard definitions); cel-cpp runtime/optional_types, extensions/lists,
sets, comprehensions_v2. The overload ids are the engine's own; a test compares each row with its checker.
"""

from dataclasses import dataclass

from .overload import Overload, rows

_DURATION, _TIMESTAMP = "google.protobuf.Duration", "google.protobuf.Timestamp"
_NUMBERS = {"int64": "int", "uint64": "uint", "double": "double"}
_ORDERED = _NUMBERS | {
    "bool": "bool",
    "string": "string",
    "bytes": "bytes",
    "duration": _DURATION,
    "timestamp": _TIMESTAMP,
}
_LIST, _MAP, _OPTIONAL = "list(A)", "map(A, B)", "optional_type(A)"
_SIZED = {"string": "string", "bytes": "bytes", "list": _LIST, "map": _MAP}
_LISTS, _MAPS = f"optional_type({_LIST})", f"optional_type({_MAP})"


def _of_two(name: str, verb: str, kinds: dict[str, str], result: str = "") -> tuple[Overload, ...]:
    """Return an operator of two values of one type; without ``result`` its value is of that type too."""
    return rows(
        name,
        *((f"{verb}_{each}", (kind, kind), result or kind, None) for each, kind in kinds.items()),
        is_member=False,
    )


def _converts(kind: str, name: str, *sources: tuple[str, str]) -> tuple[Overload, ...]:
    """Return a conversion to a type; a source is its name in the overload's id, and its type."""
    made = ((f"{source}_to_{kind}", (each,), sources[0][1], None) for source, each in sources)
    return rows(name, *made, is_member=False)


def _part(name: str, part: str, *, of_duration: bool = False) -> tuple[Overload, ...]:
    """Return a part of a time, in UTC or in a time zone."""
    # The engine spells one of its ids without "with".
    zoned = f"timestamp_to_{part}_tz" if part == "seconds" else f"timestamp_to_{part}_with_tz"
    made = rows(
        name,
        (f"timestamp_to_{part}", (_TIMESTAMP,), "int", None),
        (zoned, (_TIMESTAMP, "string"), "int", None),
    )
    return (*made, *rows(name, (f"duration_to_{part}", (_DURATION,), "int", None))) if of_duration else made


OPERATORS: tuple[Overload, ...] = (
    *rows("_&&_", ("logical_and", ("bool", "bool"), "bool", None), is_member=False),
    *rows("_||_", ("logical_or", ("bool", "bool"), "bool", None), is_member=False),
    *rows("!_", ("logical_not", ("bool",), "bool", None), is_member=False),
    *rows("_?_:_", ("conditional", ("bool", "A", "A"), "A", None), is_member=False),
    *rows("_==_", ("equals", ("A", "A"), "bool", None), is_member=False),
    *rows("_!=_", ("not_equals", ("A", "A"), "bool", None), is_member=False),
    *_of_two("_<_", "less", _ORDERED, "bool"),
    *_of_two("_<=_", "less_equals", _ORDERED, "bool"),
    *_of_two("_>_", "greater", _ORDERED, "bool"),
    *_of_two("_>=_", "greater_equals", _ORDERED, "bool"),
    *rows("@in", ("in_list", ("A", _LIST), "bool", None), ("in_map", ("A", _MAP), "bool", None), is_member=False),
    *_of_two("_+_", "add", _NUMBERS | {"string": "string", "bytes": "bytes", "list": _LIST}),
    *rows(
        "_+_",
        ("add_duration_duration", (_DURATION, _DURATION), _DURATION, None),
        ("add_timestamp_duration", (_TIMESTAMP, _DURATION), _TIMESTAMP, None),
        ("add_duration_timestamp", (_DURATION, _TIMESTAMP), _TIMESTAMP, None),
        is_member=False,
    ),
    *_of_two("_-_", "subtract", _NUMBERS),
    *rows(
        "_-_",
        ("subtract_duration_duration", (_DURATION, _DURATION), _DURATION, None),
        ("subtract_timestamp_duration", (_TIMESTAMP, _DURATION), _TIMESTAMP, None),
        ("subtract_timestamp_timestamp", (_TIMESTAMP, _TIMESTAMP), _DURATION, None),
        is_member=False,
    ),
    *_of_two("_*_", "multiply", _NUMBERS),
    *_of_two("_/_", "divide", _NUMBERS),
    *_of_two("_%_", "modulo", {"int64": "int", "uint64": "uint"}),
    *rows(
        "-_", ("negate_int64", ("int",), "int", None), ("negate_double", ("double",), "double", None), is_member=False
    ),
    *rows(
        "_[_]",
        ("index_list", (_LIST, "int"), "A", None),
        ("index_map", (_MAP, "A"), "B", None),
        ("optional_list_index_int", (_LISTS, "int"), _OPTIONAL, None),
        ("optional_map_index_value", (_MAPS, "A"), "optional_type(B)", None),
        is_member=False,
    ),
)
"""The operators, by their names in a checked expression: ``_+_`` is a + b."""

FUNCTIONS: tuple[Overload, ...] = (
    *rows("size", *((f"size_{name}", (kind,), "int", None) for name, kind in _SIZED.items()), is_member=False),
    *rows("size", *((f"{name}_size", (kind,), "int", None) for name, kind in _SIZED.items())),
    *rows("contains", ("contains_string", ("string", "string"), "bool", None)),
    *rows("startsWith", ("starts_with_string", ("string", "string"), "bool", None)),
    *rows("endsWith", ("ends_with_string", ("string", "string"), "bool", None)),
    *rows("matches", ("matches_string", ("string", "string"), "bool", None)),
    *rows("matches", ("matches", ("string", "string"), "bool", None), is_member=False),
)

UNANSWERED: frozenset[str] = frozenset({"int64_to_duration"})
"""Overloads that the engine's checker accepts and that have no value at run time; so they are in no table."""

CONVERSIONS: tuple[Overload, ...] = (
    *_converts("bool", "bool", ("bool", "bool"), ("string", "string")),
    *_converts("bytes", "bytes", ("bytes", "bytes"), ("string", "string")),
    *_converts("double", "double", ("double", "double"), ("int64", "int"), ("uint64", "uint"), ("string", "string")),
    *_converts(
        "int64",
        "int",
        ("int64", "int"),
        ("uint64", "uint"),
        ("double", "double"),
        ("string", "string"),
        ("timestamp", _TIMESTAMP),
        ("duration", _DURATION),
    ),
    *_converts("uint64", "uint", ("uint64", "uint"), ("int64", "int"), ("double", "double"), ("string", "string")),
    *rows("dyn", ("to_dyn", ("A",), "dyn", None), is_member=False),
    *rows("type", ("type", ("A",), "type", None), is_member=False),
)
"""The conversions of types, except ``string``, which ``libraries.strings`` declares."""

TIMES: tuple[Overload, ...] = (
    *_converts("timestamp", "timestamp", ("timestamp", _TIMESTAMP), ("string", "string"), ("int64", "int")),
    *_converts("duration", "duration", ("duration", _DURATION), ("string", "string")),
    *_part("getFullYear", "year"),
    *_part("getMonth", "month"),
    *_part("getDate", "day_of_month_1_based"),
    *_part("getDayOfMonth", "day_of_month"),
    *_part("getDayOfWeek", "day_of_week"),
    *_part("getDayOfYear", "day_of_year"),
    *_part("getHours", "hours", of_duration=True),
    *_part("getMinutes", "minutes", of_duration=True),
    *_part("getSeconds", "seconds", of_duration=True),
    *_part("getMilliseconds", "milliseconds", of_duration=True),
)

LISTS: tuple[Overload, ...] = (
    *rows("slice", ("list_slice", (_LIST, "int", "int"), _LIST, None)),
    *rows(
        "flatten",
        ("list_flatten", ("list(dyn)",), "list(dyn)", None),
        ("list_flatten_int", ("list(dyn)", "int"), "list(dyn)", None),
    ),
    *rows("distinct", ("list_distinct", (_LIST,), _LIST, None)),
    *rows("reverse", ("list_reverse", (_LIST,), _LIST, None)),
    *rows(
        "sort",
        *(
            (f"list_{kind}_sort", (f"list({kind})",), f"list({kind})", None)
            for kind in ("int", "uint", "double", "bool", _DURATION, _TIMESTAMP, "string", "bytes")
        ),
    ),
    *rows("lists.range", ("list_range", ("int",), "list(int)", None), is_member=False),
)

SETS: tuple[Overload, ...] = (
    *rows("sets.contains", ("list_sets_contains_list", (_LIST, _LIST), "bool", None), is_member=False),
    *rows("sets.equivalent", ("list_sets_equivalent_list", (_LIST, _LIST), "bool", None), is_member=False),
    *rows("sets.intersects", ("list_sets_intersects_list", (_LIST, _LIST), "bool", None), is_member=False),
)

OPTIONALS: tuple[Overload, ...] = (
    *rows("optional.of", ("optional_of", ("A",), _OPTIONAL, None), is_member=False),
    *rows("optional.none", ("optional_none", (), _OPTIONAL, None), is_member=False),
    *rows("optional.ofNonZeroValue", ("optional_ofNonZeroValue", ("A",), _OPTIONAL, None), is_member=False),
    *rows("_?._", ("select_optional_field", ("map(string, A)", "string"), _OPTIONAL, None), is_member=False),
    *rows(
        "_[?_]",
        ("list_optindex_optional_int", (_LIST, "int"), _OPTIONAL, None),
        ("map_optindex_optional_value", (_MAP, "A"), "optional_type(B)", None),
        ("optional_list_optindex_optional_int", (_LISTS, "int"), _OPTIONAL, None),
        ("optional_map_optindex_optional_value", (_MAPS, "A"), "optional_type(B)", None),
        is_member=False,
    ),
    *rows("hasValue", ("optional_hasValue", (_OPTIONAL,), "bool", None)),
    *rows("value", ("optional_value", (_OPTIONAL,), "A", None)),
    *rows("orValue", ("optional_orValue_value", (_OPTIONAL, "A"), "A", None)),
    *rows("or", ("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, None)),
    *rows("first", ("list_first", (_LIST,), _OPTIONAL, None)),
    *rows("last", ("list_last", (_LIST,), _OPTIONAL, None)),
)

NATIVE: tuple[Overload, ...] = (*OPERATORS, *FUNCTIONS, *CONVERSIONS, *TIMES, *LISTS, *SETS, *OPTIONALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """A form of a macro, which is expanded when an expression is parsed, so it has no overloads."""

    name: str
    receiver: str
    """A type, as in an Overload; empty: it is no member."""
    arguments: tuple[str, ...]
    """A name that it declares (one small letter), a field (``e.f``) or the type of an expression."""
    result: str


def _forms(name: str, receivers: tuple[str, ...], *forms: tuple[tuple[str, ...], str]) -> tuple[Macro, ...]:
    return tuple(
        Macro(name=name, receiver=receiver, arguments=arguments, result=result)
        for arguments, result in forms
        for receiver in receivers
    )


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
"""The words in the names of functions and macros, for suggestions after a misspelt name: ``optional.of`` has two."""
