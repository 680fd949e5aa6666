"""Restores podberth's changes on an updated pod, for mutations of containers' resources."""

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.shape import RESOURCED_LISTS


def resources(
    draft: Draft, before: Draft, changes: Sequence[list[dict[str, Any]]], write: Callable[[Draft, Any], object]
) -> bool:
    """Restore the old resources of containers on an updated pod, where only podberth's recorded changes are missing.

    Args:
        draft: the updated pod.
        before: the pod before the update.
        changes: the recorded changes of one mutation.
        write: applies a recorded change to a draft. A container's resources are restored only if the recorded changes,
            applied to the updated pod, lead to the old resources.

    Returns:
        Whether the draft changed.
    """
    trial = draft.fork()
    try:
        for wrote in changes:
            write(trial, wrote)
    except EvaluationError:
        return False
    restored = False
    for kind in RESOURCED_LISTS:
        lists = (source.get(("spec", kind)) or [] for source in (before, draft, trial))
        for index, (was, now, would) in enumerate(zip(*lists, strict=False)):
            asked = was.get("resources")
            # A builder may leave an empty map of limits, and the API server drops it.
            if now.get("resources") != asked and unordered(would.get("resources")) == unordered(asked):
                draft.set(("spec", kind, index, "resources"), asked)
                restored = True
    return restored


def unordered(value: Any) -> str:
    """Return a text that is equal for JSON values that differ only in the order of lists or in empty fields."""
    if isinstance(value, dict):
        items = (f"{key!r}:{unordered(item)}" for key, item in value.items() if item not in (None, {}, []))
        return f"{{{','.join(sorted(items))}}}"
    if isinstance(value, list):
        return f"[{','.join(sorted(map(unordered, value)))}]"
    return repr(value)
