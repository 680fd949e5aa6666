"""What is created while no replica is up, as installed and with fail-closed: on a real API server, by the overlays."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from builders import container, gpu_pod, pod, sidecar
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.devices.resources import DEVICE_CLASS_PREFIX, DEVICE_CLASSES, TABLE

from .rendering import MANIFESTS

Document = dict[str, Any]

SECONDS = 60.0
NAMESPACE = "fail-closed"
REFUSED = 'failed calling webhook "pods.mutate.podberth.io"'

CLAIM = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}
ASKING: dict[str, Document] = {
    **{
        name: gpu_pod(resource=name)
        for name in (
            *(name for name, row in TABLE.items() if row.kind != "nic"),
            *(f"{DEVICE_CLASS_PREFIX}{name}" for name in DEVICE_CLASSES),
            "nvidia.com/mig-1g.10gb",
            "nvidia.com/mig-3g.40gb.shared",
        )
    },
    "in an init container": pod(init=[container("init", limits={"nvidia.com/gpu": "1"})]),
    "in a sidecar": pod(init=[sidecar(limits={"amd.com/gpu": "1"})]),
    "beside another device": pod(container(limits={"cpu": "1", "smarter-devices/fuse": "1", "nvidia.com/gpu": "1"})),
    "by a claim": pod(container(claims=["gpu"]), resourceClaims=[CLAIM]),
}
"""Pods that ask for accelerators, or may: what a claim is of, the API server cannot see."""
OTHERS: dict[str, Document] = {
    "web": pod(container(limits={"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi"})),
    **{
        name: pod(container(limits={name: "1"}))
        for name in (
            "smarter-devices/fuse",
            "vpc.amazonaws.com/pod-eni",
            "devices.kubevirt.io/kvm",
            "nvidia.com/gpu.new",  # NVIDIA's prefix alone is no GPU
            f"{DEVICE_CLASS_PREFIX}netdev.google.com",
            *(name for name, row in TABLE.items() if row.kind == "nic"),
        )
    },
    "no GPU": pod(container(limits={"nvidia.com/gpu": "0"})),
    "launcher": pod(labels={"podberth.io/gang": "llama"}),
    "driver": pod(labels={"spark-app-selector": "spark-1", "spark-role": "driver"}),
    "head": pod(labels={"ray.io/cluster": "raycluster-a", "ray.io/node-type": "head"}),
    "group": pod(annotations={"scheduling.k8s.io/group-name": "a"}),
}
"""Pods that ask for no accelerator: members of gangs, and those that ask for other devices."""


@pytest.fixture(scope="module")
def cluster(installed: ControlPlane) -> ControlPlane:
    """Return the cluster, in which nothing answers at the Service's address, with a namespace."""
    installed.add_namespace(NAMESPACE)
    return installed


@pytest.fixture
def as_installed(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Yield the cluster with the default overlay, and have creations fail closed again."""
    choose(cluster, "self-signed", refused=False)
    yield cluster
    choose(cluster, "fail-closed", refused=True)


def choose(cluster: ControlPlane, overlay: str, *, refused: bool) -> None:
    """Apply an overlay, and return once the API server goes by it."""
    cluster.kubectl("apply", "-k", f"{MANIFESTS}/overlays/{overlay}")
    wait_for(lambda: created(cluster, gpu_pod()) is not refused, timeout_seconds=SECONDS, what=f"{overlay} in force")


def created(cluster: ControlPlane, asked: Document) -> bool:
    """Return whether the API server creates a pod; it leaves nothing behind. What refuses it is podberth's absence."""
    metadata = {**asked["metadata"], "namespace": NAMESPACE, "name": "asked"}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All"
    answer = cluster.api.ask("POST", path, {**asked, "metadata": metadata})
    assert answer.status == HTTPStatus.CREATED or REFUSED in answer.document["message"], answer.document
    return answer.status == HTTPStatus.CREATED


def test_with_fail_closed_whoever_asks_for_an_accelerator_is_refused_and_nobody_else(cluster: ControlPlane) -> None:
    choose(cluster, "fail-closed", refused=True)
    assert {each for each, asked in ASKING.items() if created(cluster, asked)} == set()
    assert {each for each, asked in OTHERS.items() if not created(cluster, asked)} == set()


def test_as_installed_nobody_is_refused(as_installed: ControlPlane) -> None:
    everybody = ASKING | OTHERS
    assert {each for each, asked in everybody.items() if not created(as_installed, asked)} == set()
