"""The containers that mutations may write on."""

from collections.abc import Iterator
from typing import Any

from ..kube.patch import Draft, Path
from ..kube.shape import RESOURCED_LISTS

SIDES = ("limits", "requests")
"""The fields in which a container asks for resources."""


def containers(draft: Draft) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each container, init container and sidecar with its path.

    A change of a list during the iteration is seen only if none of the list's containers was yielded before.
    """
    for kind in RESOURCED_LISTS:
        for index, container in enumerate(draft.get(("spec", kind)) or ()):
            yield ("spec", kind, index), container
