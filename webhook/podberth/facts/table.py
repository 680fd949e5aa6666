"""The facts about the objects of one Kubernetes kind, as an immutable table.

A changed table shares most of its memory with the earlier table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from .object_kinds import Kind, ObjectKey

# The number of parts: a change among 50,000 entries copies 200 of them. With more parts, small maps would be expensive.
_PARTS: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class PersistentMap(Mapping[Any, Any]):
    """An immutable mapping, divided by hash into small mappings.

    A changed copy shares the unchanged small mappings. No value is None.
    """

    parts: tuple[dict[Any, Any], ...] = ({},) * _PARTS

    def changed(self, changes: Mapping[Any, Any]) -> "PersistentMap":
        """Return a copy with each value in ``changes`` stored under its key; the value None removes the key."""
        parts = list(self.parts)
        for key, value in changes.items():
            place = hash(key) % _PARTS
            if parts[place] is self.parts[place]:
                parts[place] = parts[place].copy()
            if value is None:
                parts[place].pop(key, None)
            else:
                parts[place][key] = value
        return PersistentMap(tuple(parts))

    def get(self, key: object, default: Any = None) -> Any:
        """Return the value of a key, or ``default`` if the mapping lacks the key."""
        return self.parts[hash(key) % _PARTS].get(key, default)

    def __getitem__(self, key: object) -> Any:
        """Return the value at a key."""
        return self.parts[hash(key) % _PARTS][key]

    def __contains__(self, key: object) -> bool:
        """Return whether the mapping has the key."""
        return key in self.parts[hash(key) % _PARTS]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __bool__(self) -> bool:
        return any(self.parts)


@dataclass(frozen=True, slots=True)
class Table:
    """The facts about the objects of one Kubernetes kind.

    A fact is found by the identity of the object (namespace and name). If the kind has keys of its own (``Kind.keys``),
    such as the uid of an owner, a fact is found by these keys, too. If several objects have the same key, as two
    ComputeDomains that name one template, the key leads to the fact of the first object in the order of namespace and
    name.
    """

    facts: PersistentMap = field(default_factory=PersistentMap)
    """The facts by the place (namespace and name) of the object."""
    known: PersistentMap = field(default_factory=PersistentMap)
    """The facts by key; for a kind without keys, the same mapping as ``facts``."""
    holders: PersistentMap = field(default_factory=PersistentMap)
    """The sorted places of the objects that have each key; empty if the kind has no keys."""

    def changed(self, kind: Kind, changes: Mapping[ObjectKey, Any]) -> "Table":
        """Return a copy of the table with changed facts.

        Args:
            kind: the kind of the table's objects; ``kind.keys`` returns the keys under which a fact is found.
            changes: a mapping from the object's namespace and name to the new fact; None removes the object.
        """
        facts = self.facts.changed(changes)
        if kind.keys is None:
            return Table(facts, facts)
        holders: dict[Any, tuple[ObjectKey, ...]] = {}
        for place, fact in changes.items():
            before = self.facts.get(place)
            lost = frozenset(() if before is None else kind.keys(place, before))
            won = frozenset(() if fact is None else kind.keys(place, fact))
            for key in lost | won:
                others = {*(holders[key] if key in holders else self.holders.get(key) or ())} - {place}
                holders[key] = tuple(sorted({*others, place} if key in won else others))
        known = {key: facts[places[0]] if places else None for key, places in holders.items()}
        held = {key: places or None for key, places in holders.items()}
        return Table(facts, self.known.changed(known), self.holders.changed(held))

    @classmethod
    def of(cls, facts: Mapping[Any, Any]) -> "Table":
        """Return a table of facts for a Kubernetes kind whose ``keys`` is None.

        ``facts`` maps the identity of each object (namespace and name) to the fact.
        """
        found = PersistentMap().changed(facts)
        return cls(found, found)
