"""What no API server sends: another type somewhere, a part that is gone, in two places, null, deep, or no text at all.

All of it works on any document: pods, workloads, policies, records and envelopes alike.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any, Final

from . import values
from .values import JSON

_Place = tuple[Any, Any]
"""A map or list, and a key or an index of it."""


def some_place(chance: Random, document: Any) -> _Place | None:
    """Return a place somewhere in a document, the upper ones as often as the lower; None of an empty one."""
    found: _Place | None = None
    holder = document
    while isinstance(holder, (dict, list)) and holder:
        step = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
        found = (holder, step)
        if values.percent(chance, 20):  # four or five steps on average, which is where pods hold things
            break
        holder = holder[step]
    return found


def _replaced(chance: Random, document: JSON) -> None:
    if place := some_place(chance, document):
        place[0][place[1]] = values.anything(chance)


def _null(chance: Random, document: JSON) -> None:
    if place := some_place(chance, document):
        place[0][place[1]] = None


def _gone(chance: Random, document: JSON) -> None:
    if place := some_place(chance, document):
        del place[0][place[1]]


def _elsewhere(chance: Random, document: JSON) -> None:
    one, other = some_place(chance, document), some_place(chance, document)
    if one and other:
        one[0][one[1]] = deepcopy(other[0][other[1]])


def _repeated(chance: Random, document: JSON) -> None:
    place = some_place(chance, document)
    if place and isinstance(place[0], list):
        place[0].extend([deepcopy(place[0][place[1]])] * chance.choice((1, 2, 50)))


def _renamed(chance: Random, document: JSON) -> None:
    place = some_place(chance, document)
    if place and isinstance(place[0], dict):
        place[0][chance.choice((*values.TEXTS, *values.NAMES))] = place[0].pop(place[1])


def _deep(chance: Random, document: JSON) -> None:
    if place := some_place(chance, document):
        place[0][place[1]] = chance.choice(("@raw:deep", "@raw:deeper", "@raw:deepest"))


def _no_text(chance: Random, document: JSON) -> None:
    if place := some_place(chance, document):
        place[0][place[1]] = chance.choice(tuple(values.RAW))


CHANGES: Final[Mapping[str, Callable[[Random, JSON], None]]] = {
    "another type": _replaced,
    "a null": _null,
    "a part that is gone": _gone,
    "a part elsewhere": _elsewhere,
    "a part repeated": _repeated,
    "a key renamed": _renamed,
    "deep nesting": _deep,
    "what no document holds": _no_text,
}
