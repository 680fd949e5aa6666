"""Finds workloads and claims of a version that the API server no longer serves: kubectl refuses them."""

from collections.abc import Mapping
from typing import Final

from ..kube.removed_versions import REMOVED
from ..kube.schema import WORKLOADS
from .result import Finding
from .sources import Source

_NEWEST: Final[Mapping[str, str]] = {
    **{kind: version for version, kind in WORKLOADS if "/" in version},
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate"), "resource.k8s.io/v1"),
}
"""The kinds with a group of Kubernetes' own that make pods or claim devices, each with the newest version."""


def removed_version(source: Source) -> tuple[Finding, ...]:
    """Return the finding about the version of a document; empty if the API server serves it."""
    group, _, version = source.api_version.rpartition("/")
    if source.kind not in _NEWEST or (group, version) not in REMOVED:
        return ()
    message = f"got {source.api_version}, which Kubernetes no longer serves; write {_NEWEST[source.kind]}"
    path = ("apiVersion",)
    return (Finding(policy="", message=message, field=source.field(path), line=source.line(path)),)
