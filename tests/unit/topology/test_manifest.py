from typing import Any

import pytest

from node_builders import GPU, node_manifest
from podberth.errors import TopologyError
from podberth.topology.manifest import judge, read_node
from podberth.topology.node import Gpu, Node, NodeTopology, Taint


def decoded(manifest: dict[str, Any], topology: NodeTopology | None = None, *, stale: bool = False) -> Node:
    return judge(read_node(manifest), topology, stale=stale)


def test_a_node_is_read_with_its_device_resources_only() -> None:
    manifest = node_manifest(
        "gpu-1",
        devices={
            GPU: "8",
            "nvidia.com/mig-1g.5gb": 7,
            "example.com/fuse": "20",
            "vpc.amazonaws.com/efa": "32",
            "amd.com/gpu": "0",
        },
        labels={"a": "b"},
        taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "NoExecute"}],
    )
    node = decoded(manifest)
    assert node.name == "gpu-1"
    assert node.labels["a"] == "b"
    assert node.allocatable == {GPU: 8, "nvidia.com/mig-1g.5gb": 7, "vpc.amazonaws.com/efa": 32}
    assert node.unrecognised == {"example.com/fuse"}
    assert node.taints == (Taint("b", "c", "NoExecute"), Taint("nvidia.com/gpu", "", "NoSchedule"))
    assert node.transient == ""


def changed(**changes: Any) -> dict[str, Any]:
    manifest = node_manifest("gpu-1", devices={GPU: "8"})
    for path, value in changes.items():
        outer, inner = path.split("__")
        manifest[outer][inner] = value
    return manifest


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (changed(spec__unschedulable=True), "cordoned"),
        (changed(metadata__deletionTimestamp="2026-01-01T00:00:00Z"), "leaving"),
        (changed(status__conditions=[{"type": "Ready", "status": "False"}]), "not ready"),
        (changed(status__conditions=[{"type": "Ready", "status": "Unknown"}]), "not ready"),
        (changed(status__conditions=[{"type": "SysLogsXIDError", "status": "True"}]), "unhealthy GPU"),
        (changed(status__conditions=[{"type": "SysLogsXIDError", "status": "False"}]), ""),
        (changed(status__conditions=[]), ""),
        (changed(status__allocatable={GPU: "7"}), "unhealthy GPU"),
        (changed(status__capacity=None), ""),
        (changed(metadata__labels={"nvidia.com/mig.config.state": "pending"}), "MIG reconfiguring"),
        (changed(metadata__labels={"nvidia.com/mig.config.state": "failed"}), "MIG reconfiguring"),
        (changed(metadata__labels={"nvidia.com/mig.config.state": "success"}), ""),
        (changed(metadata__labels={"dgxc.nvidia.com/nvsentinel-state": "draining"}), "quarantined"),
        (changed(spec__taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]), "not ready"),
        (changed(spec__taints=[{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]), "leaving"),
        *(
            (changed(spec__taints=[{"key": key, "effect": "NoExecute"}]), "not ready")
            for key in (
                "karpenter.sh/unregistered",
                "node.cluster.x-k8s.io/uninitialized",
                "node.cilium.io/agent-not-ready",
                "ebs.csi.aws.com/agent-not-ready",
            )
        ),
        (changed(spec__taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]), ""),
    ],
)
def test_a_passing_state_makes_a_node_transient(manifest: dict[str, Any], reason: str) -> None:
    assert decoded(manifest).transient == reason


def test_the_published_topology_can_make_a_node_transient() -> None:
    manifest = node_manifest("gpu-1", devices={GPU: "8"})
    assert decoded(manifest, NodeTopology(gpus=(Gpu(index=0, problem="XID 79"),))).transient == "unhealthy GPU"
    assert decoded(manifest, NodeTopology(gpus=(Gpu(index=0, mig_pending=True),))).transient == "MIG reconfiguring"
    assert decoded(manifest, NodeTopology(), stale=True).transient == "stale"


def test_a_transient_node_is_known_by_what_it_offers_when_it_is_well() -> None:
    node = decoded(changed(status__allocatable={GPU: "7"}))
    assert node.allocatable == {GPU: 7}
    assert node.durable == {GPU: 8}


@pytest.mark.parametrize(
    ("manifest", "where"),
    [
        ({}, "Node: metadata.name"),
        ({"metadata": {"name": 7}}, "Node: metadata.name"),
        (changed(metadata__labels={"a": 1}), "Node gpu-1: metadata.labels['a']: got 1, want a string"),
        (changed(metadata__labels=[]), "Node gpu-1: metadata.labels: got a list, want an object"),
        (changed(spec__taints="all"), "Node gpu-1: spec.taints: got 'all', want a list"),
        (changed(spec__taints=["all"]), "Node gpu-1: spec.taints[0]: got 'all', want an object"),
        (changed(spec__unschedulable="yes"), "Node gpu-1: spec.unschedulable"),
        (
            changed(status__conditions=[{"type": ["Ready"], "status": "True"}]),
            "Node gpu-1: status.conditions[0].type: got a list, want a string",
        ),
        (changed(status__allocatable={GPU: "half"}), "Node gpu-1: status.allocatable['nvidia.com/gpu']"),
        (changed(status__allocatable={GPU: -1}), "Node gpu-1: status.allocatable['nvidia.com/gpu']"),
    ],
)
def test_a_node_that_cannot_be_read_is_an_error_that_says_where(manifest: dict[str, Any], where: str) -> None:
    with pytest.raises(TopologyError) as caught:
        decoded(manifest)
    assert str(caught.value).startswith(where)
