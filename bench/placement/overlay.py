"""What the trace does not say about its machines, laid over it by a rule.

The trace has CPU, memory and the number of GPUs of each machine, and a word for their model. Of the others:

    model, GPUs     becomes                        linked by NVLink          why
    T4 x2, x4       Tesla T4                       not at all                PCIe cards
    P100 x1, x2     Tesla P100-PCIE-16GB           not at all                PCIe cards
    A10 x1          NVIDIA A10                     not at all                PCIe cards
    V100M16, M32    Tesla V100-SXM2, 16 or 32 GB   fours                     each of DGX-1's two fours is fully linked
    G3 x8           shape hgx-h100-8               all eight                 undisclosed; the larger machine
    G2 x8           one of three shapes            see below                 undisclosed; most of the cluster

G2, in the trace's order: machines of ``dgx-a100-8-mig-mixed`` (six of eight A100 cut into 2 x 1g.5gb, 2g.10gb and
3g.20gb each, which is mig-parted's all-balanced) are spread evenly among them, as many as the pods that can share a GPU
have use for: of the profile that is wanted most, one instance for each such pod, but never on more than half of the G2
machines. Of the rest, every other one is a ``dgx-a100-8`` (NVLink among all eight), the others are ``l40s-8`` (none).
So the layout is made for the demand, the best case for MIG; ``--demand`` makes it for less. In a cluster that is not
cut, those machines are ``dgx-a100-8``.

How much GPU memory a pod needs that asks for a part of a GPU: that part of 15,360 MiB. The trace lets it run on any
model, the T4 among them, and that has no more.

Racks: sixteen machines of one kind, in the trace's order, share a rack's label; ``--rack`` takes another number. The
figures depend on it where gangs are laid over the pods (arrivals.py). All machines are bare metal and carry the taint
``nvidia.com/gpu``. CPU and memory are the trace's.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from podberth.devices import mig
from podberth.topology.codec import decode_topology, encode_topology
from podberth.topology.node import Gpu, Links, NodeTopology
from podberth.topology.shape_labels import platform_labels, vendor_labels
from podberth.topology.shape_tables import Model, Shape
from podberth.topology.shapes import SHAPES, simulate

from .trace import WHOLE_MILLI, TraceError, TraceNode, TracePod

JSON = dict[str, Any]

WHOLE = "nvidia.com/gpu"
"""The resource of a whole GPU."""

NEED_MIB = 15360
"""GPU memory of a pod that needs all of the smallest GPU: a T4."""

RACK = "fabric.topograph.run/tier-0"
"""topograph's label of the switch nearest to the machine."""

MEMORY_SLICES = 8
"""The memory slices of an A100 or H100 (NVIDIA's MIG user guide): what an instance is a part of."""

RACK_SIZE = 16
"""The machines of a rack, if nothing else is asked for."""
_CUT, _LINKED, _UNLINKED, _LARGER = "dgx-a100-8-mig-mixed", "dgx-a100-8", "l40s-8", "hgx-h100-8"
_SXM2_FOUR = 4

# PCI ids: https://pci-ids.ucw.cz. Memory: the table that nvidia-smi prints, in public logs.
_MODELS: Mapping[str, Model] = {
    "T4": Model(product="Tesla T4", memory_mib=15360, pci_id="1EB8", family="turing", compute=(7, 5)),
    "P100": Model(product="Tesla P100-PCIE-16GB", memory_mib=16280, pci_id="15F8", family="pascal", compute=(6, 0)),
    "A10": Model(product="NVIDIA A10", memory_mib=23028, pci_id="2236", family="ampere", compute=(8, 6)),
    "V100M16": Model(product="Tesla V100-SXM2-16GB", memory_mib=16160, pci_id="1DB1", family="volta", compute=(7, 0)),
    "V100M32": Model(product="Tesla V100-SXM2-32GB", memory_mib=32510, pci_id="1DB5", family="volta", compute=(7, 0)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What the device plugin hands out as one: a GPU, or an instance of one."""

    gpu: int
    resource: str
    """What a pod asks for, to get one; an instance that claims alone get has its driver and profile here."""
    size: float
    """As a part of the GPU, by its memory."""
    memory_mib: int = 0
    """GPU memory of an instance, and of what a DRA driver hands out."""
    device: str = ""
    """The name in the ResourceSlice; empty: a device plugin hands it out."""
    slices: frozenset[int] = frozenset()
    """The memory slices of the GPU that it takes, if units overlap: each GPU can be cut as pods come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A node of the cluster, and what the figures need of it."""

    name: str
    kind: str
    cpu_milli: int
    memory_mib: int
    gpus: float
    units: tuple[Unit, ...]
    """What can be handed out. With a device plugin they are at most the GPUs; with a DRA driver they overlap."""
    domains: tuple[tuple[int, ...], ...]
    """GPUs that share NVLink, each with each."""
    node: JSON
    config_map: JSON
    resource_slices: tuple[JSON, ...] = ()
    """What a DRA driver publishes; empty: the machine has a device plugin."""


def lay_over(
    nodes: Sequence[TraceNode],
    pods: Sequence[TracePod],
    *,
    cut: bool = True,
    demand: float = 1.0,
    rack_size: int = RACK_SIZE,
) -> tuple[Machine, ...]:
    """Make the cluster of these machines for these pods; TraceError where a model has no rule.

    ``demand`` is the share of the pods that the MIG layout is made for.
    """
    kinds = list(_kinds(nodes, machines_to_cut(nodes, pods, demand), _CUT if cut else _LINKED))
    seen: Counter[str] = Counter()
    machines = []
    for node, kind in zip(nodes, kinds, strict=True):
        rack = f"{kind}-{seen[kind] // rack_size:02}"
        seen[kind] += 1
        machines.append(_machine(node, kind, {RACK: rack}))
    return tuple(machines)


def need_mib(pod: TracePod) -> int:
    """Return the GPU memory that a pod needs of the one GPU that it shares."""
    return -(-pod.gpu_milli * NEED_MIB // WHOLE_MILLI)


def right_profile(pod: TracePod) -> str:
    """Name the smallest profile of the layout that is large enough; every pod that can share a GPU has one."""
    offered = {profile: _profile_mib(profile) for profile in SHAPES[_CUT].cut}
    found = mig.smallest(need_mib(pod), offered)
    if found is None:
        raise TraceError(f"{pod.name}: needs {need_mib(pod)} MiB of a GPU; got no profile in {_CUT} that has as much")
    return found


def machines_to_cut(nodes: Sequence[TraceNode], pods: Sequence[TracePod], demand: float = 1.0) -> int:
    """Count the machines that the layout needs for these pods, at most half of those that can have it."""
    shape = SHAPES[_CUT]
    wanted = Counter(right_profile(pod) for pod in pods if pod.shares)
    each = {profile: count * (shape.gpus - shape.whole) for profile, count in shape.cut.items()}
    needed = max((0, *(ceil(count * demand / each[profile]) for profile, count in wanted.items())))
    return min(needed, sum(node.model == "G2" for node in nodes) // 2)


def _kinds(nodes: Sequence[TraceNode], cut: int, cut_into: str) -> Iterator[str]:
    """Yield the kind of each machine: a shape's name, or the trace's model and the number of its GPUs.

    ``cut`` of the G2 machines are of the shape ``cut_into``.
    """
    total = sum(node.model == "G2" for node in nodes)
    numbers = itertools.count(1)
    turns = itertools.cycle((_LINKED, _UNLINKED))
    for node in nodes:
        if node.model != "G2":
            yield _LARGER if node.model == "G3" else f"{node.model.lower()}-{node.gpus}"
            continue
        number = next(numbers)
        # Bresenham's way to spread so many over the total.
        if number * cut // total > (number - 1) * cut // total:
            yield cut_into
        else:
            yield next(turns)


def _machine(node: TraceNode, kind: str, labels: Mapping[str, str]) -> Machine:
    if kind in SHAPES:
        if node.gpus != SHAPES[kind].gpus:
            raise TraceError(f"{node.name}: gpu: got {node.gpus} of model {node.model}, want {SHAPES[kind].gpus}")
        manifest, config_map = simulate(kind, node.name, placement=labels, provider="bare")
    else:
        manifest, config_map = _by_hand(node, kind, labels)
    amounts = {"cpu": f"{node.cpu_milli}m", "memory": f"{node.memory_mib}Mi"}
    status = manifest["status"]
    status |= {"capacity": status["capacity"] | amounts, "allocatable": status["allocatable"] | amounts}
    topology = decode_topology(config_map)
    return Machine(
        name=node.name,
        kind=kind,
        cpu_milli=node.cpu_milli,
        memory_mib=node.memory_mib,
        gpus=node.gpus,
        units=units_of(topology),
        domains=topology.links.domains,
        node=manifest,
        config_map=config_map,
    )


def units_of(topology: NodeTopology) -> tuple[Unit, ...]:
    """Return what a device plugin hands out of a machine with these GPUs and instances."""
    memory = {each.profile: each.memory_mib for each in topology.mig_offers}
    whole = (
        Unit(gpu=gpu.index, resource=WHOLE, size=1.0, memory_mib=gpu.memory_mib)
        for gpu in topology.gpus
        if not gpu.mig_enabled
    )
    instances = (
        Unit(
            gpu=each.gpu,
            resource=mig.parse(each.profile).resource,
            size=(each.size or 0) / MEMORY_SLICES,
            memory_mib=memory[each.profile],
        )
        for each in topology.mig_instances
    )
    return (*whole, *instances)


def _by_hand(node: TraceNode, kind: str, labels: Mapping[str, str]) -> tuple[JSON, JSON]:
    """Make the Node and the topology document of a machine of which no shape is shipped, from one that is like it."""
    model = _MODELS.get(node.model)
    if model is None:
        raise TraceError(f"{node.name}: model: got {node.model!r}, want one of {', '.join([*_MODELS, 'G2', 'G3'])}")
    shape = Shape(model=model, gpus=node.gpus, cpus=1, memory_gib=1, instance_types={"bare": kind})
    manifest, _ = simulate("l4-1", node.name, provider="bare")
    manifest["metadata"]["labels"] = {
        **platform_labels(shape, node.name, "bare"),
        **vendor_labels(shape, "bare"),
        **labels,
    }
    manifest["spec"]["taints"] = [{"key": WHOLE, "effect": "NoSchedule"}]
    for amounts in (manifest["status"]["capacity"], manifest["status"]["allocatable"]):
        amounts[WHOLE] = str(node.gpus)
    return manifest, encode_topology(node.name, _topology(model, node.gpus))


def _topology(model: Model, count: int) -> NodeTopology:
    gpus = tuple(
        Gpu(index=index, product=model.product, pci_id=model.pci_id, memory_mib=model.memory_mib)
        for index in range(count)
    )
    fours = count // _SXM2_FOUR if "SXM2" in model.product else 0
    domains = tuple(tuple(range(four * _SXM2_FOUR, (four + 1) * _SXM2_FOUR)) for four in range(fours))
    links = Links(shape="none")
    if domains:
        links = replace(links, shape="full-mesh" if len(domains) == 1 else "islands", domains=domains)
    return NodeTopology(gpus=gpus, links=links)


def _profile_mib(profile: str) -> int:
    model = SHAPES[_CUT].model
    return mig.memory_mib(profile, mig.table_for(model.product, model.pci_id))
