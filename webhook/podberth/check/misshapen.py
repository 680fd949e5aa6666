"""Finds wrong types, invalid quantities and mounts without a volume in a pod template, each with its path."""

from collections.abc import Iterator
from typing import Any, Final

from ..errors import did_you_mean
from ..kinds.forms import find
from ..kube.paths import Path
from ..kube.pod import containers, spec
from ..workload.projection import place_of
from ..workload.templates import Template
from .numbers import advice, holds_placeholder, is_placeholder, refused
from .place import steps_of
from .result import shown

# Operators may add containers that their templates lack; Kubernetes' own controllers add none
_BUILT_IN: Final = frozenset(
    {"v1", "apps/v1", "apps/v1beta1", "apps/v1beta2", "batch/v1", "batch/v1beta1", "extensions/v1beta1"}
)


def misshapen(template: Template, api_version: str, *, named: bool) -> Iterator[tuple[str, Path]]:
    """Yield (message, path) for each error in a template; ``api_version`` is the document's apiVersion.

    Quantities are checked only if all types are right, and the number of containers and what they mount only if all
    quantities are right, too. ``named`` says whether the user named the file: a file of a folder may be a patch, which
    has only some of the containers and volumes.
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
        found += [(wrong, place_of(template, path)) for path, wrong in refused(template.pod)]
    if not found and named and api_version in _BUILT_IN:
        if not spec(template.pod).get("containers"):
            found.append(("got no containers, want at least one", place_of(template, ("spec", "containers"))))
        found += [(wrong, place_of(template, path)) for path, wrong in _mounted_without_volume(template.pod)]
    yield from found


def _mounted_without_volume(pod: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield (path, problem) for each mount of a volume that the pod does not have.

    Source: ValidateVolumeMounts (kubernetes pkg/apis/core/validation).
    """
    volumes = {str(each.get("name")) for each in spec(pod).get("volumes") or ()}
    for container in containers(pod):
        for at, mount in enumerate(container.body.get("volumeMounts") or ()):
            name = str(mount.get("name") or "no name")
            if name not in volumes and not holds_placeholder(name):
                message = f"got {name:.63}, which no volume of the pod has{did_you_mean(name, volumes)}"
                yield (*container.path, "volumeMounts", at, "name"), message
