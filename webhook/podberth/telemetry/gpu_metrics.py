"""Every metric of the node agent, declared in one place; computed at each scrape from the last look.

An unknown value has no series: a lost GPU has no utilization of 0, and if the kubelet does not answer, no GPU is
reported as free. With an old look (``NodeReading.look`` is None) only the agent's own series are left.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from .. import __version__
from ..topology.allocation import Allocation
from ..topology.model import Unseen
from ..topology.usage import Look

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """The facts that the agent reports at one moment."""

    node: str
    look: Look | None
    """None: there was none yet, the last one failed, or it is too old."""
    allocation: Allocation | None
    """None: the kubelet was not asked, or did not answer."""
    kubelet_answers: bool | None
    """Whether the kubelet answered; None: it is not to be asked."""
    last_read_seconds: float | None
    """The Unix time of the last successful look; None: there was none."""
    reads: int
    failed_reads: int
    changes: int
    """The number of published documents."""


class _Family:
    """A family whose series all have the label ``node``."""

    def __init__(self, node: str, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        self.family = GaugeMetricFamily(name, documentation, labels=["node", *labels])
        self._node = node

    def add(self, value: float | None, *labels: str | int) -> None:
        """Add a series, unless the value is None."""
        if value is not None:
            self.family.add_metric([self._node, *map(str, labels)], float(value))


class GpuMetrics(Collector):
    """The metrics of one agent; ``read`` is called at each scrape."""

    def __init__(self, read: Callable[[], NodeReading]) -> None:
        """Declare all."""
        self._read = read
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def exposition(self) -> bytes:
        """Render in the Prometheus text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the metrics of one scrape."""
        reading = self._read()
        yield from (each.family for each in _of_gpus(reading))
        yield from (each.family for each in _of_mig_devices(reading))
        yield from (each.family for each in _of_the_agent(reading))
        reads = CounterMetricFamily("podberth_agent_reads", "Looks at the devices.", labels=["node", "result"])
        reads.add_metric([reading.node, "ok"], reading.reads)
        reads.add_metric([reading.node, "error"], reading.failed_reads)
        yield reads
        changes = CounterMetricFamily("podberth_agent_document_changes", "Documents given out.", labels=["node"])
        changes.add_metric([reading.node], reading.changes)
        yield changes


def _of_gpus(reading: NodeReading) -> Iterable[_Family]:
    node, gpu = reading.node, ("gpu",)
    info = _Family(
        node, "podberth_gpu_info", "Always 1; the labels tell.", ("gpu", "uuid", "vendor", "product", "pci_id", "mig")
    )
    healthy = _Family(node, "podberth_gpu_healthy", "Whether the GPU is healthy: 1 or 0.", gpu)
    problem = _Family(node, "podberth_gpu_problem_info", "Always 1; what is wrong with a GPU.", ("gpu", "problem"))
    utilization = _Family(
        node, "podberth_gpu_utilization_ratio", "The share of the last moment in which anything ran on it.", gpu
    )
    used = _Family(node, "podberth_gpu_memory_used_bytes", "Memory in use.", gpu)
    total = _Family(node, "podberth_gpu_memory_total_bytes", "Memory in all.", gpu)
    allocated = _Family(
        node, "podberth_gpu_allocated", "Whether a container holds it, a share of it or a MIG device of it.", gpu
    )
    look, allocation = reading.look, reading.allocation
    for each in look.topology.gpus if look else ():
        mig = "true" if each.mig_enabled else "false"
        info.add(1, each.index, each.uuid, each.vendor, each.product, each.pci_id, mig)
        healthy.add(not each.problem, each.index)
        if each.problem:
            problem.add(1, each.index, each.problem)
        allocated.add(allocation.held(each.index) if allocation else None, each.index)
    for usage in look.usage.gpus if look else ():
        utilization.add(usage.utilization, usage.index)
        used.add(usage.memory_used_bytes, usage.index)
        total.add(usage.memory_total_bytes, usage.index)
    return info, healthy, problem, utilization, used, total, allocated, _held(reading)


def _held(reading: NodeReading) -> _Family:
    held = _Family(
        reading.node,
        "podberth_gpu_held_devices",
        "Devices of a GPU that a container holds: 1, or how many of its shares.",
        ("gpu", "mig_uuid", "namespace", "pod", "container", "resource"),
    )
    for holder, count in reading.allocation.holders.items() if reading.allocation else ():
        held.add(count, holder.gpu, holder.mig_uuid, holder.namespace, holder.pod, holder.container, holder.resource)
    return held


def _of_mig_devices(reading: NodeReading) -> Iterable[_Family]:
    node, mig = reading.node, ("gpu", "mig_uuid")
    info = _Family(node, "podberth_mig_device_info", "Always 1; the labels tell.", (*mig, "profile", "gpu_instance"))
    used = _Family(node, "podberth_mig_device_memory_used_bytes", "Memory in use in its GPU instance.", mig)
    total = _Family(node, "podberth_mig_device_memory_total_bytes", "Memory of its GPU instance.", mig)
    allocated = _Family(node, "podberth_mig_device_allocated", "Whether a container holds it.", mig)
    allocation = reading.allocation
    for gpu in reading.look.usage.gpus if reading.look else ():
        for each in gpu.instances:
            info.add(1, gpu.index, each.uuid, each.profile, each.gpu_instance)
            used.add(each.memory_used_bytes, gpu.index, each.uuid)
            total.add(each.memory_total_bytes, gpu.index, each.uuid)
            allocated.add(allocation.held(gpu.index, each.uuid) if allocation else None, gpu.index, each.uuid)
    return info, used, total, allocated


def _of_the_agent(reading: NodeReading) -> Iterable[_Family]:
    node, look = reading.node, reading.look
    build = _Family(node, "podberth_agent_build_info", "Always 1; the labels tell.", ("version",))
    build.add(1, __version__)
    fresh = _Family(node, "podberth_agent_devices_seen", "Whether the last look succeeded and is not too old: 1 or 0.")
    fresh.add(look is not None)
    last = _Family(node, "podberth_agent_last_read_timestamp_seconds", "When a look last succeeded, as Unix time.")
    last.add(reading.last_read_seconds)
    unseen = _Family(
        node, "podberth_agent_unseen_info", "Always 1; what could not be read, and why.", ("gpu", "what", "why")
    )
    rows: dict[tuple[str, str, str], None] = {}
    for each in (*look.topology.unseen, *look.usage.unseen) if look else ():
        rows |= dict.fromkeys((gpu, each.what, each.why) for gpu in _whose(each))
    for row in rows:
        unseen.add(1, *row)
    up = _Family(node, "podberth_agent_pod_resources_up", "Whether the kubelet answered who holds what: 1 or 0.")
    up.add(reading.kubelet_answers)
    unmatched = _Family(
        node, "podberth_agent_unmatched_devices", "Accelerators that somebody holds and that are no GPU seen here."
    )
    unmatched.add(reading.allocation.unmatched if reading.allocation else None)
    return build, fresh, last, unseen, up, unmatched


def _whose(unseen: Unseen) -> Iterable[str]:
    """Return the names of the GPUs; the empty name stands for the node."""
    return map(str, unseen.gpus) if unseen.gpus else ("",)
