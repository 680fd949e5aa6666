"""One planted cause for `podberth why`, and the pod that most scenes ask about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from builders import container, gpu_pod, pod

from .why_nodes import on

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One planted cause."""

    name: str
    objects: Sequence[Document]
    cause: str
    """The cause that has to be first."""
    says: str
    """Words of its first line."""
    shows: str = ""
    """A line of its evidence, or a part of one; empty: none is looked for."""
    does: str = ""
    """A line of what to do, or a part of one; empty: none is looked for."""
    follows: str = ""
    """Words of a cause that comes next; empty: none is looked for."""
    asked: str = "it"
    status: Mapping[str, Any] | None = None
    """The status that the pod gets once it runs; None: it is left alone."""
    statuses: Mapping[str, Document] = field(default_factory=dict)
    """The status that objects besides the pod get, by the path of the object in the API."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the namespace."""
    shared: bool = False
    """Whether it needs the CRDs of ../shared."""
    before: Callable[[str], Sequence[Document]] = lambda _: ()
    """Cluster-scoped objects, and whatever has to be there first, from the name of the namespace."""


def it(gpus: int = 1, **fields: Any) -> Document:
    """Return the pod that most scenes ask about; without a choice of its own it is for the pool ``free``."""
    return gpu_pod(gpus, name="it", **{**on("free"), **fields})


def document(version: str, kind: str, name: str, spec: Document) -> Document:
    """Return an object of any Kubernetes kind."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def claim(name: str, device_class: str, **exactly: Any) -> Document:
    """Return a ResourceClaim with one request for devices of a class."""
    requests = [{"name": "gpu", "exactly": {"deviceClassName": device_class, **exactly}}]
    return document("resource.k8s.io/v1", "ResourceClaim", name, {"devices": {"requests": requests}})


def claimed(pool: str = "cpu", name: str = "it", **entry: str) -> Document:
    """Return a pod with a claim; ``entry`` is what its entry in resourceClaims says besides the name."""
    used = container("main", claims=["gpu"])
    return pod(used, name=name, resourceClaims=[{"name": "gpu", **entry}], **on(pool))
