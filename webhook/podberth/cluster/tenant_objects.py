"""Keeps objects that tenants write, by namespace, and counts the objects' bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..api.protocol import Document


@dataclass(frozen=True, slots=True)
class Kept:
    """An object as podberth received it, and the object's size in bytes.

    ``problem`` says why the object is not used; empty if it can be used.
    """

    document: Document
    size: int
    problem: str = ""


class TenantObjects:
    """The objects of all namespaces."""

    def __init__(self) -> None:
        self.spaces: dict[str, dict[str, Kept]] = {}
        """The objects of each namespace, by name."""
        self.bytes = 0
        """The size of all usable objects together."""
        self.unusable = 0
        """The number of the objects that have a problem, for example because they are too large."""
        self.changed: dict[str, None] = {}
        """The namespaces that have changed since the last call of ``take_changed``, in the order of the changes."""

    def of(self, namespace: str) -> Mapping[str, Kept]:
        """Return the present objects of a namespace by name; the next object may change the mapping."""
        return self.spaces.get(namespace, {})

    def add(self, namespace: str, own: str, kept: Kept) -> None:
        """Keep an object with the name ``own``, of which no other version is kept."""
        self.spaces.setdefault(namespace, {})[own] = kept
        self._count(kept, 1)

    def remove(self, namespace: str, own: str) -> Kept | None:
        """Remove the object with the name ``own``, and return it; None if it was not kept."""
        those = self.spaces.get(namespace, {})
        before = those.pop(own, None)
        if before is not None:
            self._count(before, -1)
        if not those:
            self.spaces.pop(namespace, None)
        return before

    def forget(self) -> None:
        """Remove all objects."""
        self.changed |= dict.fromkeys(self.spaces)
        self.spaces, self.bytes, self.unusable = {}, 0, 0

    def take_changed(self) -> list[str]:
        """Return the namespaces that have changed since the last call."""
        found, self.changed = list(self.changed), {}
        return found

    def _count(self, kept: Kept, number: int) -> None:
        self.bytes += 0 if kept.problem else number * kept.size
        self.unusable += number if kept.problem else 0
