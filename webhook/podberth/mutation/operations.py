"""Makes the mutations that can write any field, such as ``jsonPatch``; the record keeps their changes as RFC 6902.

They may not write the fields of ``forbidden_fields``.
"""

from collections.abc import Callable
from typing import Any

from ..kube.json_patch import steps_of
from ..kube.patch import Draft
from ..kube.schema import PodSchema
from . import names
from .change import Change, Proposal, Skipped
from .concern import Concern, Present, Surroundings, for_each, is_list_of_maps


def concern(name: str, apply: Callable[[Draft, object, PodSchema], Change | None]) -> Concern:
    """Return the mutation called ``name``; ``apply`` applies the value of the mutation's only expression to a pod."""

    def build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
        before = draft.get(names.PRIORITY_CLASS)
        made = apply(draft, proposal.leaves[""], surroundings.schema)
        if made is not None and draft.get(names.PRIORITY_CLASS) != before:
            refused = names.unknown_class(draft.get(names.PRIORITY_CLASS), surroundings.priority_classes)
            return Skipped(refused) if refused else made
        return made

    return Concern(name=name, build=build, is_valid=_is_valid, holds=for_each(_holds), anything=True)


def _is_valid(wrote: Any) -> bool:
    return is_list_of_maps(wrote) and all(
        item.get("op") in ("add", "replace", "remove") and str(item.get("path")).startswith("/") for item in wrote
    )


def _holds(there: Present, operation: dict[str, Any]) -> bool:
    """Return whether the pod still has the result of a recorded operation; True if the value was too long to record."""
    *above, last = steps_of(operation["path"])
    container: Any = there.draft.get(())  # through the draft, which records the paths that a decision reads
    for step in above:
        container = _below(container, step)
    if last == "-":
        return isinstance(container, list) and ("value" not in operation or there.has(container, operation["value"]))
    found = _below(container, last)
    gone = operation["op"] == "remove"
    return (found is None) == gone and bool(operation.get("value", found) == found)


def _below(container: Any, step: str) -> Any:
    if isinstance(container, list) and step.isdecimal() and int(step) < len(container):
        return container[int(step)]
    return container.get(step) if isinstance(container, dict) else None
