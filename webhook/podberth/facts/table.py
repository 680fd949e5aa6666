"""The facts of one kind as an immutable table. A changed table shares most of its parts with the one before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .kinds import Kind, Place
from .persistent import PersistentMap


@dataclass(frozen=True, slots=True)
class Table:
    """The facts of one kind, by the place of their objects and by the keys that they are looked up by.

    If several objects have one key (two ComputeDomains that name one template), the fact of the first place in sorted
    order counts.
    """

    facts: PersistentMap = field(default_factory=PersistentMap)
    """By place."""
    known: PersistentMap = field(default_factory=PersistentMap)
    """By key; of a kind without keys the same as ``facts``."""
    holders: PersistentMap = field(default_factory=PersistentMap)
    """The sorted places that share a key; empty for a kind without keys."""

    def changed(self, kind: Kind, changes: Mapping[Place, Any]) -> "Table":
        """Return the table with other facts at some places; None removes a fact."""
        facts = self.facts.changed(changes)
        if kind.keys is None:
            return Table(facts, facts)
        holders: dict[Any, tuple[Place, ...]] = {}
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
        """Return the table of a kind without keys."""
        found = PersistentMap().changed(facts)
        return cls(found, found)
