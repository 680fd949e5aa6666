"""How large a workload may be outside its pod templates to be judged, as ``kube.budget`` bounds the templates.

A workload has lists of its own: the jobs that a job waits for, the cliques of a scaling group, the objects that an
AppWrapper wraps. Several checks walk them, some of them once for each template.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from .templates import objects_in, unread_templates

MOST_OBJECTS: Final = 500
"""The workload and all objects that it wraps: those of the examples that are known wrap five at most. Each takes 30 us,
whether it has templates or not."""
MOST_VALUES: Final = 5_000
"""Entries of all lists and maps outside the templates: a hundred times what the largest workload among this
repository's manifests and tests has. A job that another waits for is three of them and takes 5 us."""
_MOST_TEMPLATES: Final = 1_000
"""Templates whose values are not counted: reading stops at far fewer (``admission.workload``)."""


def excess_of_workload(document: Mapping[str, Any]) -> str:
    """Say what of a workload is beyond its bound; empty if nothing.

    It takes time in proportion to the bounds, and no more for a larger workload.
    """
    if len(list(islice(objects_in(document), MOST_OBJECTS + 1))) > MOST_OBJECTS:
        return f"it wraps too many objects to be judged: got more than {MOST_OBJECTS}, want so many at most"
    templates = {id(each) for each in islice(unread_templates(document), _MOST_TEMPLATES)}
    pending: list[object] = [_walked(document)]
    found = 0
    while pending:
        value = pending.pop()
        if id(value) in templates or not isinstance(value, dict | list):
            continue
        found += len(value)
        if found > MOST_VALUES:
            return (
                "it is too large to be judged: outside its pod templates: "
                f"got more than {MOST_VALUES:,} values, want so many at most"
            )
        pending += value.values() if isinstance(value, dict) else value
    return ""


def _walked(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without what the API server makes long and nobody here reads."""
    found = {key: value for key, value in document.items() if key != "status"}
    metadata = found.get("metadata")
    if isinstance(metadata, dict):
        found["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    return found
