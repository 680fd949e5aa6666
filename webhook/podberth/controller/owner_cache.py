"""Remembers the looked-up owners of pods for as long as some pod has the owner. Pure: the caller gives the time."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..kube.pod import controller
from ..kube.unchecked import list_at, text_at
from ..workload.owners import LOOKED_UP, keep
from .plan.world import LookUp, Owned

if TYPE_CHECKING:
    from ..kube.pod import OwnerReference

# If a user grants a missing right, or makes a too large owner smaller, it takes about this long to have an effect.
ASK_AGAIN_SECONDS: Final = 60.0
"""The minimum number of seconds between two look-ups of an owner that could not be read."""
MOST_ASKED_PER_SECOND: Final = 10.0
"""The maximum number of repeated look-ups in a second, of all unreadable owners: twice client-go's default QPS.

One missing right may make the owners of all gangs unreadable.
"""


class LookedUp:
    """The owners that were looked up, and the owners that could not be read."""

    def __init__(self) -> None:
        self.controllers: dict[Owned, OwnerReference | None] = {}
        """The controller of each owner that was looked up; None if the owner has none or cannot be read."""
        self.documents: dict[Owned, Mapping[str, Any]] = {}
        self.gone: set[Owned] = set()
        self._ask_at: dict[Owned, float] = {}
        """The time of the next look-up of each owner that could not be read."""

    def clear(self) -> None:
        """Forget all looked-up owners."""
        self.keep(frozenset())

    def keep(self, asked: AbstractSet[Owned]) -> None:
        """Forget all owners except ``asked``, the owners that present pods have."""
        self.controllers = {owned: each for owned, each in self.controllers.items() if owned in asked}
        self.documents = {owned: each for owned, each in self.documents.items() if owned in asked}
        self.gone &= asked
        self._ask_at = {owned: each for owned, each in self._ask_at.items() if owned in asked}

    def found(self, action: LookUp, document: Mapping[str, Any]) -> None:
        """Record the object that a look-up of an owner has found.

        If the object has another uid, the owner no longer exists. If the garbage collector deletes the owner after all
        that it owns, each new object of the owner is deleted at once, so the owner counts as gone.
        """
        if text_at(document, "metadata", "uid") != action.owner.uid or _is_deleted_last(document):
            self.lost(action)
            return
        owned = action.namespace, action.owner
        self.controllers[owned] = controller(document)
        self._ask_at.pop(owned, None)
        # Nothing is kept of an owner that has finished, or that has too many parts.
        with suppress(ValueError):
            kept = keep(LOOKED_UP[action.owner.api_version, action.owner.kind], document)
            self.documents |= {} if kept is None else {owned: kept}

    def lost(self, action: LookUp) -> None:
        """Record that an owner no longer exists."""
        owned = action.namespace, action.owner
        self.gone.add(owned)
        self.controllers.pop(owned, None)
        self._ask_at.pop(owned, None)

    def doubt(self, owners: AbstractSet[Owned]) -> set[Owned]:
        """Forget and return those of ``owners`` that could be read, so that they are looked up again."""
        read = (owners & self.controllers.keys()) - self._ask_at.keys()
        for owned in read:
            del self.controllers[owned]
            self.documents.pop(owned, None)
        return read

    def cannot_be_read(self, action: LookUp, at: float) -> bool:
        """Record that an owner cannot be read, so that the owner counts as the topmost owner; schedule another look-up.

        Return True if the owner did not count as the topmost owner before.
        """
        owned = action.namespace, action.owner
        new = not self.is_unreadable(action)
        self.controllers[owned] = None
        self._ask_at[owned] = at
        self._ask_at[owned] += max(ASK_AGAIN_SECONDS, len(self._ask_at) / MOST_ASKED_PER_SECOND)
        return new

    def is_unreadable(self, action: LookUp) -> bool:
        """Return whether an owner counts as the topmost owner because the owner cannot be read."""
        return (action.namespace, action.owner) in self._ask_at

    def due(self, at: float) -> list[LookUp]:
        """Return the look-ups of unreadable owners that are to be repeated at the time ``at``."""
        return [LookUp(*owned) for owned, ask_at in self._ask_at.items() if ask_at <= at]

    def next_at(self, after: float) -> float:
        """Return the time of the first repeated look-up after the time ``after``; infinity if there is none."""
        return min((each for each in self._ask_at.values() if each > after), default=float("inf"))


def _is_deleted_last(document: Mapping[str, Any]) -> bool:
    """Return whether an object is being deleted in the foreground: after the objects that it owns.

    https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion
    """
    deleting = bool(text_at(document, "metadata", "deletionTimestamp"))
    return deleting and "foregroundDeletion" in list_at(document, "metadata", "finalizers")
