"""The facts of one kind: an immutable table, of which a batch of changes makes another at the cost of one copy."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .kinds import Kind, Place


@dataclass(frozen=True, slots=True)
class Table:
    """Facts by where their objects stand, and by what they are looked up by.

    Where several objects have one key (two ComputeDomains that name one template), the fact of the first place in
    order counts, whichever came first.
    """

    facts: Mapping[Any, Any] = field(default_factory=dict)
    """By place."""
    known: Mapping[Any, Any] = field(default_factory=dict)
    """By key; of a kind without keys the same as ``facts``."""
    holders: Mapping[Hashable, tuple[Any, ...]] = field(default_factory=dict)
    """The places that share a key, sorted; empty for a kind without keys."""

    def changed(self, kind: Kind, changes: Mapping[Place, Any]) -> "Table":
        """Return the table with other facts at some places; None takes away what is there."""
        facts = {**self.facts, **changes}
        for place in [place for place, fact in changes.items() if fact is None]:
            del facts[place]
        if kind.keys is None:
            return Table(facts, facts)
        known, holders = dict(self.known), dict(self.holders)
        for place, fact in changes.items():
            before = self.facts.get(place)
            lost = frozenset(() if before is None else kind.keys(place, before))
            won = frozenset(() if fact is None else kind.keys(place, fact))
            for key in lost | won:
                others = [each for each in holders.get(key, ()) if each != place]
                holders[key] = tuple(sorted([*others, place] if key in won else others))
                if holders[key]:
                    known[key] = facts.get(holders[key][0], fact)
                else:
                    del holders[key], known[key]
        return Table(facts, known, holders)
