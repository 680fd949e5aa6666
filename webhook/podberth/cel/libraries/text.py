"""The function ``format`` of strings, with upstream's results (cel-go ext/formatting.go: version 2, locale en_US)."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from .conversions import double_text
from .overload import LibraryError, Overload, overload

_CLAUSE: Final = re.compile(r"%(?:\.([0-9]+))?(.?)", re.DOTALL)
_DEFAULT_PRECISION: Final = 6
_MOST_PRECISION: Final = 255  # upstream keeps it in one byte (golang.org/x/text number.Pattern), and wraps around
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NO_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# The names of CEL's types in the engine's Python interface.
_TYPES: Final = {each.upper(): each for each in ("bool", "int", "uint", "double", "string", "bytes", "type")} | {
    "NULL": "null_type",
    "LIST<DYN>": "list",
    "MAP<DYN, DYN>": "map",
    "TIMESTAMP": "google.protobuf.Timestamp",
    "DURATION": "google.protobuf.Duration",
}
# strconv.Quote
_ESCAPED: Final = dict(zip('\a\b\f\n\r\t\v\\"', ("\\" + each for each in 'abfnrtv\\"'), strict=True))
_TWO_DIGITS, _FOUR_DIGITS = 0x80, 0x10000


def _format(text: str, values: Sequence[Any], times: Sequence[str]) -> list[str]:
    """Return the formatted text as a list: the text is split at NUL characters, because the CEL engine accepts no NUL.

    ``text`` is the format, and ``values`` are the arguments of the format. ``times`` has a text for each value: the
    exact text of a time or a duration, because Python would lose nanoseconds; "" for a value of another type. ``times``
    is empty if no value can be a time or a duration.
    """
    made, at, used = [], 0, 0
    for clause in _CLAUSE.finditer(text):
        made.append(text[at : clause.start()])
        at = clause.end()
        if clause[0] == "%%":
            made.append("%")
            continue
        if used >= len(values):
            raise LibraryError(f"index {used} out of range")
        time = times[used] if times else ""
        if time and clause[2] != "s":
            raise _misfit(clause[2], "a time")
        made.append(time or _written(clause[2], clause[1], values[used]))
        used += 1
    return "".join([*made, text[at:]]).split("\0")


def _written(clause: str, precision: str | None, value: Any) -> str:
    digits = _DEFAULT_PRECISION if precision is None else int(precision[:9])
    if digits > _MOST_PRECISION:
        raise LibraryError(f"format: got the precision {digits}, want at most {_MOST_PRECISION}")
    if clause in ("f", "e"):
        value = _NO_NUMBERS.get(value, value) if isinstance(value, str) else value
        if not isinstance(value, float):
            raise _misfit(clause, value)
        return _fixed(value, digits) if clause == "f" else _scientific(value, digits)
    write = _CLAUSES.get(clause)
    if write is None:
        raise LibraryError(f'unrecognized formatting clause "{clause}"' if clause else "unexpected end of string")
    return write(value)


def _misfit(clause: str, value: Any) -> LibraryError:
    return LibraryError(f"error during formatting: %{clause} does not take {value!r:.80}")


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, bytearray):
        return _decoded(value)
    return _nested(value)


def _decoded(value: bytearray) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise LibraryError("invalid UTF-8 in bytes, cannot convert to string") from error


def _nested(value: Any) -> str:
    """Return the text that the CEL function ``format`` writes for a value inside a list or a map."""
    if value is None:
        return "null"
    if isinstance(value, datetime | timedelta):
        raise LibraryError("format: got a time within a list or a map, want string(...) of it")
    write = _NESTED.get(type(value))
    name = _TYPES.get(str(value)) if write is None else write(value)
    if name is None:
        raise _misfit("s", value)
    return name


def _map(values: dict[Any, Any]) -> str:
    entries = sorted(map(_entry, values.items()))
    return f"{{{', '.join(f'{key}:{value}' for key, value in entries)}}}"


def _double(value: float) -> str:
    return format(value, f".{_DEFAULT_PRECISION}f") if math.isfinite(value) else f'"{double_text(value)}"'


def _entry(entry: tuple[Any, Any]) -> tuple[str, str]:
    key, value = entry
    if not isinstance(key, str | bool | int):
        raise _misfit("s", key)
    return _nested(key), _nested(value)


def _quoted(text: str) -> str:
    return (
        '"' + "".join(_ESCAPED.get(each) or (each if each.isprintable() else _escape(ord(each))) for each in text) + '"'
    )


def _escape(code: int) -> str:
    if code < _TWO_DIGITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _FOUR_DIGITS else f"\\U{code:08x}"


def _fixed(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    return format(value or 0.0, f",.{digits}f")


def _scientific(value: float, width: int) -> str:
    """Return a double in scientific notation, padded to ``width``: upstream uses the precision as a width."""
    if not math.isfinite(value):
        return _fixed(value, 0).rjust(width)
    number, _, exponent = format(value or 0.0, f".{_DEFAULT_PRECISION}e").partition("e")
    power = exponent.removeprefix("+").translate(_SUPERSCRIPTS)
    return f"{number}×10{power}".rjust(width)  # noqa: RUF001 - upstream's sign


def _decimal(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit("d", value)
    return str(value)


def _based(clause: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        if isinstance(value, str | bytearray) and clause in ("x", "X"):
            made = (value.encode() if isinstance(value, str) else bytes(value)).hex()
            return made.upper() if clause == "X" else made
        if isinstance(value, bool) and clause == "b":
            return str(int(value))
        if isinstance(value, bool) or not isinstance(value, int):
            raise _misfit(clause, value)
        return format(value, clause)

    return write


_NESTED: Mapping[type, Callable[[Any], str]] = {
    bool: lambda value: str(value).lower(),
    int: str,
    float: _double,
    str: _quoted,
    bytearray: lambda value: f"b{_quoted(_decoded(value))}",
    list: lambda values: f"[{', '.join(map(_nested, values))}]",
    dict: _map,
}
_CLAUSES: Mapping[str, Callable[[Any], str]] = {
    "s": _string,
    "d": _decimal,
    **{clause: _based(clause) for clause in "bxXo"},
}

FORMAT: Final = "internal.formatted"
"""The name of the function that implements ``format``; the function accepts texts of any length."""
INTERNAL: tuple[Overload, ...] = (
    overload("internal_formatted", f"{FORMAT}(string, list, list): list(string)", _format),
)
