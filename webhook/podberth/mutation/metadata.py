"""Labels and annotations: set where the user has not set them."""

from collections.abc import Mapping

from ..errors import EvaluationError
from ..kube.patch import Draft
from . import leaf
from .change import Change


def set_labels(draft: Draft, values: Mapping[str, object]) -> Change | None:
    """Set labels, user's own values first; a null value means nothing to do.

    Raises:
        EvaluationError: a value is no string, or no label value.
    """
    for key, value in values.items():
        if value is not None:
            leaf.label_value(value, f"labels[{key}]")
    wrote = _set(draft, "labels", values)
    return Change("labels", wrote, lambda: "label " + _phrase(wrote)) if wrote else None


def set_annotations(draft: Draft, values: Mapping[str, object]) -> Change | None:
    """Set annotations, user's own values first; a null value means nothing to do.

    Raises:
        EvaluationError: a value is no string.
    """
    wrote = _set(draft, "annotations", values)
    return Change("annotations", wrote, lambda: "annotation " + _phrase(wrote)) if wrote else None


def _set(draft: Draft, field: str, values: Mapping[str, object]) -> dict[str, str]:
    wrote: dict[str, str] = {}
    for key, value in sorted(values.items()):
        if value is None or draft.get(("metadata", field, key)) is not None:
            continue
        if not isinstance(value, str):
            raise EvaluationError(f"{field}[{key}]: got {leaf.kind(value)}, want a string")
        draft.set(("metadata", field, key), value)
        wrote[key] = value
    return wrote


def _phrase(wrote: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in wrote.items())
