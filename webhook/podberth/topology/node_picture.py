"""The data for a picture of one node: its GPUs by NUMA node, their links, MIG layouts and states.

The data come from a decoded ``Node``, so they are bounded, but they may be false. MIG instances that overlap, or that
reach beyond their GPU, are listed in ``unplaced`` and not drawn.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..conventions import Conventions
from ..devices import mig, mig_placement
from ..devices.mig_tables import MigTable
from ..devices.resources import NVIDIA_GPU
from .capability import capability_of, live_table
from .holdings import NodeUse
from .node import Gpu, LinkShape, MigInstance, Node, Taint

_PRODUCT = "nvidia.com/gpu.product"

# Labels that describe a node to a person, beside levels and those that the conventions rank.
_DESCRIPTIVE: frozenset[str] = frozenset(
    {
        "kubernetes.io/arch",
        "node.kubernetes.io/instance-type",
        "nvidia.com/cuda.driver-version.full",
        "nvidia.com/gpu.compute.major",
        "nvidia.com/gpu.compute.minor",
        "nvidia.com/gpu.replicas",
        "nvidia.com/mig.config",
        "nvidia.com/mig.config.state",
    }
)


UNCUT = "uncut"
"""The layout of a GPU that is in MIG mode but has no instances."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Adjacent memory slices of one GPU."""

    start: int
    size: int
    profile: str = ""
    """The profile of the MIG instance on these slices; empty: no known instance is on the slices
    (``GpuPicture.blank``).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPicture:
    """The data for one GPU in the picture of a node."""

    gpu: Gpu
    segments: tuple[Segment, ...] = ()
    """The segments of all memory slices in order; empty: the GPU is not partitioned, or the placements are unknown."""
    unplaced: tuple[str, ...] = ()
    """The profiles of MIG instances whose placement is unknown or impossible."""
    room: tuple[tuple[str, int], ...] = ()
    """(profile, number) for each profile of which more instances fit, smallest first; at least so many instances fit if
    no other profile is added.
    """

    @property
    def blank(self) -> str:
        """The text for memory slices without a known MIG instance.

        The text is ``free``, ``left over`` (no further instance fits on them) or ``not known``.
        """
        if self.unplaced:
            return "not known"
        return "free" if self.room else "left over"

    @property
    def state(self) -> str:
        """The GPU's problem, or the MIG mode after the next reset, in a few words; else ``healthy``."""
        if self.gpu.problem:
            return self.gpu.problem
        if self.gpu.mig_enabled != self.gpu.mig_pending:
            return f"MIG {'on' if self.gpu.mig_pending else 'off'} after a reset"
        return "healthy"


@dataclass(frozen=True, slots=True)
class Offer:
    """A device resource that a node offers, with the allocatable amount and the capacity."""

    resource: str
    allocatable: int
    capacity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePicture:
    """The data for the picture of one node."""

    name: str
    transient: str
    """The reason why the node's current resources are temporary; empty: the resources are not temporary."""
    machine: str
    """The GPUs of the node in a few words: ``8 x NVIDIA-H100-80GB-HBM3``; empty: none are known."""
    gpus: tuple[GpuPicture, ...]
    """The GPUs in the node's topology document, by index; empty if the node has no document."""
    described: bool
    """Whether the node has a topology document."""
    shape: LinkShape
    domains: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[str, ...], ...]
    """The matrix of ``nvidia-smi topo -m``, in the order of ``gpus``; empty: not read."""
    fabric: str
    numa: tuple[tuple[int | None, tuple[int, ...]], ...]
    """(NUMA node, indexes of the GPUs close to it) for each NUMA node; None: the NUMA node is unknown."""
    offers: tuple[Offer, ...]
    taints: tuple[Taint, ...]
    labels: tuple[tuple[str, str], ...]
    """The labels to show: first the labels of levels, widest first, then labels about the hardware."""
    observed: str
    use: NodeUse | None = None
    """The pods that hold the node's devices, and what is free; None: the snapshot has no Pods."""
    note: str = ""
    """A line about the picture as a whole; empty: there is none."""
    snapshot_at: datetime | None = None
    """The time of the snapshot; None for simulated nodes."""


def picture_of(node: Node, conventions: Conventions | None = None, use: NodeUse | None = None) -> NodePicture:
    """Return the data for the picture of a node.

    ``conventions`` choose and order the labels; if None, the default conventions do. ``use`` is the use of the node's
    devices.
    """
    conventions = conventions or Conventions()
    topology = node.topology
    order = sorted(range(len(topology.gpus)), key=lambda at: topology.gpus[at].index) if topology else []
    gpus = tuple(_gpu_picture(topology.gpus[at], node) for at in order) if topology else ()
    levels = topology.links.levels if topology else ()
    return NodePicture(
        name=node.name,
        transient=node.transient,
        machine=machine_of(node),
        gpus=gpus,
        described=topology is not None,
        shape=topology.links.shape if topology else "unknown",
        domains=topology.links.domains if topology else (),
        levels=tuple(tuple(levels[row][column] for column in order) for row in order) if levels else (),
        fabric=topology.fabric.label if topology and topology.fabric else "",
        numa=_numa(each.gpu for each in gpus),
        offers=tuple(
            Offer(name, node.allocatable.get(name, 0), node.capacity.get(name, 0))
            for name in sorted(node.allocatable.keys() | node.capacity.keys())
        ),
        taints=node.taints,
        labels=_labels(node.labels, conventions),
        observed=topology.observed if topology else "",
        use=use,
    )


def machine_of(node: Node) -> str:
    """Return a node's GPUs as text, such as ``8 x H100``; empty if no GPUs are known.

    The GPUs come from the topology document, else from the product label and the amount of ``nvidia.com/gpu``. If only
    the label is known, the text is the product alone.
    """
    if node.topology and node.topology.gpus:
        counts = Counter(gpu.product.replace(" ", "-") or "GPU" for gpu in node.topology.gpus)
        return ", ".join(f"{count} x {product}" for product, count in sorted(counts.items()))
    product = node.labels.get(_PRODUCT, "")
    count = node.durable.get(NVIDIA_GPU, 0)
    return f"{count} x {product}" if product and count else product


def shape_of(node: Node) -> str:
    """Return as text how a node's GPUs are linked: ``full-mesh of 8``, ``islands of 2``, ``none``.

    The number is the size of the largest link domain. If the node has no topology document with links, the text comes
    from the node's labels (``8 linked, by labels``), or is ``unknown``.
    """
    links = node.topology.links if node.topology else None
    if links is not None and links.shape != "unknown":
        largest = max(map(len, links.domains), default=0)
        return f"{links.shape} of {largest}" if largest else links.shape
    size = capability_of(node).domain_of.get(NVIDIA_GPU, 0)
    return f"{size} linked, by labels" if size else "unknown"


def layout_of(node: Node) -> Mapping[int, str]:
    """Return a mapping from the index of each GPU in MIG mode to the GPU's MIG layout as text.

    The instances are ordered by placement, such as ``1g.5gb@0 2g.10gb@2``. A GPU without instances is ``uncut``. The
    mapping is empty without a topology document.
    """
    topology = node.topology
    if topology is None:
        return {}
    cut: dict[int, list[MigInstance]] = {gpu.index: [] for gpu in topology.gpus if gpu.mig_enabled}
    for instance in topology.mig_instances:
        cut[instance.gpu].append(instance)
    return {index: " ".join(map(_placed, sorted(found, key=_place))) or UNCUT for index, found in cut.items()}


def _placed(instance: MigInstance) -> str:
    return instance.profile if instance.start is None else f"{instance.profile}@{instance.start}"


def _place(instance: MigInstance) -> tuple[bool, int, str]:
    return instance.start is None, instance.start or 0, instance.profile


def _gpu_picture(gpu: Gpu, node: Node) -> GpuPicture:
    topology = node.topology
    if topology is None or not gpu.mig_enabled:
        return GpuPicture(gpu=gpu)
    instances = sorted((one for one in topology.mig_instances if one.gpu == gpu.index), key=_place)
    table = live_table(gpu.product, gpu.pci_id, topology.mig_offers)
    slices = table.memory_slices if table else 0
    segments, unplaced = _segments(instances, slices)
    return GpuPicture(gpu=gpu, segments=segments, unplaced=unplaced, room=_room(instances, table))


def _segments(instances: Iterable[MigInstance], slices: int) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Return the used and the free segments of a GPU in order, and the profiles that cannot be placed."""
    segments: list[Segment] = []
    unplaced: list[str] = []
    end = 0
    for one in instances:
        if one.start is None or not one.size or one.start < end or one.start + one.size > slices:
            unplaced.append(one.profile)
            continue
        segments += _free(end, one.start)
        segments.append(Segment(one.start, one.size, one.profile))
        end = one.start + one.size
    if unplaced and not segments:
        return (), tuple(unplaced)
    return (*segments, *_free(end, slices)), tuple(unplaced)


def _free(start: int, end: int) -> list[Segment]:
    return [Segment(start, end - start)] if end > start else []


def _room(instances: Iterable[MigInstance], table: MigTable | None) -> tuple[tuple[str, int], ...]:
    if table is None:
        return ()
    present = [mig_placement.PlacedInstance(one.profile, one.start, one.size) for one in instances]
    found = ((profile, mig_placement.room(profile, present, table)[0]) for profile in sorted(table.rows, key=mig.parse))
    return tuple((profile, count) for profile, count in found if count)


def _numa(gpus: Iterable[Gpu]) -> tuple[tuple[int | None, tuple[int, ...]], ...]:
    groups: dict[int | None, list[int]] = {}
    for gpu in gpus:
        groups.setdefault(gpu.numa_node, []).append(gpu.index)
    ordered = sorted(groups, key=lambda numa: (numa is None, numa or 0))
    return tuple((numa, tuple(groups[numa])) for numa in ordered)


def _labels(labels: Mapping[str, str], conventions: Conventions) -> tuple[tuple[str, str], ...]:
    ranked = (*conventions.levels, *(key.key for key in conventions.label_keys), *sorted(_DESCRIPTIVE))
    return tuple((key, labels[key]) for key in dict.fromkeys(ranked) if key in labels)
