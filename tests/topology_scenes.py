"""Clusters for the tests of ``podberth topology``: one with all that can be drawn, and names that would do harm."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from builders import JSON, gpu_pod
from podberth.cli.main import main
from podberth.topology.codec import decode_topology, encode_topology
from podberth.topology.node import Links, NodeTopology
from podberth.topology.shapes import simulate
from podberth.wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION

HOSTILE = "<script>alert(1)</script>\"'&]]>-->\x1b[31m\u202e##[error]"
ZONE, LEAF = "topology.kubernetes.io/zone", "network.topology.nvidia.com/leaf"
LOST = "XID 79: GPU has fallen off the bus"


def described(node: JSON, topology: NodeTopology) -> list[JSON]:
    """Return a node with another document."""
    return [node, encode_topology(node["metadata"]["name"], topology)]


def simulated(shape: str, name: str, **options: Any) -> tuple[JSON, NodeTopology]:
    """Return a simulated node, and its document decoded."""
    node, config_map = simulate(shape, name, **options)
    return node, decode_topology(config_map)


def cluster() -> list[JSON]:
    """Return a cluster with a cordoned node, a lost GPU, one that waits for a reset, free slices and a bare node."""
    found: list[JSON] = []
    for number in range(8):
        placement = {ZONE: f"zone-{'ab'[number % 2]}", LEAF: f"leaf-{number // 4}"}
        node, topology = simulated("hgx-h100-8", f"h100-{number}", placement=placement)
        if number == 3:
            node["spec"]["unschedulable"] = True
        if number == 5:
            gpus = list(topology.gpus)
            gpus[2] = replace(gpus[2], problem=LOST)
            topology = replace(topology, gpus=tuple(gpus))
            node["status"]["allocatable"]["nvidia.com/gpu"] = "7"
        if number == 6:
            gpus = [replace(gpu, mig_pending=gpu.index == 1) for gpu in topology.gpus]
            topology = replace(topology, gpus=tuple(gpus))
        found += described(node, topology)
    return [*found, *cut(), *large(), simulate("l4-4", "bare")[0]]


def cut() -> list[JSON]:
    """Return a node whose GPUs are cut in several ways: full, with a gap, uncut, and one whose places nobody knows."""
    node, topology = simulated("dgx-a100-8-mig-mixed", "mig")
    kept = [
        replace(one, start=None, size=None) if one.gpu == 6 else one
        for one in topology.mig_instances
        if one.gpu != 4 and not (one.gpu == 3 and one.profile == "1g.5gb")
    ]
    return described(node, replace(topology, mig_instances=tuple(kept)))


def large() -> list[JSON]:
    """Return a node of sixteen GPUs on four NUMA nodes, in two islands."""
    node, topology = simulated("hgx-h100-8", "large")
    gpus = tuple(replace(topology.gpus[0], index=index, uuid="", numa_node=index // 4) for index in range(16))
    levels = tuple(tuple(_level(one, other) for other in range(16)) for one in range(16))
    links = Links(shape="islands", domains=(tuple(range(8)), tuple(range(8, 16))), levels=levels)
    return described(node, replace(topology, gpus=gpus, links=links))


def _level(one: int, other: int) -> str:
    if one == other:
        return "X"
    if one // 8 == other // 8:
        return "NV18"
    return "PHB" if one // 12 == other // 12 else "SYS"


def hostile() -> list[JSON]:
    """Return a node whose texts try to break out of where they are shown, as far as an agent could write them."""
    node, topology = simulated("l4-1", "evil<b>&", placement={ZONE: HOSTILE, LEAF: "::error::" + "wide" * 15})
    printable = "<img src=x onerror=alert(1)>&\"']]>"
    gpu = replace(topology.gpus[0], product=printable, problem=printable)
    return described(node, replace(topology, gpus=(gpu,), links=Links(levels=(("<b>&\"'",),))))


def holders() -> list[JSON]:
    """Return pods on these nodes: they hold GPUs, slices and one GPU that is lost; one pod has ended.

    Three pods are of a gang of four, which is spread over two zones.
    """
    held = (
        ("h100-0", 7, "train-0"),
        ("h100-3", 6, "train-1"),
        ("h100-5", 8, "train-2"),
        ("large", 6, "sweep"),
        ("evil<b>&", 1, "i&<b>"),
    )
    slices = gpu_pod(3, resource="nvidia.com/mig-1g.5gb", name="notebook", nodeName="mig")
    slices["metadata"]["namespace"] = "team-b"
    pods = [gpu_pod(gpus, name=name, nodeName=node) for node, gpus, name in held]
    for each in pods[:3]:
        each["metadata"] |= {"labels": {GANG_LABEL: "train"}, "annotations": {GANG_SIZE_ANNOTATION: "4"}}
    ended = {**gpu_pod(1, name="done", nodeName="h100-0"), "status": {"phase": "Succeeded"}}
    return [*pods, slices, ended]


def as_list(documents: Sequence[JSON]) -> JSON:
    """Return documents as kubectl prints them."""
    return {"apiVersion": "v1", "kind": "List", "items": list(documents)}


def run(*arguments: object, code: int = 0) -> None:
    """Run ``podberth topology`` with the arguments, and assert its exit code."""
    assert main(["topology", *map(str, arguments)]) == code
