"""The snapshots that answer: policies and a cluster each, compiled once in a process.

    fleet      all shipped policies, the optional ones included; one machine or two of every shape, queues, groups,
               claims and the owners of the material's gangs
    required   the same, with every parameter that turns a preference into a requirement
    enforcing  the policies of enforcing/: they write what nobody is to get around
    bare       all shipped policies over a cluster of which nothing is known

A batch is answered by one of them.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from builders import pod_group
from group_scenes import QUEUES, documents
from podberth.admission.snapshot import Snapshot
from podberth.mutation.seal import Sealer
from podberth.topology.shapes import SHAPES, simulate
from podberth.wellknown import NAMESPACE

from ..decisions import snapshot_of
from .material import JSON, LIBRARY, NAMESPACES, material

WORLDS: Final = ("fleet", "required", "enforcing", "fleet", "bare", "required", "enforcing", "fleet")
"""In the order in which batches have them."""

_ENFORCING: Final = Path(__file__).with_name("enforcing")
_SEALER: Final = Sealer.of(b"of the fuzz")
"""As a cluster has one: who forges records does not know its key."""
_MACHINES: Final = 2
_GROUPS: Final = ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io", "scheduling.volcano.sh", "scheduling.run.ai")
GROUP_NAMES: Final = ("g", "ring", "group-1")
"""PodGroups that are there, of every system."""
CLAIMS: Final = ("gpus", "slice", "nic", "channel", "nobody-knows")
"""Claim templates that are there, but for the last."""
_CLASSES: Final = {"gpus": "gpu.nvidia.com", "slice": "mig.nvidia.com", "nic": "nic.example.com"}
_REQUIRED: Final = {
    **{each: {"mode": "required"} for each in ("gang-topology", "inference-roles", "product-affinity")},
    **{f"multi-{each}-nvlink": {"mode": "required"} for each in ("gpu", "node")},
    "spot-and-priority": {"priorityClassName": "urgent"},
}
"""Values of params, by policy."""


@cache
def compiled(world: str) -> Snapshot:
    """Return the snapshot of a world; it remembers what it was asked in this process."""
    if world == "enforcing":
        return snapshot_of([_ENFORCING], cluster()).with_sealer(_SEALER)
    if world == "bare":
        return compiled("fleet").with_topology(snapshot_of([_ENFORCING], ()).topology)
    if world == "required":
        fleet = compiled("fleet")
        params = {
            (NAMESPACE, f"podberth-{name}"): {**_thing("v1", "ConfigMap", f"podberth-{name}", NAMESPACE), "data": data}
            for name, data in _REQUIRED.items()
        }
        return fleet.with_objects(fleet.facts.namespaces, params)
    return snapshot_of(LIBRARY, cluster()).with_sealer(_SEALER)


def forgetful(snapshot: Snapshot) -> Snapshot:
    """Return the same snapshot, which remembers no answer."""
    return snapshot.with_topology(snapshot.topology)


def cluster() -> Iterator[JSON]:
    """Yield every object of the cluster."""
    for namespace in NAMESPACES:
        yield _thing("v1", "Namespace", namespace, labels={"kubernetes.io/metadata.name": namespace})
    for leaf, shape in enumerate(SHAPES):
        for number in range(_MACHINES):
            where = {
                "topology.kubernetes.io/zone": f"zone-{leaf % 3}",
                "network.topology.nvidia.com/leaf": f"leaf-{leaf // 2}",
            }
            yield from simulate(shape, f"{shape}-{number}", placement=where)
    yield from _groups()
    yield from _devices()
    yield from documents(QUEUES)
    for name, value in (("system-node-critical", 2_000_001_000), ("urgent", 1000), ("usual", 0)):
        yield {**_thing("scheduling.k8s.io/v1", "PriorityClass", name), "value": value, "globalDefault": value == 0}
    yield from material().owners


def _groups() -> Iterator[JSON]:
    for namespace in NAMESPACES[:2]:
        for name in GROUP_NAMES:
            group = pod_group(name, 4, "topology.kubernetes.io/zone")
            group["metadata"]["namespace"] = namespace
            group["spec"]["resourceClaims"] = [{"name": "shared", "resourceClaimTemplateName": "gpus"}]
            yield group
            for system in _GROUPS:
                made = _thing(f"{system}/v1alpha1", "PodGroup", name, namespace)
                yield {**made, "spec": {"minMember": 4}}


def _devices() -> Iterator[JSON]:
    driver = "device.driver == 'nic.example.com'"
    yield {
        **_thing("resource.k8s.io/v1", "DeviceClass", "nic.example.com"),
        "spec": {"selectors": [{"cel": {"expression": driver}}]},
    }
    for namespace in NAMESPACES[:2]:
        for name, device_class in _CLASSES.items():
            exactly = {"deviceClassName": device_class, "count": 2}
            asked = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
            template = _thing("resource.k8s.io/v1", "ResourceClaimTemplate", name, namespace)
            yield {**template, "spec": {"spec": asked}}
            yield {**_thing("resource.k8s.io/v1", "ResourceClaim", name, namespace), "spec": asked}
        domain = _thing("resource.nvidia.com/v1beta1", "ComputeDomain", "domain", namespace)
        yield {**domain, "spec": {"channel": {"resourceClaimTemplate": {"name": "channel"}}}}


def _thing(version: str, kind: str, name: str, namespace: str = "", **metadata: JSON) -> JSON:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **place, **metadata}}
