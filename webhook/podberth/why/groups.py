"""Finds whether a group or queue holds a pod, for pods that may be in a group or queue.

The modules ``grouped`` and ``full_queues`` have the causes. They import the dossiers of all group systems and queues,
which takes time, so this module imports them only for such pods.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from ..kube.pod import annotations, labels
from ..kube.unchecked import at, list_at, text_at
from .diagnosis import Diagnosis
from .machines import Machine
from .picture import Picture, Ref
from .steps import Step

if TYPE_CHECKING:
    from .group_levels import Rooms

# Each key by which a group system or a queue names a group has one of these words, and each of Kueue's its domain.
_WORDS: Final = ("group", "queue", "gang", "kueue")


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the groups, queues and Workloads of the pod or workload."""
    if _concerned(picture):
        from . import full_queues, grouped  # noqa: PLC0415 - see the module's docstring

        yield from grouped.needs(picture)
        yield from full_queues.needs(picture)


def not_admitted(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that a queue has not admitted the pod or the pod's workload, or never can; else None."""
    if not _concerned(picture):
        return None
    from . import grouped  # noqa: PLC0415 - see the module's docstring

    return grouped.not_admitted(picture) or grouped.wrong_queue(picture)


def full_queue(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod's queue has no room for the pod, as the pod's scheduler says; else None."""
    if not _concerned(picture):
        return None
    from . import full_queues  # noqa: PLC0415 - see the module's docstring

    return full_queues.full_queue(picture)


def group_missing(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod's PodGroup does not exist, or has too few pods to start; else None."""
    if not _concerned(picture):
        return None
    from . import grouped  # noqa: PLC0415 - see the module's docstring

    return grouped.group_missing(picture)


def in_large_domain(step: Step, machine: Machine) -> bool:
    """Return whether a node's domain would hold the pod's group if it were empty; True if no level is required."""
    found = _empty_rooms(step)
    return found is None or found.hold(machine)


def too_large_for_level(step: Step) -> Diagnosis:
    """Return the diagnosis that no domain of the level that the pod's group requires would hold the group."""
    from . import group_levels  # noqa: PLC0415 - see the module's docstring

    return group_levels.too_large(step, cast("Rooms", _empty_rooms(step)))


def in_free_domain(step: Step, machine: Machine) -> bool:
    """Return whether a node's domain has room for the pod's group now; True if no level is required."""
    found = _free_rooms(step)
    return found is None or found.hold(machine)


def no_room_in_level(step: Step) -> Diagnosis:
    """Return the diagnosis that no domain of the level that the pod's group requires has room for the group now."""
    from . import group_levels  # noqa: PLC0415 - see the module's docstring

    return group_levels.full(step, cast("Rooms", _free_rooms(step)))


# All nodes of a step are judged by the same rooms.
@lru_cache(maxsize=1)
def _empty_rooms(step: Step) -> "Rooms | None":
    if not _concerned(step.picture):
        return None
    from . import group_levels  # noqa: PLC0415 - see the module's docstring

    return group_levels.empty_rooms(step)


@lru_cache(maxsize=1)
def _free_rooms(step: Step) -> "Rooms | None":
    if not _concerned(step.picture):
        return None
    from . import group_levels  # noqa: PLC0415 - see the module's docstring

    return group_levels.free_rooms(step)


def no_room_at_once(step: Step) -> Diagnosis | None:
    """Return the diagnosis that the pod fits some node, but the pods of its group do not fit at once; else None."""
    if not _concerned(step.picture):
        return None
    from . import grouped  # noqa: PLC0415 - see the module's docstring

    return grouped.no_room_at_once(step)


def _concerned(picture: Picture) -> bool:
    """Return whether the pod, or a controller of the pod, may name a group or a queue."""
    if at(picture.spec, "schedulingGroup"):
        return True
    objects = [*picture.controllers, *([picture.pod] if picture.pod else [])]
    keys = [key for each in objects for key in (*labels(each), *annotations(each))]
    gates = [text_at(each, "name") for each in list_at(picture.spec, "schedulingGates")]
    return any(word in key for key in (*keys, *gates) for word in _WORDS)
