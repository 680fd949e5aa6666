"""Functions that several mutations share to restore the writes of podberth on an updated pod."""

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.shape import RESOURCED_LISTS


def resources(
    draft: Draft, before: Draft, claims: Sequence[list[dict[str, Any]]], write: Callable[[Draft, Any], object]
) -> bool:
    """Apply ``write`` again to those containers that then have the same resources as before the update."""
    trial = draft.fork()
    try:
        for wrote in claims:
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
    """Return a text that is equal for values that differ in the order of lists: affinity terms are ORed or summed."""
    if isinstance(value, dict):
        items = (f"{key!r}:{unordered(item)}" for key, item in value.items() if item not in (None, {}, []))
        return f"{{{','.join(sorted(items))}}}"
    if isinstance(value, list):
        return f"[{','.join(sorted(map(unordered, value)))}]"
    return repr(value)
