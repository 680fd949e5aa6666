"""Owners of which some pods are made only when others run, by the field that says so.

A group of all these pods would wait for those that are not made before the first ones run. Whoever asks, asks here:
the webhook of the owners that a snapshot has, the controller of those that it looks up.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.roles import read_once

UNREADABLE: Final = "unreadable"
"""Stands in the place of the spec of an owner of which nothing is kept (``owners.keep``), or that may not be read."""
_UNKNOWN: Final = "unknown, for"

_OWNERS: Final = tuple(each for row in DOSSIERS for each in row.owners)
STAGES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    each.kind: each.stages for each in _OWNERS if each.stages is not None
}
"""By the owner's kind."""
OF_ROLES: Final = frozenset(each.kind for each in _OWNERS if each.stages_of_roles)
"""Kinds whose roles wait for each other, while the pods of one role come together."""


def stages_of(owner: Mapping[str, Any] | None) -> str:
    """Return the field by which some of an owner's pods are made only when others run; empty: none that is known.

    Where nothing of the owner is known they may be, for what anybody can tell.
    """
    kind = owner.get("kind") if owner is not None else None
    read = STAGES.get(kind) if isinstance(kind, str) else None
    if owner is None or read is None:
        return ""
    if owner.get("spec") == UNREADABLE:
        return f"{_UNKNOWN} podberth could not read the {kind}, or it is finished or has too many parts"
    return read_once(owner, read)


def is_guess(staged: str) -> bool:
    """Tell whether that is no field, but taken for so because nothing is known of an owner."""
    return staged.startswith(_UNKNOWN)
