"""All metrics of the node agent, declared in one place and computed at each scrape from the last reading of the GPUs.

An unknown value has no series. So the utilization of a lost GPU is not reported as 0, and if the kubelet does not
answer, no GPU is reported as free. If the last reading is too old, only the series about the agent itself are left.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from .. import __version__
from ..topology.usage import Allocation, Look

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """The facts that the agent's metrics show at one moment."""

    node: str
    look: Look | None
    """The last reading of the devices; None if there was no reading, or if the reading failed or is too old."""
    allocation: Allocation | None
    """The kubelet's assignment of devices to pods; None if the kubelet was not asked or did not answer."""
    kubelet_answers: bool | None
    """Whether the kubelet answered; None if the agent is configured not to ask the kubelet."""
    last_read_seconds: float | None
    """The Unix time of the last successful reading of the devices; None if there was none."""
    reads: int
    failed_reads: int
    changes: int
    """The number of topology documents published so far."""


_GPU, _MIG = ("gpu",), ("gpu", "mig_uuid")
_GAUGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "podberth_gpu_info": ("Always 1; the facts are the labels.", ("gpu", "uuid", "vendor", "product", "pci_id", "mig")),
    "podberth_gpu_healthy": ("Whether the GPU is healthy: 1 or 0.", _GPU),
    "podberth_gpu_problem_info": ("Always 1; what is wrong with a GPU.", ("gpu", "problem")),
    "podberth_gpu_utilization_ratio": ("The share of the last moment in which anything ran on it.", _GPU),
    "podberth_gpu_memory_used_bytes": ("Memory in use.", _GPU),
    "podberth_gpu_memory_total_bytes": ("Memory in all.", _GPU),
    "podberth_gpu_allocated": ("Whether a container holds it, a share of it or a MIG device of it.", _GPU),
    "podberth_gpu_held_devices": (
        "Devices of a GPU that a container holds: 1, or how many of its shares.",
        ("gpu", "mig_uuid", "namespace", "pod", "container", "resource"),
    ),
    "podberth_mig_device_info": ("Always 1; the facts are the labels.", (*_MIG, "profile", "gpu_instance")),
    "podberth_mig_device_memory_used_bytes": ("Memory in use in its GPU instance.", _MIG),
    "podberth_mig_device_memory_total_bytes": ("Memory of its GPU instance.", _MIG),
    "podberth_mig_device_allocated": ("Whether a container holds it.", _MIG),
    "podberth_agent_build_info": ("Always 1; the facts are the labels.", ("version",)),
    "podberth_agent_devices_seen": ("Whether the last look succeeded and is not too old: 1 or 0.", ()),
    "podberth_agent_last_read_timestamp_seconds": ("When a look last succeeded, as Unix time.", ()),
    "podberth_agent_unseen_info": ("Always 1; what could not be read, and why.", ("gpu", "what", "why")),
    "podberth_agent_pod_resources_up": ("Whether the kubelet answered who holds what: 1 or 0.", ()),
    "podberth_agent_unmatched_devices": ("Accelerators that somebody holds and that are no GPU seen here.", ()),
}
"""The help text of each gauge, and the gauge's labels in addition to ``node``, which every gauge has."""


class GpuMetrics(Collector):
    """The metrics of one agent; ``read`` is called at each scrape."""

    def __init__(self, read: Callable[[], NodeReading]) -> None:
        self._read = read
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the metrics of one scrape."""
        reading = self._read()
        gauges = {
            name: GaugeMetricFamily(name, said, labels=["node", *labels]) for name, (said, labels) in _GAUGES.items()
        }
        for name, value, *labels in (*_of_the_agent(reading), *_of_gpus(reading.look, reading.allocation)):
            if value is not None:
                gauges[name].add_metric([reading.node, *map(str, labels)], float(value))
        yield from gauges.values()
        reads = CounterMetricFamily("podberth_agent_reads", "Looks at the devices.", labels=["node", "result"])
        reads.add_metric([reading.node, "ok"], reading.reads)
        reads.add_metric([reading.node, "error"], reading.failed_reads)
        yield reads
        changes = CounterMetricFamily("podberth_agent_document_changes", "Documents given out.", labels=["node"])
        changes.add_metric([reading.node], reading.changes)
        yield changes


_Series: TypeAlias = tuple[str, float | None, *tuple[object, ...]]
"""One value of a gauge: (the name, the value or None if unknown, the values of the labels)."""


def _of_gpus(look: Look | None, allocation: Allocation | None) -> Iterator[_Series]:
    for gpu in look.topology.gpus if look else ():
        mig = "true" if gpu.mig_enabled else "false"
        yield "podberth_gpu_info", 1, gpu.index, gpu.uuid, gpu.vendor, gpu.product, gpu.pci_id, mig
        yield "podberth_gpu_healthy", not gpu.problem, gpu.index
        yield "podberth_gpu_problem_info", 1 if gpu.problem else None, gpu.index, gpu.problem
        yield "podberth_gpu_allocated", allocation.held(gpu.index) if allocation else None, gpu.index
    for used in look.usage.gpus if look else ():
        yield "podberth_gpu_utilization_ratio", used.utilization, used.index
        yield "podberth_gpu_memory_used_bytes", used.memory_used_bytes, used.index
        yield "podberth_gpu_memory_total_bytes", used.memory_total_bytes, used.index
        for each in used.instances:
            device = used.index, each.uuid
            yield "podberth_mig_device_info", 1, *device, each.profile, each.gpu_instance
            yield "podberth_mig_device_memory_used_bytes", each.memory_used_bytes, *device
            yield "podberth_mig_device_memory_total_bytes", each.memory_total_bytes, *device
            yield "podberth_mig_device_allocated", allocation.held(*device) if allocation else None, *device
    for holder, count in allocation.holders.items() if allocation else ():
        who = holder.namespace, holder.pod, holder.container, holder.resource
        yield "podberth_gpu_held_devices", count, holder.gpu, holder.mig_uuid, *who


def _of_the_agent(reading: NodeReading) -> Iterator[_Series]:
    look = reading.look
    yield "podberth_agent_build_info", 1, __version__
    yield "podberth_agent_devices_seen", look is not None
    yield "podberth_agent_last_read_timestamp_seconds", reading.last_read_seconds
    yield "podberth_agent_pod_resources_up", reading.kubelet_answers
    yield "podberth_agent_unmatched_devices", reading.allocation.unmatched if reading.allocation else None
    unseen = (*look.topology.unseen, *look.usage.unseen) if look else ()
    # The empty name stands for the node.
    for row in dict.fromkeys((gpu, each.what, each.why) for each in unseen for gpu in each.gpus or ("",)):
        yield "podberth_agent_unseen_info", 1, *row
