"""Finds the field of an owner because of which the owner makes some pods only after other pods run.

A group of all pods of such an owner would wait forever: its last pods are not made before its first pods run. The
webhook and the controller both use this module.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.roles import read_once

UNREADABLE: Final = "unreadable"
"""The text in place of the spec of an owner that podberth may not read, or that is too large (``owners.keep``)."""
_UNKNOWN: Final = "unknown, for"

_OWNERS: Final = tuple(each for row in DOSSIERS for each in row.owners)
STAGES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    each.kind: each.stages for each in _OWNERS if each.stages is not None
}
"""The function, by kind of owner, that returns the owner's field which makes some pods wait until others run."""
OF_ROLES: Final = frozenset(each.kind for each in _OWNERS if each.stages_of_roles)
"""The kinds whose roles wait for each other, while the pods of one role start together."""


def stages_of(owner: Mapping[str, Any] | None) -> str:
    """Return the owner's field that makes some pods wait until others run; empty if no such field is known.

    If the owner's spec could not be read, the owner's pods may be made in stages: the result is then a message that
    says so.
    """
    kind = owner.get("kind") if owner is not None else None
    read = STAGES.get(kind) if isinstance(kind, str) else None
    if owner is None or read is None:
        return ""
    if owner.get("spec") == UNREADABLE:
        return f"{_UNKNOWN} podberth could not read the {kind}, or it is finished or has too many parts"
    return read_once(owner, read)


def is_guess(staged: str) -> bool:
    """Return whether ``staged``, a result of ``stages_of``, is the message that the owner's spec could not be read."""
    return staged.startswith(_UNKNOWN)
