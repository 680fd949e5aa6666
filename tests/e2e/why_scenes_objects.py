"""Pods that wait for what they name: who lifts a gate, a scheduler, a volume or a claim."""

from typing import Any

from .dra import GPU_DRIVER, PCIE_ROOT, device_class, resource_slice
from .why_nodes import ZONE, on
from .why_scene import Scene, claim, claimed, document, it

Document = dict[str, Any]

_GAUDI = "gaudi.intel.com"
_GPU_CLASS = document("resource.k8s.io/v1", "DeviceClass", "gpu.example.com", {})


def _mounted(claim: str, **fields: Any) -> Document:
    return it(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}], **fields)


def _pvc(name: str, **spec: Any) -> Document:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {**wanted, "storageClassName": "", **spec},
    }


def _volume_in_zone_a(namespace: str) -> list[Document]:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "claimRef": {"namespace": namespace, "name": "there"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return [{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace}, "spec": spec}]


def _devices_held(namespace: str) -> list[Document]:
    """Return a node's only GPU, and the pod that has it: it comes before the pod that waits."""
    pods = [claim("taken", "gpu.nvidia.com"), claimed("dra", "holder", resourceClaimName="taken")]
    for each in pods:
        each["metadata"]["namespace"] = namespace
    return [device_class("gpu.nvidia.com", GPU_DRIVER), resource_slice("dra-1", GPU_DRIVER, "pci0000:00"), *pods]


def _two_apart(_namespace: str) -> list[Document]:
    """Return two accelerators of a node below different PCIe roots, and their class."""
    return [device_class(_GAUDI, _GAUDI), resource_slice("dra-1", _GAUDI, "pci0000:00", "pci0000:40")]


def _alike(name: str, count: int) -> Document:
    """Return a claim of accelerators below one PCIe root."""
    made = claim(name, _GAUDI, count=count)
    made["spec"]["devices"]["constraints"] = [{"requests": ["gpu"], "matchAttribute": PCIE_ROOT}]
    return made


def _no_claims(namespace: str) -> list[Document]:
    """Return the quota of a namespace that may have no ResourceClaim."""
    quota = document("v1", "ResourceQuota", "no-claims", {"hard": {"count/resourceclaims.resource.k8s.io": "0"}})
    return [{**quota, "metadata": {**quota["metadata"], "namespace": namespace}}]


def _template(name: str, device_class: str) -> Document:
    spec = {"spec": claim(name, device_class)["spec"]}
    return document("resource.k8s.io/v1", "ResourceClaimTemplate", name, spec)


SCENES: tuple[Scene, ...] = (
    Scene(
        name="gate",
        objects=[it(schedulingGates=[{"name": "example.com/hold"}])],
        cause="gate",
        says="scheduling gate example.com/hold of example.com",
    ),
    Scene(
        name="scheduler", objects=[it(schedulerName="volcano")], cause="scheduler", says="no scheduler named volcano"
    ),
    Scene(name="no-volume", objects=[_mounted("data")], cause="volume", says="PersistentVolumeClaim data does not"),
    Scene(
        name="unbound",
        objects=[_pvc("data"), _mounted("data")],
        cause="volume",
        says="PersistentVolumeClaim data is not bound",
    ),
    Scene(
        name="no-class",
        objects=[_pvc("data", storageClassName="fast"), _mounted("data")],
        cause="volume",
        says="no PersistentVolume of class fast fits it, and no StorageClass fast provides one",
    ),
    Scene(
        name="volume-zone",
        objects=[_pvc("there", volumeName="why-volume-zone"), _mounted("there", **on("zoned"))],
        before=_volume_in_zone_a,
        cause="volume zone",
        says="its volume there is only on nodes with topology.kubernetes.io/zone=a",
    ),
    Scene(
        name="no-claim",
        objects=[claimed(resourceClaimName="gone")],
        cause="claim",
        says="ResourceClaim gone does not exist",
    ),
    Scene(
        name="no-template",
        objects=[claimed(resourceClaimTemplateName="gone")],
        cause="claim",
        says="ResourceClaimTemplate gone does not exist",
    ),
    Scene(
        name="claim-quota",
        objects=[_template("one-gpu", "gpu.example.com"), claimed(resourceClaimTemplateName="one-gpu")],
        before=_no_claims,
        cause="claim",
        says="ResourceQuota no-claims leaves no room for a ResourceClaim of template one-gpu",
        shows="exceeded quota: no-claims, requested: count/resourceclaims.resource.k8s.io=1",
        does="kubectl describe quota no-claims -n why-claim-quota",
    ),
    Scene(
        name="unallocated",
        objects=[claim("free", "gpu.example.com"), claimed(resourceClaimName="free")],
        before=lambda _: [_GPU_CLASS],
        cause="claim unallocated",
        says="has free devices for ResourceClaim free",
    ),
    Scene(
        name="claims-held",
        objects=[claim("wanted", "gpu.nvidia.com"), claimed("dra", resourceClaimName="wanted")],
        before=_devices_held,
        cause="claim unallocated",
        says="has free devices for ResourceClaim wanted",
        shows="dra-1: 0 of 1 gpu.nvidia.com free; held by why-claims-held/holder (1, ",
    ),
    Scene(
        name="claims-unlike",
        objects=[_alike("wanted", 2), claimed("dra", resourceClaimName="wanted")],
        before=_two_apart,
        cause="claim unallocated",
        says="are free on dra-1, but no two on one node share resource.kubernetes.io/pcieRoot",
        does="ask for 1, or drop the constraint",
    ),
)
