"""Finds what keeps the pod of a template from starting or running, or makes it wait, whatever the nodes offer."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..devices.claims import KnownDevices
from ..kube.object_names import NamespacedName
from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.unchecked import list_at, mapping_at, text_at
from ..mutation.affinity import REQUIRED, SELECTOR, impossible
from ..wellknown import LIVE_LABELS

_CLAIMS: Final = ("spec", "resourceClaims")
# Their Dockerfiles: the program is a shell or an interpreter, which ends without a terminal and without input
_SHELLS: Final = re.compile(
    r"(?:(?:docker\.io/)?(?:library/)?(?:alpine|busybox|centos|debian|python|ubuntu)"
    r"|(?:(?:docker|nvcr)\.io/)?nvidia/cuda|(?:docker\.io/)?pytorch/pytorch)(?=[:@]|$)"
)
_UNCHANGED: Final = frozenset({"v1", "apps/v1"})
"""The versions of the kinds whose pods run what their template says: an operator may add the command itself."""


def in_any_cluster(pod: dict[str, Any], api_version: str) -> Iterator[tuple[Path, str]]:
    """Yield the problems of a template's pod that depend on the pod alone, each with its place.

    Args:
        pod: the template's pod.
        api_version: that of the template's object.
    """
    yield from _opposed_requirements(pod)
    yield from _live_requirements(pod)
    yield from _ends_at_once(pod, api_version)


def _opposed_requirements(pod: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield a problem if no node can meet the pod's own nodeSelector and required node affinity.

    A problem is (the path of the field in the pod, a message).
    """
    draft = Draft(pod)
    if both := impossible(draft):
        where = SELECTOR if draft.get(SELECTOR) else REQUIRED
        yield where, f"no node meets both {both}, so the pod never starts; remove one of them"


def _live_requirements(pod: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield a problem for each label that agents keep current in the pod's own nodeSelector and required terms."""
    places: list[tuple[Path, object]] = [((*SELECTOR, key), key) for key in mapping_at(pod, *SELECTOR)]
    for at, term in enumerate(list_at(pod, *REQUIRED)):
        path = (*REQUIRED, at, "matchExpressions")
        keys = (text_at(each, "key") for each in list_at(term, "matchExpressions"))
        places += [((*path, index, "key"), key) for index, key in enumerate(keys)]
    for where, key in places:
        if key in LIVE_LABELS:
            yield where, f"requires {key}, which may be old and which no new node has; prefer it instead"


def _ends_at_once(pod: Mapping[str, Any], api_version: str) -> Iterator[tuple[Path, str]]:
    """Yield a problem for each container that ends as soon as it starts, and that the kubelet starts again for ever.

    ``api_version`` is that of the object whose template makes the pod.
    """
    if api_version not in _UNCHANGED or text_at(pod, "spec", "restartPolicy") not in ("", "Always"):
        return
    for index, container in enumerate(list_at(pod, "spec", "containers")):
        if not isinstance(container, Mapping) or any(container.get(key) for key in ("command", "args", "stdin", "tty")):
            continue
        if found := _SHELLS.match(image := text_at(container, "image")):
            message = f"got {image} without a command: {found[0]} ends at once, and the pod restarts for ever"
            yield ("spec", "containers", index, "image"), f"{message}; give it a command"


def claims_elsewhere(
    pod: dict[str, Any], namespace: str, devices: KnownDevices, unsure: str
) -> Iterator[tuple[Path, str]]:
    """Yield a problem for each claim whose ResourceClaimTemplate or ResourceClaim exists only in other namespaces.

    Both are read in the pod's namespace alone (core/v1 PodResourceClaim), so the pod waits until one exists there.
    ``unsure`` is the namespace of documents that do not name one: what is in it may be applied to any namespace.
    """
    for index, claim in enumerate(list_at(pod, *_CLAIMS)):
        if not isinstance(claim, Mapping) or devices.asked(namespace, claim) is not None:
            continue
        for field, kind, known in _sorts(devices):
            name = text_at(claim, field)
            if places := sorted({at for at, each in known if each == name and at != unsure}):
                where = places[0] if len(places) == 1 else f"{len(places)} other namespaces"
                message = f"got {name}, a {kind} known in {where} only: a pod uses those of its own namespace"
                yield (*_CLAIMS, index, field), f"{message}; make it in {namespace}"


def _sorts(devices: KnownDevices) -> tuple[tuple[str, str, Mapping[NamespacedName, object]], ...]:
    return (
        ("resourceClaimTemplateName", "ResourceClaimTemplate", devices.templates),
        ("resourceClaimName", "ResourceClaim", devices.claims),
    )
