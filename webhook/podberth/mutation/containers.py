"""Iterates over the containers of a pod that mutations may change."""

from collections.abc import Iterator
from typing import Any

from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.shape import RESOURCED_LISTS

SIDES = ("limits", "requests")
"""The fields in which a container asks for resources."""


def containers(draft: Draft) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each container, init container and sidecar with its path.

    If a list is changed during the iteration, the change is seen only before the list's first container is yielded.
    """
    for kind in RESOURCED_LISTS:
        for index, container in enumerate(draft.get(("spec", kind)) or ()):
            yield ("spec", kind, index), container
