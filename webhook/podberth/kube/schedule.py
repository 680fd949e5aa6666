"""The schedule of a CronJob: whether the API server takes it (github.com/robfig/cron v3, parser.go, ParseStandard)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_NAMED: Final = frozenset(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"])
_EVERY: Final = re.compile(r"@every [0-9.hmsuµn]+")
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# The least and the greatest number of each field, and the names of its numbers from the least on
_FIELDS: Final[Sequence[tuple[int, int, Sequence[str]]]] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)


def is_schedule(text: str) -> bool:
    """Return whether a text is a schedule: five fields, or a name such as ``@daily``.

    True for a schedule with a time zone, of which the release of the API server decides.
    """
    if text.startswith("@"):
        return text in _NAMED or _EVERY.fullmatch(text) is not None
    fields = text.split()
    return "TZ=" in text or (
        len(fields) == len(_FIELDS)
        and all(
            _is_range(part, *bounds)
            for field, bounds in zip(fields, _FIELDS, strict=True)
            for part in filter(None, field.split(","))
        )
    )


def _is_range(text: str, least: int, most: int, names: Sequence[str]) -> bool:
    """Return whether a text is ``*`` or ``?``, a number or name, or two of them, with or without a step."""
    limits, *step = text.split("/")
    low, *high = limits.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        numbers = {name: number for number, name in enumerate(names, least)}
        start = _number(low, numbers)
        end = _number(high[0], numbers) if high else most if step else start
    return (
        len(high) <= 1 and len(step) <= 1 and least <= start <= end <= most and (not step or _number(step[0], {}) > 0)
    )


def _number(text: str, names: Mapping[str, int]) -> int:
    """Return the number of a text or a name; -1 if it is neither."""
    is_number = text.isascii() and text.isdecimal()
    return int(text) if is_number else names.get(text.lower(), -1)
