"""Restores podberth's changes on an updated pod, for mutations of containers' resources."""

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.shape import RESOURCED_LISTS
from ..kube.unchecked import key_of


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


def unordered(value: Any) -> bytes:
    """Return bytes that are equal for JSON values that differ only in the order of lists or in empty fields."""
    return key_of(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items() if item or item in ("", 0)}
    if not isinstance(value, list):
        return value
    # A pod may have tens of thousands of texts here: the values of its node affinity.
    return sorted(value) if all(type(item) is str for item in value) else sorted(map(_sorted, value), key=key_of)
