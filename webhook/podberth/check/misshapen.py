"""Finds values in a pod template that have a wrong type or that the API server refuses, each with its path."""

from collections.abc import Iterator
from typing import Final

from ..kinds.forms import find
from ..kube.paths import Path
from ..workload.projection import place_of
from ..workload.templates import Template
from .numbers import advice, is_placeholder
from .place import steps_of
from .pod_refusals import refused
from .result import shown

# Operators may add containers that their templates lack; Kubernetes' own controllers add none
_BUILT_IN: Final = frozenset(
    {"v1", "apps/v1", "apps/v1beta1", "apps/v1beta2", "batch/v1", "batch/v1beta1", "extensions/v1beta1"}
)


def misshapen(template: Template, api_version: str, *, named: bool) -> Iterator[tuple[str, Path]]:
    """Yield (message, path) for each error in a template; ``api_version`` is the document's apiVersion.

    Values are checked only if all types are right, and the number of containers only if all values are right, too.
    ``named`` says whether the user named the file: a file of a folder may be a patch, which has no containers.
    """
    found: list[tuple[str, Path]] = []
    unfilled: dict[str, Path] = {}
    for problem in template.problems:
        where, _, message = problem.partition(": ")
        path = place_of(template, steps_of(where))
        value = find(template.own, steps_of(where))
        if is_placeholder(value):
            unfilled.setdefault(f"{value!s:.60}", path)
        else:
            found.append((message or problem, path))
    if unfilled:  # one message for all placeholders: the user fills them in together
        first = next(iter(unfilled))
        what = "placeholders" if len(unfilled) > 1 else "the placeholder"
        found.insert(0, (f"got {what} {shown([*unfilled])}; {advice(first, api_version)}", unfilled[first]))
    if not found:
        found += [(wrong, place_of(template, path)) for path, wrong in refused(template.pod, template.own)]
    if not found and named and api_version in _BUILT_IN and not (template.pod.get("spec") or {}).get("containers"):
        found.append(("got no containers, want at least one", place_of(template, ("spec", "containers"))))
    yield from found
