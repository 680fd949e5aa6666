"""The facts about the objects of one Kubernetes kind, as an immutable table.

A changed table is a copy that shares the facts with the earlier table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .object_kinds import Kind, ObjectKey


@dataclass(frozen=True, slots=True)
class Table:
    """The facts about the objects of one Kubernetes kind.

    A fact is found by the identity of the object (namespace and name). If the kind has keys of its own (``Kind.keys``),
    such as the uid of an owner, a fact is found by these keys, too. If several objects have the same key, as two
    ComputeDomains that name one template, the key leads to the fact of the first object in the order of namespace and
    name.
    """

    facts: Mapping[Any, Any] = field(default_factory=dict)
    """The facts by the place (namespace and name) of the object."""
    known: Mapping[Any, Any] = field(default_factory=dict)
    """The facts by key; for a kind without keys, the same mapping as ``facts``."""
    holders: Mapping[Any, tuple[ObjectKey, ...]] = field(default_factory=dict)
    """The sorted places of the objects that have each key; empty if the kind has no keys."""

    def changed(self, kind: Kind, changes: Mapping[ObjectKey, Any]) -> "Table":
        """Return a copy of the table with changed facts.

        Args:
            kind: the kind of the table's objects; ``kind.keys`` returns the keys under which a fact is found.
            changes: a mapping from the object's namespace and name to the new fact; None removes the object.
        """
        facts = _changed(self.facts, changes)
        if kind.keys is None:
            return Table(facts, facts)
        holders: dict[Any, tuple[ObjectKey, ...]] = {}
        for place, fact in changes.items():
            before = self.facts.get(place)
            lost = frozenset(() if before is None else kind.keys(place, before))
            won = frozenset(() if fact is None else kind.keys(place, fact))
            for key in lost | won:
                others = {*holders.get(key, self.holders.get(key, ()))} - {place}
                holders[key] = tuple(sorted({*others, place} if key in won else others))
        known = {key: facts[places[0]] if places else None for key, places in holders.items()}
        held = {key: places or None for key, places in holders.items()}
        return Table(facts, _changed(self.known, known), _changed(self.holders, held))

    @classmethod
    def of(cls, facts: Mapping[Any, Any]) -> "Table":
        """Return a table of facts for a Kubernetes kind whose ``keys`` is None.

        ``facts`` maps the identity of each object (namespace and name) to the fact.
        """
        found = dict(facts)
        return cls(found, found)


def _changed(before: Mapping[Any, Any], changes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a copy of a mapping with the values in ``changes``; the value None removes the key."""
    found = dict(before)
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return found
