"""What several mutations need to give an updated pod back what podberth wrote on it."""

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.shape import RESOURCED_LISTS


def resources(
    draft: Draft, before: Draft, claims: Sequence[list[dict[str, Any]]], write: Callable[[Draft, Any], object]
) -> bool:
    """Give containers the resources back that ``write`` makes of theirs, where the pod before had the same."""
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
            # The API server drops an empty map of limits, which a builder leaves.
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
