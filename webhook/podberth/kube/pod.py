"""Functions that read fields of a Pod, which is a plain dict.

A null field counts as absent. A result is a part of the Pod itself and no copy, so callers must not change the result.
The functions rely on the JSON types that ``kube.shape`` checks: call ``shape_problems`` first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .paths import Path
from .pod_limits import ENTRIES
from .unchecked import at, text_at

ContainerKind = Literal["container", "init", "sidecar", "ephemeral"]


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a Pod: the container's type, its path in the Pod and its fields.

    A ``sidecar`` is an init container with restartPolicy Always (KEP-753). ``path`` leads from the Pod to ``body``,
    which has the fields; ``name`` is empty if the container has no name.
    """

    name: str
    path: Path
    kind: ContainerKind
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """One item of metadata.ownerReferences."""

    api_version: str
    kind: str
    name: str
    uid: str
    is_controller: bool = field(default=False, compare=False)
    """The controller flag of the reference, if the flag was read. References that differ only in the flag are the same
    owner.
    """
    blocks_deletion: bool = field(default=False, compare=False)

    @property
    def group(self) -> str:
        """The API group of the owner; empty for the core group."""
        return self.api_version.rpartition("/")[0]


def by_name(kind: str, namespace: str, name: str) -> str:
    """Return the key ``kind/namespace/name``, under which an owner is found besides its uid.

    One mapping has the keys of both sorts: a uid has no slash, so it is never equal to such a key.
    """
    return f"{kind}/{namespace}/{name}"


def metadata(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a Pod or other object; empty when absent or null."""
    return pod.get("metadata") or {}


def labels(pod: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a Pod or other object; empty when absent or null."""
    return (pod.get("metadata") or {}).get("labels") or {}


def annotations(pod: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations of a Pod or other object; empty when absent or null."""
    return (pod.get("metadata") or {}).get("annotations") or {}


def spec(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a Pod or other object; empty when absent or null."""
    return pod.get("spec") or {}


def containers(pod: Mapping[str, Any]) -> tuple[Container, ...]:
    """Return all containers of a Pod.

    Main containers come first, then init containers and sidecars in the Pod's order, then ephemeral containers.
    """
    return tuple(
        Container(body.get("name") or "", ("spec", key, index), kind_of(kind, body), body)
        for key, kind in CONTAINER_KINDS
        for index, body in enumerate(spec(pod).get(key) or ())
    )


def kind_of(kind: ContainerKind, body: Mapping[str, Any]) -> ContainerKind:
    """Return the type of a container in the list of containers of the type ``kind``."""
    return "sidecar" if kind == "init" and body.get("restartPolicy") == "Always" else kind


def repeated_names(pod: Mapping[str, Any]) -> tuple[Container, ...]:
    """Return each container whose name an earlier container of the Pod has. The API server refuses such a Pod."""
    seen: set[str] = set()
    found: list[Container] = []
    for container in containers(pod):
        if container.name in seen:
            found.append(container)
        seen.add(container.name)
    return tuple(found)


def controller(document: object) -> OwnerReference | None:
    """Return the owner reference with the controller flag, from an object of any shape; None if there is none."""
    owners = at(document, "metadata", "ownerReferences")
    for owner in owners[:ENTRIES] if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            version, kind, name, uid = (text_at(owner, key) for key in ("apiVersion", "kind", "name", "uid"))
            return OwnerReference(version, kind, name, uid)
    return None


def is_owner(document: object, reference: OwnerReference, namespace: str) -> bool:
    """Return whether ``document``, which may have any shape, is the owner that ``reference`` names in ``namespace``.

    uid, kind, name and API group are compared, but not the version, because an object is served in several versions.
    """
    version = at(document, "apiVersion")
    return (
        at(document, "metadata", "uid") == reference.uid
        and at(document, "metadata", "name") == reference.name
        and at(document, "metadata", "namespace") == namespace
        and at(document, "kind") == reference.kind
        and isinstance(version, str)
        and version.rpartition("/")[0] == reference.group
    )


CONTAINER_KINDS: Final[tuple[tuple[str, ContainerKind], ...]] = (
    ("containers", "container"),
    ("initContainers", "init"),
    ("ephemeralContainers", "ephemeral"),
)
"""(field of a Pod's spec, type of the containers in it), in the order of ``containers``."""
