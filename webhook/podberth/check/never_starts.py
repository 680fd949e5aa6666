"""Finds what keeps the pod of a template from starting in any cluster, whatever its nodes offer."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..devices.claims import KnownDevices
from ..kube.object_names import NamespacedName
from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.unchecked import list_at, text_at
from ..mutation.affinity import REQUIRED, SELECTOR, impossible

_CLAIMS: Final = ("spec", "resourceClaims")


def opposed_requirements(pod: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield a problem if no node can meet the pod's own nodeSelector and required node affinity.

    A problem is (the path of the field in the pod, a message).
    """
    draft = Draft(pod)
    if both := impossible(draft):
        where = SELECTOR if draft.get(SELECTOR) else REQUIRED
        yield where, f"no node meets both {both}, so the pod never starts; remove one of them"


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
