"""What every row of the scenario shares: the machines, the gangs that want more of them than there are, and their pods.

Two pools of whole machines, each of two domains of four. In each pool four gangs want three machines: a domain holds
one of them, and eight machines are no multiple of three. So whoever places pod by pod leaves at least one gang in each
pool half-started, whatever the order; whoever places gangs as a whole starts one in each domain.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from podberth.topology.shapes import simulate
from podberth.wellknown import GANG_ACCELERATED_ANNOTATION, GANG_SIZE_ANNOTATION

from ..fleet import H100, PRODUCT, RACK
from ..manifest import GPU_TOLERATION

Document = dict[str, Any]

MEMBERS = 3
"""Pods with GPUs in a gang, each of which takes a machine."""
_GANGS, _MACHINES = 4, 4  # in a pool; in a domain
_FABRIC = "0b5b1b60-7d3a-4f0e-9f3a-2a3a5b0e7c1"
_ARM_TOLERATION = {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
IMAGE = "example.com/train:1"


@dataclass(frozen=True, slots=True)
class Pool:
    """Alike machines in domains of one topology level."""

    name: str
    shape: str
    product: str
    gpus: int
    """Of a machine."""
    level: str
    domains: tuple[str, ...]

    @property
    def machines(self) -> int:
        """How many there are."""
        return len(self.domains) * _MACHINES


@dataclass(frozen=True, slots=True)
class Gang:
    """What one workload is to make; the names of its pods begin with its own."""

    name: str
    pool: Pool


POOLS = (
    Pool("h100", "hgx-h100-8", H100, 8, RACK, ("a", "b")),
    Pool("gb200", "gb200-tray", "NVIDIA-GB200", 4, "nvidia.com/gpu.clique", (f"{_FABRIC}1.1", f"{_FABRIC}2.2")),
)
GANGS = tuple(Gang(f"{pool.name}-{number}", pool) for number in range(_GANGS) for pool in POOLS)


def machines() -> Iterator[tuple[Document, Document]]:
    """Yield each machine's Node and what the node agent publishes of it."""
    for pool in POOLS:
        for number, domain in enumerate(pool.domains):
            for machine in range(_MACHINES):
                yield simulate(pool.shape, f"{pool.name}-{number}-{machine}", placement={pool.level: domain})


def pod_spec(gang: Gang, *, gpus: bool = True, container: str = "main", **fields: Any) -> Document:
    """Return what a user writes of a member: the product, the tolerations, and a whole machine; or nothing of these."""
    tolerations = [GPU_TOLERATION, _ARM_TOLERATION]
    main: Document = {"name": container, "image": IMAGE}
    if not gpus:
        return {"containers": [main], **fields}
    main["resources"] = {"limits": {"nvidia.com/gpu": gang.pool.gpus}}
    return {"nodeSelector": {PRODUCT: gang.pool.product}, "tolerations": tolerations, "containers": [main], **fields}


def size_said(size: int) -> dict[str, str]:
    """Return the annotations by which a pod says how many its gang has, and how many of them GPUs, if not all.

    For pods of which no owner says it.
    """
    some = {GANG_ACCELERATED_ANNOTATION: str(MEMBERS)} if size > MEMBERS else {}
    return {GANG_SIZE_ANNOTATION: str(size), **some}


def template(gang: Gang, *, gpus: bool = True, container: str = "main", **fields: Any) -> Document:
    """Return a member as a pod template. How many there are is for the workload around it to say."""
    return {"metadata": {}, "spec": pod_spec(gang, gpus=gpus, container=container, **fields)}


def named(api_version: str, kind: str, name: str, spec: Document) -> Document:
    """Return an object, as yet in no namespace."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
