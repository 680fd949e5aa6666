"""What look-ups have found of owners, kept for as long as pods have these. Pure: times are given."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

from .plan.model import LookUp, Owned
from .requests import above, kept_of

if TYPE_CHECKING:
    from ..kube.pod import OwnerReference

# Who grants a right, or makes an owner smaller, looks at what comes of it for about as long.
ASK_AGAIN_SECONDS: Final = 60.0
"""The least between two look-ups of an owner that cannot be read."""
MOST_ASKED_PER_SECOND: Final = 10.0
"""Of all that cannot be read: one right that is missing may be to every gang's owner. Twice client-go's default QPS."""


class LookedUp:
    """The owners that are known."""

    def __init__(self) -> None:
        """Know nobody."""
        self.controllers: dict[Owned, OwnerReference | None] = {}
        """As ``World.owners``."""
        self.documents: dict[Owned, Mapping[str, Any]] = {}
        self.gone: set[Owned] = set()
        self._ask_at: dict[Owned, float] = {}
        """When to ask again for those that cannot be read."""

    def clear(self) -> None:
        """Forget all."""
        self.keep(frozenset())

    def keep(self, asked: AbstractSet[Owned]) -> None:
        """Forget the others."""
        self.controllers = {owned: each for owned, each in self.controllers.items() if owned in asked}
        self.documents = {owned: each for owned, each in self.documents.items() if owned in asked}
        self.gone &= asked
        self._ask_at = {owned: each for owned, each in self._ask_at.items() if owned in asked}

    def found(self, action: LookUp, document: Mapping[str, Any]) -> None:
        """Take in an owner; one of that name with another uid is not the one."""
        same, owner = above(document, action.owner)
        if not same:
            self.lost(action)
            return
        owned = action.namespace, action.owner
        kept = kept_of(document, action.owner)
        self.controllers[owned] = owner
        self._ask_at.pop(owned, None)
        if kept is not None:
            self.documents[owned] = kept

    def lost(self, action: LookUp) -> None:
        """Take in that an owner is gone."""
        owned = action.namespace, action.owner
        self.gone.add(owned)
        self.controllers.pop(owned, None)
        self._ask_at.pop(owned, None)

    def cannot_be_read(self, action: LookUp, at: float) -> bool:
        """Let an owner count as the one on top until it can be read; tell whether that is new."""
        owned = action.namespace, action.owner
        new = not self.is_unreadable(action)
        self.controllers[owned] = None
        self._ask_at[owned] = at
        self._ask_at[owned] += max(ASK_AGAIN_SECONDS, len(self._ask_at) / MOST_ASKED_PER_SECOND)
        return new

    def is_unreadable(self, action: LookUp) -> bool:
        """Tell whether an owner counts as the one on top because it cannot be read."""
        return (action.namespace, action.owner) in self._ask_at

    def due(self, at: float) -> list[LookUp]:
        """Return whom to ask for again."""
        return [LookUp(*owned) for owned, ask_at in self._ask_at.items() if ask_at <= at]

    def next_at(self, after: float) -> float:
        """Return when the next one is to be asked for; infinity: none."""
        return min((each for each in self._ask_at.values() if each > after), default=float("inf"))
