"""Functions of the engine that podberth's libraries extend: the strings extension and the conversion to string.

The engine accepts a function from one declaration only. So where podberth adds an overload (``indexOf`` of a list,
``string`` of an IP), the engine's own are declared here again: cel-spec doc/langdef.md (string), cel-cpp
extensions/strings.
"""

from .overload import Overload, rows

_TO_STRING = (
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "int",
    "string",
    "google.protobuf.Timestamp",
    "uint",
)
_ONE = ("string", "string")

OVERLOADS: tuple[Overload, ...] = (
    *rows("string", *((f"{kind}_to_string", (kind,), "string", None) for kind in _TO_STRING), is_member=False),
    *rows("charAt", ("string_char_at_int", ("string", "int"), "string", None)),
    *rows("format", ("string_format", ("string", "list(dyn)"), "string", None)),
    *rows(
        "indexOf",
        ("string_index_of_string", _ONE, "int", None),
        ("string_index_of_string_int", (*_ONE, "int"), "int", None),
    ),
    *rows(
        "join",
        ("list_join", ("list(string)",), "string", None),
        ("list_join_string", ("list(string)", "string"), "string", None),
    ),
    *rows(
        "lastIndexOf",
        ("string_last_index_of_string", _ONE, "int", None),
        ("string_last_index_of_string_int", (*_ONE, "int"), "int", None),
    ),
    *rows("lowerAscii", ("string_lower_ascii", ("string",), "string", None)),
    *rows("upperAscii", ("string_upper_ascii", ("string",), "string", None)),
    *rows("trim", ("string_trim", ("string",), "string", None)),
    *rows(
        "replace",
        ("string_replace_string_string", (*_ONE, "string"), "string", None),
        ("string_replace_string_string_int", (*_ONE, "string", "int"), "string", None),
    ),
    *rows(
        "split",
        ("string_split_string", _ONE, "list(string)", None),
        ("string_split_string_int", (*_ONE, "int"), "list(string)", None),
    ),
    *rows(
        "substring",
        ("string_substring_int", ("string", "int"), "string", None),
        ("string_substring_int_int", ("string", "int", "int"), "string", None),
    ),
    *rows("strings.quote", ("strings_quote", ("string",), "string", None), is_member=False),
)
