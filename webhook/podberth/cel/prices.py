"""The cost of the functions and operations of an expression, from the measurements in ``data/turns.json``.

``python -m bench.cel_prices --write`` writes the file (docs/adr/0040-bounds-of-compilation.md). The file's unit is the
*turn*: the time of one round of ``lists.range(1000).all(i, i >= 0)``, measured in the same run. So the figures are
comparable between machines. Prices here are in microseconds of one idle core.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

TURN_MICROSECONDS = 0.1
"""The microseconds of one turn on an idle core of a virtual Xeon. The copies that `map` makes over 1,000 elements take
13 ms there (docs/adr/0007-cost.md), and 0.13 turns each by the table. On a core that others use, a turn takes 0.13 to
0.15 us."""

SAFETY = 1.25
"""The safety factor for the measurements, which are the best of several tries with warm caches; a busy worker is
slower. The factor is small, because the measured inputs are the worst known ones."""


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of one function or operation of an expression, in microseconds of one idle core."""

    call: float
    """The price of one call, besides the price of the data that the call reads."""
    byte: float
    """The price of each byte of the texts that a call reads."""
    entry: float
    """The price of each entry of the lists that a call reads."""
    first: float
    """The price of the first call in a review, on the largest cluster; later calls return the cached result."""


TURNS: Mapping[str, tuple[float, float, float, float]] = {
    name: tuple(row)
    for name, row in json.loads(resources.files(__package__).joinpath("data", "turns.json").read_bytes()).items()
}
"""For each function or operation, in turns: the price of a call, of a byte, of a list entry, and of the first call."""

PRICES: Mapping[str, Price] = {
    name: Price(*(SAFETY * TURN_MICROSECONDS * turns for turns in row)) for name, row in TURNS.items()
}
"""The prices by name: of a function in a checked expression, of a field of Nodes (``Nodes.<field>``), or of an
operation that is in OPERATIONS."""

OPERATIONS: Mapping[str, str] = {
    "part": "anything that is evaluated",
    "copy": "each element so far, when `map` or `filter` adds one",
    "pattern": "a byte of a pattern of matches(), which is compiled for each call, a literal too",
    "begin": "a byte of a text at which contains() begins to compare, for the byte is the first of what is searched",
    "search": 'a byte of a text for each byte of what is searched there: "aaab" in "aaaaaaaa"',
    "append": "an element of two lists that are added",
    "pair": "an element that is compared with each of a list",
    "deep": "a byte of two lists or maps that are compared",
    "state": "a byte of a text for each character of a pattern that may be at many of them at once",
    "text": "a byte of a text that the engine hands to Python",
    "handed": "a value that it hands to Python",
    "structure": "a byte of a part of the pod, of any structure, that it hands to Python",
    "checked": "a value that is checked and ordered, to be written into a pod",
}
"""The operations that are not functions, such as copying an element; the value is the unit that ``Price.entry`` is the
price of.
"""


WITHIN_MACROS: Mapping[str, str] = {"@sortByAssociatedKeys": "sort"}
"""The functions that only expansions of macros call, each with the function whose price applies."""
_HIGHEST = Price(*(max(getattr(each, part) for each in PRICES.values()) for part in ("call", "byte", "entry", "first")))


def price_of(name: str) -> Price:
    """Return the price of a function or operation; the highest price of all if unmeasured."""
    return PRICES.get(WITHIN_MACROS.get(name, name), _HIGHEST)
