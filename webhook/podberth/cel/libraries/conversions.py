"""Conversions of numbers and times from and to text, with the results of Go's standard library, as upstream.

The engine's own conversions read and write other texts. So this module reads a text first, and passes the value to the
engine in a form that the engine reads as that value. The module also rewrites the engine's output. Sources: cel-go
common/types, and Go's strconv and time, which cel-go calls.
"""

import math
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from .overload import LibraryError, Overload, overload

_NANOS: Final = 1_000_000_000

# ---- numbers: strconv.ParseInt, ParseUint, ParseFloat ----------------------------------------------------------------
_INT: Final = re.compile(r"[+-]?[0-9]+")
_UINT: Final = re.compile(r"[0-9]+")
_DIGITS: Final = "[0-9](?:_?[0-9])*"
_DECIMAL: Final = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
# The engine writes an exponent from 1e6 on, and below 1e-4, as Go's shortest "%g".
_PLAIN_EXPONENTS: Final = range(-4, 6)


def _signed(text: str) -> str:
    if not _INT.fullmatch(text):
        raise LibraryError("type conversion error from 'string' to 'int'")
    return text


def _unsigned(text: str) -> str:
    if not _UINT.fullmatch(text):
        raise LibraryError("type conversion error from 'string' to 'uint'")
    return text


def double_of(text: str) -> float:
    """Return the double that Go's strconv.ParseFloat reads from a text; raise LibraryError if Go refuses."""
    if _DECIMAL.fullmatch(text):
        found = float(text.replace("_", ""))
    elif _HEXADECIMAL.fullmatch(text):
        try:
            found = float.fromhex(text)
        except OverflowError:
            found = math.inf
    elif _INFINITE.fullmatch(text):
        return -math.inf if text[0] == "-" else math.inf
    elif text.lower() == "nan":
        return math.nan
    else:
        found = math.inf
    if math.isinf(found):
        raise LibraryError("type conversion error from 'string' to 'double'")
    return found


def double_text(value: float) -> str:
    """Return a double in the format of Go's "%g": the shortest text that denotes the double."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    sign, digits, _ = Decimal(repr(value)).as_tuple()
    written = "".join(map(str, digits)).strip("0") or "0"
    exponent = Decimal(repr(value)).adjusted() if value else 0
    lead = "-" if sign else ""
    if exponent in _PLAIN_EXPONENTS or not value:
        return lead + _plain(abs(value))
    fraction = f".{written[1:]}" if len(written) > 1 else ""
    return f"{lead}{written[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _plain(value: float) -> str:
    """Return the shortest text of a number without an exponent (Go's strconv: 'f', -1)."""
    return format(Decimal(repr(value)), "f").removesuffix(".0")


# ---- durations: time.ParseDuration, and a count of nanoseconds in an int64 -------------------------------------------
_LARGEST: Final = 1 << 63
_UNITS: Final = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6} | {
    unit: seconds * _NANOS for unit, seconds in {"s": 1, "m": 60, "h": 3600}.items()
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_NO_DURATION: Final = "type conversion error from 'string' to 'google.protobuf.Duration'"


def _nanoseconds(text: str) -> int:
    """Return the nanoseconds that Go's time.ParseDuration reads from a text; raise LibraryError if Go refuses."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0
    total, at = 0, 0
    while at < len(unsigned):
        part = _PART.match(unsigned, at)
        if part is None or part[3] not in _UNITS or not (part[1] or part[2]):
            raise LibraryError(_NO_DURATION)
        unit, fraction = _UNITS[part[3]], (part[2] or "")[:18]
        total += int(part[1] or 0) * unit
        if fraction:  # in floating point, as Go does it
            total += int(float(int(fraction)) * (unit / float(10 ** len(fraction))))
        at = part.end()
        if total > _LARGEST:
            raise LibraryError(_NO_DURATION)
    negative = text[:1] == "-"
    if not at or total > (_LARGEST if negative else _LARGEST - 1):
        raise LibraryError(_NO_DURATION)
    return -total if negative else total


def _duration(text: str) -> str:
    """Return a text that the CEL engine reads as the duration which Go reads from ``text``."""
    nanoseconds = _nanoseconds(text)
    seconds, rest = divmod(abs(nanoseconds), _NANOS)
    return f"{'-' if nanoseconds < 0 else ''}{seconds}.{rest:09d}s"


def _duration_text(text: str) -> str:
    """Return a duration in Go's format; ``text`` is the CEL engine's text, which has the seconds as a double."""
    nanoseconds = _nanoseconds(text)
    seconds, rest = divmod(abs(nanoseconds), _NANOS)
    value = seconds + rest / 1e9
    return f"{'-' if nanoseconds < 0 else ''}{_plain(float(value))}s"


def _milliseconds(text: str) -> int:
    nanoseconds = _nanoseconds(text)
    return abs(nanoseconds) // 10**6 * (-1 if nanoseconds < 0 else 1)


# ---- times: time.Parse(time.RFC3339), and time.RFC3339Nano ----------------------------------------------------------
_TIME: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})T(?P<hour>[0-9]{1,2}):(?P<clock>[0-9]{2}:[0-9]{2})"
    r"(?:[.,](?P<fraction>[0-9]+))?(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)
_NO_TIME: Final = "type conversion error from 'string' to 'google.protobuf.Timestamp'"
# The limits of Go's reader: 24 hours, 60 minutes.
_MOST_HOURS, _MOST_MINUTES = 24, 60
_LAST_HOUR: Final = 23  # later Pythons read 24:00 as the next day
_LOST_ZONE: Final = (
    "got a time with the offset {offset}, want it in UTC (Z): where times are written as text, this engine forgets "
    "their offset"
)


class _Time(NamedTuple):
    """A time that was read from a text."""

    local: datetime
    """The local date and time, without a time zone."""
    nanos: str
    """The fraction of the second: nine digits of nanoseconds."""
    ahead: int
    """The UTC offset in minutes; positive if the local time is ahead of UTC."""

    @property
    def offset(self) -> str:
        """The UTC offset in the format of RFC 3339."""
        hours, minutes = divmod(abs(self.ahead), 60)
        return f"{'-' if self.ahead < 0 else '+'}{hours:02d}:{minutes:02d}" if self.ahead else "Z"

    @property
    def instant(self) -> str:
        """The time in UTC, as a text that the CEL engine reads."""
        return f"{_clock(self.local - timedelta(minutes=self.ahead))}.{self.nanos}Z"


def _clock(time: datetime) -> str:
    return time.isoformat(timespec="seconds")  # four digits for a year, whatever it is


def _time(text: str) -> _Time:
    found = _TIME.fullmatch(text)
    if found is None:
        raise LibraryError(_NO_TIME)
    hours, minutes = int(found["hours"] or 0), int(found["minutes"] or 0)
    if hours > _MOST_HOURS or minutes > _MOST_MINUTES or int(found["hour"]) > _LAST_HOUR:
        raise LibraryError(_NO_TIME)
    ahead = (hours * 60 + minutes) * (-1 if found["sign"] == "-" else 1)
    try:
        local = datetime.fromisoformat(f"{found['date']}T{int(found['hour']):02d}:{found['clock']}")
        _ = local - timedelta(minutes=ahead)
    except (ValueError, OverflowError) as error:  # no such day, or one before year 1 or after 9999 in UTC
        raise LibraryError(_NO_TIME) from error
    return _Time(local, f"{found['fraction'] or ''}000000000"[:9], ahead)


def _instant_of_utc(text: str) -> str:
    """Return a time in UTC as a text that the CEL engine reads; raise LibraryError for a time that is not in UTC."""
    found = _time(text)
    if found.ahead:
        raise LibraryError(_LOST_ZONE.format(offset=found.offset))
    return found.instant


def _time_text(text: str) -> str:
    """Return the RFC 3339 time in ``text`` as Go writes it: in its own time zone, no trailing zeros in the fraction."""
    found = _time(text)
    nanos = found.nanos.rstrip("0")
    return f"{_clock(found.local)}{'.' if nanos else ''}{nanos}{found.offset}"


INSTANT: Final = "internal.instant"
INSTANT_OF_UTC: Final = "internal.instantOfUtc"
"""The name of the function that replaces ``INSTANT`` in a program that writes times as text; the function accepts only
UTC.
"""
TIME_TEXT: Final = "internal.timeText"
INTERNAL: tuple[Overload, ...] = (
    overload("internal_signed", "internal.signed(string): string", _signed),
    overload("internal_unsigned", "internal.unsigned(string): string", _unsigned),
    overload("internal_double", "internal.double(string): double", double_of),
    overload("internal_double_text", "internal.doubleText(double): string", double_text),
    overload("internal_duration", "internal.duration(string): string", _duration),
    overload("internal_duration_text", "internal.durationText(string): string", _duration_text),
    overload("internal_nanoseconds", "internal.nanoseconds(string): int", _nanoseconds),
    overload("internal_milliseconds", "internal.milliseconds(string): int", _milliseconds),
    overload("internal_instant", f"{INSTANT}(string): string", lambda text: _time(text).instant),
    overload("internal_instant_of_utc", f"{INSTANT_OF_UTC}(string): string", _instant_of_utc),
    overload("internal_time_text", f"{TIME_TEXT}(string): string", _time_text),
)
