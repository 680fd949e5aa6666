"""Pods, the kubelet's devices and ResourceClaims agree about one node, whichever GPUs or slices pods hold."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from builders import JSON, gpu_container, pod
from e2e.dra import GPU_DRIVER, allocated_claim, partition_name, partitionable
from node_builders import GPU
from podberth.devices import mig
from podberth.devices.device_ids import DeviceName
from podberth.devices.mig_placement import placements
from podberth.facts.with_holdings import collect_with_holdings
from podberth.topology.claimed_devices import claimed_use
from podberth.topology.codec import decode_topology
from podberth.topology.device_use import HoldingPod
from podberth.topology.free_links import bucket, free_linked_gpus
from podberth.topology.holdings import FreeLinked, NodeUse
from podberth.topology.node import MigInstance
from podberth.topology.shapes import simulate
from podberth.topology.usage import GpuUsage, Grant, InstanceUsage, Look, Usage, allocate
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


CUT_NODE, CUT = simulate("dgx-a100-8-mig-mixed", "n")
CUT_TOPOLOGY = decode_topology(CUT)
SLICES = CUT_TOPOLOGY.mig_instances
FIRST_CUT = min(each.gpu for each in SLICES)
CUT_GPUS = 1 + max(each.gpu for each in SLICES) - FIRST_CUT
PROFILES = sorted({each.profile for each in SLICES})
TABLE = mig.table_for(CUT_TOPOLOGY.gpus[FIRST_CUT].product)


def uuid_of(index: int) -> str:
    return f"MIG-{index}"


def published(profile: str) -> tuple[int, int, tuple[int, ...]]:
    """Return the (memory in MiB, memory slices, first memory slices) with which a driver publishes a profile."""
    assert TABLE is not None
    places = placements(profile, TABLE)
    return mig.memory_mib(profile, TABLE), places[0][1], tuple(start for start, _ in places)


def left_by(held: list[MigInstance], profile: str) -> int:
    """Return how many instances of a profile the GPUs still have room for beside the held ones."""
    _, size, starts = published(profile)
    taken = {(each.gpu, each.start + at) for each in held if each.start is not None for at in range(each.size or 0)}
    gpus = range(FIRST_CUT, FIRST_CUT + CUT_GPUS)
    return sum(taken.isdisjoint((gpu, start + at) for at in range(size)) for gpu in gpus for start in starts)


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=len(SLICES), max_size=len(SLICES)))
def test_free_slices_and_their_holders(pods: list[str]) -> None:
    named = list(enumerate(zip(SLICES, pods, strict=True)))
    holders = Counter((name, each.profile) for _, (each, name) in named if name)

    grants = [
        Grant(
            namespace="team",
            pod=name,
            container="c",
            resource=mig.parse(each.profile).resource,
            device=DeviceName(mig_uuid=uuid_of(index)),
        )
        for index, (each, name) in named
        if name
    ]
    instances = {
        gpu.index: tuple(
            InstanceUsage(uuid=uuid_of(index), gpu_instance=index, profile=each.profile)
            for index, each in enumerate(SLICES)
            if each.gpu == gpu.index
        )
        for gpu in CUT_TOPOLOGY.gpus
    }
    usage = Usage(gpus=tuple(GpuUsage(index=gpu, instances=found) for gpu, found in instances.items()))
    allocation = allocate(grants, Look(topology=CUT_TOPOLOGY, usage=usage))
    assert Counter((each.pod, each.resource) for each in allocation.holders) == {
        (name, mig.parse(profile).resource): units for (name, profile), units in holders.items()
    }
    assert [allocation.held(each.gpu, uuid_of(index)) for index, (each, _) in named] == [bool(name) for name in pods]

    bound = [
        pod(gpu_container(gpus=units, resource=mig.parse(profile).resource), name=f"{name}-{profile}", nodeName="n")
        for (name, profile), units in holders.items()
    ]
    use = {
        each.resource: each for each in use_by_pods([CUT_NODE, CUT, *bound, pod(name="always", nodeName="n")]).devices
    }

    slices = partitionable("n", {each: published(each) for each in PROFILES}, cut=CUT_GPUS, whole=0)
    claims = [
        allocated_claim("n", partition_name(each.gpu - FIRST_CUT, each.profile, each.start or 0), pods=(name,))
        for _, (each, name) in named
        if name
    ]
    claimed = {each.resource: each for each in claimed_use(slices, claims)["n"]}

    for profile in PROFILES:
        held = {name: units for (name, each), units in holders.items() if each == profile}
        idle = sum(each.profile == profile and not name for _, (each, name) in named)
        of_pods, of_claims = use[mig.parse(profile).resource], claimed[f"{GPU_DRIVER} {profile}"]
        assert (of_pods.kind, of_pods.held, of_pods.free) == ("mig", sum(held.values()), idle)
        assert (of_claims.kind, of_claims.held) == ("mig", of_pods.held)
        assert {each.pod.partition("-")[0]: each.units for each in of_pods.holders} == held
        assert {each.pod: each.units for each in of_claims.holders} == held
        # A driver makes slices as claims come, so what the layout leaves idle is the least of what it has free.
        assert of_pods.free <= of_claims.free == left_by([each for _, (each, name) in named if name], profile)
    assert claimed[GPU_DRIVER].free == sum(
        all(not name for each, name in zip(SLICES, pods, strict=True) if each.gpu == gpu)
        for gpu in range(FIRST_CUT, FIRST_CUT + CUT_GPUS)
    )
