"""The cost of the functions and operations of an expression, from the measurements in ``data/turns.json``.

``python -m bench.cel_prices --write`` writes it (docs/adr/0040-bounds-of-compilation.md). Its figures are *turns*: one
turn is the time of one round of ``lists.range(1000).all(i, i >= 0)``, measured in the same run, so that the figures
compare functions on any machine. A bound is in microseconds of one idle core.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

TURN_MICROSECONDS = 0.1
"""On an idle core of a virtual Xeon: the copies of `map` over 1,000 elements take 13 ms there (docs/adr/0007-cost.md),
and 0.13 turns each by the table. With neighbours on the core it is 0.13 to 0.15."""

SAFETY = 1.25
"""The factor for the measurements: the least of several tries on warm caches is less than on a busy worker. The inputs
are the worst that are known, so it is small."""


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of one function or operation of an expression, in microseconds of one idle core."""

    call: float
    """A call, beside the data that it reads."""
    byte: float
    """A byte of the texts that it reads."""
    entry: float
    """An entry of the lists that it reads."""
    first: float
    """The first call of a review on the largest cluster; the answer is remembered."""


TURNS: Mapping[str, tuple[float, float, float, float]] = {
    name: tuple(row)
    for name, row in json.loads(resources.files(__package__).joinpath("data", "turns.json").read_bytes()).items()
}
"""A call, a byte of text, an entry of a list, and the first call of a review on the largest cluster."""

PRICES: Mapping[str, Price] = {
    name: Price(*(SAFETY * TURN_MICROSECONDS * turns for turns in row)) for name, row in TURNS.items()
}
"""The prices by the function's name in a checked expression, ``Nodes.<field>`` for fields of Nodes, and OPERATIONS."""

OPERATIONS: Mapping[str, str] = {
    "part": "anything that is evaluated",
    "copy": "each element so far, when `map` or `filter` adds one",
    "pattern": "a byte of a pattern of matches(), which is compiled for each call, a literal too",
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
"""The entries of the table beside functions. The price of each is its ``entry``."""


WITHIN_MACROS: Mapping[str, str] = {"@sortByAssociatedKeys": "sort"}
"""Functions that only macros call, with the function whose price they have."""
_HIGHEST = Price(*(max(getattr(each, part) for each in PRICES.values()) for part in ("call", "byte", "entry", "first")))


def price_of(name: str) -> Price:
    """Return the price of a function or operation; the highest of all for one that was not measured."""
    return PRICES.get(WITHIN_MACROS.get(name, name), _HIGHEST)


def field_price(name: str) -> Price:
    """Return the price of a field of Nodes."""
    return price_of(f"Nodes.{name}")
