"""Pods, the kubelet's devices and ResourceClaims agree: whichever GPUs pods hold, all say the same of one node."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from builders import JSON, gpu_container, pod
from e2e.dra import GPU_DRIVER, allocated_claim, partitionable
from node_builders import GPU
from podberth.devices.device_ids import DeviceName
from podberth.facts.with_holdings import collect_with_holdings
from podberth.topology.claimed_devices import claimed_use
from podberth.topology.codec import decode_topology
from podberth.topology.device_use import HoldingPod
from podberth.topology.free_links import bucket, free_linked_gpus
from podberth.topology.holdings import FreeLinked, NodeUse
from podberth.topology.shapes import simulate
from podberth.topology.usage import Grant, Look, Usage, allocate
from podberth.wellknown import FREE_LINKED_LABEL


@st.composite
def held(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw the shape of a machine, and the pod that holds each of its GPUs; empty: the GPU is free."""
    shape, gpus = draw(st.sampled_from([("hgx-h100-8", 8), ("a100-pcie-4", 4), ("l40s-8", 8)]))
    return shape, draw(st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=gpus, max_size=gpus))


def use_by_pods(snapshot: list[JSON]) -> NodeUse:
    found = collect_with_holdings(snapshot, now=None)[1]
    assert found is not None
    return found.nodes["n"]


@given(held())
def test_free_gpus_their_links_and_their_holders(drawn: tuple[str, list[str]]) -> None:
    shape, pods = drawn
    node, document = simulate(shape, "n")
    topology = decode_topology(document)
    holders = Counter(filter(None, pods))

    grants = [
        Grant(namespace="team", pod=name, container="c", resource=GPU, device=DeviceName(gpu_uuid=gpu.uuid))
        for gpu, name in zip(topology.gpus, pods, strict=True)
        if name
    ]
    allocation = allocate(grants, Look(topology=topology, usage=Usage()))
    assert Counter(each.pod for each in allocation.holders) == holders
    assert [allocation.held(gpu.index) for gpu in topology.gpus] == [bool(name) for name in pods]
    linked = free_linked_gpus(topology, allocation)
    assert linked is not None

    bound = [
        pod(gpu_container(gpus=units), name=name, nodeName="n") | {"metadata": {"name": name, "namespace": "team"}}
        for name, units in holders.items()
    ]
    snapshot = [node, document, *bound, pod(name="always", nodeName="n")]
    use = use_by_pods(snapshot)
    [of_pods] = [each for each in use.devices if each.resource == GPU]
    node["metadata"]["labels"][FREE_LINKED_LABEL] = str(bucket(linked))
    labelled = use_by_pods(snapshot)
    if use.linked is not None:
        assert use.linked.least <= linked <= use.linked.most
        assert labelled.linked == FreeLinked(GPU, linked, linked)

    claims = [
        allocated_claim("n", *(f"gpu-{gpu}" for gpu, holder in enumerate(pods) if holder == name), pods=(name,))
        for name in holders
    ]
    [of_claims] = claimed_use(partitionable("n", {}, cut=0, whole=len(pods)), claims)["n"]
    assert of_claims.resource == GPU_DRIVER

    for each in (of_pods, of_claims):
        assert (each.held, each.free) == (holders.total(), pods.count(""))
        assert set(each.holders) == {HoldingPod("team", name, units) for name, units in holders.items()}
