"""Makes the mutations that write the name of another object into the pod's spec, unless the user has set the field.

A default value of the API server does not count as set by the user.
"""

from collections.abc import Container
from typing import Any

from ..kube.patch import Draft
from . import leaf
from .change import Change, Proposal
from .concern import Builder, Concern, Decides, Surroundings

PRIORITY_CLASS = ("spec", "priorityClassName")


def concern(field: str, *, default: str = "", build: Builder | None = None, decides: Decides = "") -> Concern:
    """Return the mutation that writes a name into a field of a pod's ``spec``.

    Args:
        field: the name of the field, and of the mutation.
        default: the name that the API server fills in; empty if none.
        build: the function that applies the mutation, if the mutation writes more than the name.
        decides: the part of scheduling that the name decides: "placement", "grouping", "accounting", or "" for none.
            The group system of a pod decides this part instead of policies (``Concern.decides``).
    """
    path = ("spec", field)

    def write(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
        return put(draft, field, wanted(draft, field, proposal.leaves[""], default))

    return Concern(
        name=field,
        build=build or write,
        is_valid=lambda wrote: isinstance(wrote, str) and bool(wrote),
        holds=lambda there, wrote: bool(there.draft.get(path) == wrote),
        wrote_at=lambda wrote, at, value: at == path and wrote == value,
        conflicts=lambda case: (case.fields({path: case.value}), case.proposal),
        visits=lambda _: (path,),
        decides=decides,
    )


def wanted(draft: Draft, field: str, value: object, default: str) -> str:
    """Return the name to write into the field ``field`` of a pod's spec; empty if there is nothing to write.

    There is nothing to write if the policy gives no name, if the field has that name already, or if the user has set
    another name. ``default`` is the name that the API server fills in; this name does not count as set by the user.

    Raises:
        EvaluationError: ``value`` is not an object's name.
    """
    if value == "":
        return ""
    name = leaf.object_name(value, field)
    current: Any = draft.get(("spec", field))
    return "" if current == name or current not in (None, "", default) else name


def put(draft: Draft, field: str, name: str) -> Change | None:
    """Write ``name`` into the field ``field`` of a pod's spec and return the change; None if the name is empty."""
    if not name:
        return None
    draft.set(("spec", field), name)
    return Change(field, name, lambda: f"{field} {name}")


def unknown_class(name: object, known: Container[str] | None) -> str:
    """Return a message if the API server will refuse the pod because its PriorityClass is unknown; else empty.

    ``name`` is the name of the PriorityClass. ``known`` has the names of all PriorityClasses of the cluster. If it is
    None, they are not all known, and the result is empty.
    """
    return "" if not name or known is None or name in known else f"the cluster has no PriorityClass {name}"
