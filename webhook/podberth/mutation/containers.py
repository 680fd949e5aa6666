"""Iterates over the containers that mutations may change: all containers of a pod but ephemeral containers."""

from collections.abc import Iterator
from typing import Any

from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.shape import RESOURCED_LISTS

SIDES = ("limits", "requests")
"""The fields in which a container asks for resources."""


def containers(draft: Draft) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield (path, container) for each container, init container and sidecar of the pod.

    Once the first container of a list has been yielded, changes of that list are not seen.
    """
    for kind in RESOURCED_LISTS:
        for index, container in enumerate(draft.get(("spec", kind)) or ()):
            yield ("spec", kind, index), container
