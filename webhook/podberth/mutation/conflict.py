"""A conflict of a policy's proposal with an earlier policy, and the data from which mutations find conflicts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..kube.patch import Draft
from ..kube.paths import Path, pointer
from .change import Proposal, Record
from .earlier import EarlierChanges


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The function that counts known nodes, and the record that the pod arrived with."""

    left: Callable[[Draft], int]
    """Returns the number of known nodes that could run the pod of a draft; 0 if no node is known."""
    before: Record = field(default_factory=dict)
    """The record that the pod arrived with: the changes of policies before a reinvocation in the same request."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A policy would set a field to another value than an earlier policy has set."""

    path: str
    """The field, as a JSON Pointer or a similar text."""
    other: str
    """The name of the policy that wrote the field first."""
    why: str = ""
    """The reason of the conflict; empty if the path alone explains it."""

    def __str__(self) -> str:
        """Return the message for the user, which is printed after the later policy's name."""
        why = f"{self.why}; " if self.why else ""
        return f"conflict with policy {self.other} at {self.path}: {why}{self.other} comes first and its value stays"


Resolution: TypeAlias = tuple[list[Conflict], Proposal | None]
"""The conflicts of a proposal, and the rest of the proposal that may be applied; None if nothing remains."""


@dataclass(frozen=True, slots=True)
class ConflictCase:
    """A proposal that is to be compared with the changes of earlier policies."""

    draft: Draft
    proposal: Proposal
    others: EarlierChanges
    nodes: NodeChoice

    @property
    def value(self) -> Any:
        """The value of the proposal's only expression, for a mutation with a single expression."""
        return self.proposal.leaves[""]

    @property
    def items(self) -> list[Any]:
        """The items of the proposal's only value; empty if the value is no list, which the mutation refuses later."""
        return self.value if isinstance(self.value, list) else []

    def fields(self, wanted: Mapping[Path, object]) -> list[Conflict]:
        """Return a conflict for each field that has another value than ``wanted`` and that another policy wrote.

        ``wanted`` has the proposal's value of each path; null and the empty string conflict with nothing.
        """
        found: list[Conflict] = []
        for path, value in wanted.items():
            present = self.draft.get(path)
            if value not in (None, "") and present not in (None, value):
                other = self.others.writer(path, present)
                found += [Conflict(pointer(path), other)] if other is not None else []
        return found

    def by_item(self, conflict_of: Callable[[dict[str, Any]], Conflict | None]) -> Resolution:
        """Return (the conflicts of the proposal's items, the proposal with only the items without conflicts).

        ``conflict_of`` returns the conflict of an item, or None. The proposal is None if no item remains.
        """
        found = {
            index: conflict
            for index, item in enumerate(self.items)
            if isinstance(item, dict) and (conflict := conflict_of(item)) is not None
        }
        return list(found.values()), self.kept([item for index, item in enumerate(self.items) if index not in found])

    def kept(self, items: list[Any]) -> Proposal | None:
        """Return the proposal with only ``items``, a part of the proposal's list; None if ``items`` is empty."""
        if not isinstance(self.value, list) or len(items) == len(self.value):
            return self.proposal
        return replace(self.proposal, leaves={"": items}) if items else None
