"""Fields of the spec that name another object: the scheduler, the runtime class, the priority class.

Each is set where the user has not set it. What the API server fills in where nothing is said is not the user's.
"""

from collections.abc import Container, Mapping
from typing import Literal, TypeAlias

from ..kube.patch import Draft
from . import leaf
from .change import Change, Skipped

Field: TypeAlias = Literal["schedulerName", "runtimeClassName", "priorityClassName"]

# core/v1 DefaultSchedulerName, which the API server fills in
DEFAULT_SCHEDULER = "default-scheduler"
# What the Priority admission plugin works out from the class, before webhooks are called; it works it out again after
# them, and refuses a pod whose numbers are not those of its class (kubernetes plugin/pkg/admission/priority).
COMPUTED = (("spec", "priority"), ("spec", "preemptionPolicy"))
FIELDS: Mapping[Field, tuple[str, str]] = {
    "schedulerName": ("spec", "schedulerName"),
    "runtimeClassName": ("spec", "runtimeClassName"),
    "priorityClassName": ("spec", "priorityClassName"),
}


def set_scheduler(draft: Draft, value: object) -> Change | None:
    """Set the scheduler's name; an empty one does nothing.

    Raises:
        EvaluationError: ``value`` is no object's name.
    """
    name = _unset(draft, "schedulerName", value, DEFAULT_SCHEDULER)
    return _set(draft, "schedulerName", name) if name else None


def set_runtime_class(draft: Draft, value: object) -> Change | None:
    """Set the RuntimeClass; an empty name does nothing.

    Raises:
        EvaluationError: ``value`` is no object's name.
    """
    name = _unset(draft, "runtimeClassName", value, "")
    return _set(draft, "runtimeClassName", name) if name else None


def set_priority_class(
    draft: Draft, value: object, default_class: str, known: Container[str] | None
) -> Change | Skipped | None:
    """Set the PriorityClass and drop what was worked out from another; an empty name does nothing.

    Args:
        draft: the pod.
        value: the class's name.
        default_class: the cluster's global default, which a pod without a class has been given; empty: none is known.
        known: the classes that the cluster has; None: not all of them are known.

    Raises:
        EvaluationError: ``value`` is no object's name.
    """
    name = _unset(draft, "priorityClassName", value, default_class)
    if not name:
        return None
    if refused := unknown_class(name, known):
        return Skipped("priorityClassName", refused)
    for path in COMPUTED:
        draft.remove(path)
    return _set(draft, "priorityClassName", name)


def unknown_class(name: object, known: Container[str] | None) -> str:
    """Return why a class is not written: the API server refuses a pod whose class there is not; empty: it may be."""
    return "" if not name or known is None or name in known else f"the cluster has no PriorityClass {name}"


def _unset(draft: Draft, field: Field, value: object, default: str) -> str:
    """Return the name to write: empty where there is none, or where the user's stands."""
    if value == "":
        return ""
    name = leaf.object_name(value, field)
    current = draft.get(FIELDS[field])
    return "" if current == name or current not in (None, "", default) else name


def _set(draft: Draft, field: Field, name: str) -> Change:
    draft.set(FIELDS[field], name)
    return Change(field, name, lambda: f"{field} {name}")
