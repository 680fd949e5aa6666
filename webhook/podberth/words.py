"""Functions that write text for people: numbers with a noun, durations, lists of names, and the value that is meant.

One function reads a duration that people write.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Final

MOST_NAMED: Final = 3
"""The most names in one line: a report fits on one screen."""
_LIFE_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def named(names: Iterable[str]) -> str:
    """Return the first few names as text, with the number of further names, as in ``a, b, c and 4 more``."""
    every = list(names)
    left = len(every) - MOST_NAMED
    return ", ".join(every[:MOST_NAMED]) + (f" and {left:,} more" if left > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" with the known name that is most similar to ``name``; empty if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a message about a mistake needs it

    every = list(known)
    near = [each for each in every if each.lower() == name.lower()] or get_close_matches(name, every, n=1)
    return f"; did you mean {near[0]}?" if near and near[0] != name else ""


def meant_value(wanted: str, known: Collection[str]) -> str:
    """Return what to write for the value ``wanted`` of a label: "; did you mean X?", or else "; they have X, Y".

    ``known`` are the values that nodes have. The common mistake is a part of one: H100 for NVIDIA-H100-80GB-HBM3.
    A value with other numbers is another thing, and not meant: NVIDIA-A100-SXM4-80GB, or another zone.
    """
    part = re.compile(rf"(?<![^\W_]){re.escape(wanted)}(?![^\W_])", re.IGNORECASE)
    whole = next((each for each in sorted(known) if wanted and part.search(each)), "")
    if whole:
        return f"; did you mean {whole}?"
    alike = [each for each in known if _numbers(each) == _numbers(wanted)]
    return did_you_mean(wanted, alike) or f"; they have {named(sorted(known))}"


def _numbers(text: str) -> list[str]:
    """Return the words of a text that have a digit, in lower case."""
    return re.findall(r"[^\W_]*\d[^\W_]*", text.lower())


def counted(number: int, what: str) -> str:
    """Return a number with a noun: ``1 node``, ``2,000 nodes``."""
    several = f"{what.removesuffix('y')}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def lasting(seconds: float) -> str:
    """Return a duration as text, in the largest unit that gives at least 2: ``90 s``, ``3 min``, ``364 d``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def parse_life(text: str) -> timedelta:
    """Read a duration such as ``24h``.

    Raises:
        ValueError: the text is not a duration; the message describes the wanted form.
    """
    found = re.fullmatch(r"(\d{1,6})([smhd])", text, re.ASCII)
    if found is None or int(found[1]) == 0:
        raise ValueError("want a number and s, m, h or d, as in 24h or 365d")
    return int(found[1]) * timedelta(**{_LIFE_UNITS[found[2]]: 1})


def listed(texts: Sequence[str], last: str = "and") -> str:
    """Return texts joined as in a sentence: "a, b and c". ``last`` is the word before the last text."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else ""
