"""The limits on a workload: the number of its pod templates, and its size outside the templates.

No check runs on a workload that exceeds a limit. Outside its templates, a workload has lists such as the jobs that a
job waits for, the cliques of a scaling group, or the objects that an AppWrapper wraps. Several checks iterate over such
lists, some checks once for each template. Other limits apply to the templates.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from .templates import unread_templates, wrapped_in

MOST_OBJECTS: Final = 500
"""The most objects that a workload may have, including the workload itself. Known examples wrap at most five.

Each object takes 30 us, with or without templates.
"""
MOST_VALUES: Final = 5_000
"""The most entries of all lists and maps outside the templates: 100 times as many as in this repository's largest
workload.

A job that another job waits for has three entries and takes 5 us.
"""
MOST_TEMPLATES: Final = 64
"""The most pod templates of a workload; known examples have ten. Reading a template for the roles of the gang takes 50
us, even if no decision is made on the template's pods.
"""
_MOST_PLACES: Final = 10 * MOST_TEMPLATES
"""The most places for pod templates. A role of a RoleBasedGroup has ten places: three templates, and patches of the
templates.
"""


def excess_of_workload(document: Mapping[str, Any]) -> str:
    """Return a message that names the limit that a workload exceeds; empty if the workload exceeds no limit.

    The function's time depends on the limits, and not on the size of the workload.
    """
    if len(list(islice(wrapped_in(document), MOST_OBJECTS + 1))) > MOST_OBJECTS:
        return f"it wraps too many objects to be judged: got more than {MOST_OBJECTS}, want so many at most"
    places = list(islice(unread_templates(document), _MOST_PLACES + 1))
    templates = {id(each) for each in places if isinstance(each, Mapping)}
    if len(templates) > MOST_TEMPLATES or len(places) > _MOST_PLACES:
        return f"it has too many pod templates to be judged: got more than {MOST_TEMPLATES}, want so many at most"
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
    """Return a document without the long fields that the API server adds and that podberth does not read."""
    found = {key: value for key, value in document.items() if key != "status"}
    metadata = found.get("metadata")
    if isinstance(metadata, dict):
        found["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    return found
