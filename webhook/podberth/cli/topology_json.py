"""The JSON output of ``podberth topology``. Within ``v1`` fields may be added, but no field is removed or redefined."""

from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ..topology.cluster_difference import Difference
from ..topology.device_use import DeviceUse
from ..topology.gang_spread import GangSpread
from ..topology.holdings import Tally
from ..topology.node_picture import GpuPicture, NodePicture
from ..topology.overview import REPORT_SCHEMA, ClusterPicture, MachineSummary
from ..topology.totals import ModelTotal


def node_json(node: NodePicture) -> dict[str, Any]:
    """Return the topology of a node as plain JSON values: GPUs, links, offered and used devices, taints and labels."""
    return {
        "schema": REPORT_SCHEMA,
        "node": node.name,
        "snapshotAt": _time(node.snapshot_at),
        "transient": node.transient,
        "machine": node.machine,
        "document": node.described,
        "observed": node.observed,
        "gpus": [_gpu(each) for each in node.gpus],
        "links": {"shape": node.shape, "domains": node.domains, "levels": node.levels, "fabric": node.fabric},
        "numa": [{"node": number, "gpus": indexes} for number, indexes in node.numa],
        "offers": [asdict(each) for each in node.offers],
        "use": None if node.use is None else [_device_use(each) for each in (*node.use.devices, *node.use.claimed)],
        "freeLinked": None if node.use is None or node.use.linked is None else node.use.linked._asdict(),
        "taints": [taint._asdict() for taint in node.taints],
        "labels": dict(node.labels),
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")


def _gpu(each: GpuPicture) -> dict[str, Any]:
    gpu = each.gpu
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "product": gpu.product,
        "memoryMiB": gpu.memory_mib,
        "numaNode": gpu.numa_node,
        "mig": gpu.mig_enabled,
        "migPending": gpu.mig_pending,
        "problem": gpu.problem,
        "slices": [asdict(one) for one in each.segments],
        "unplaced": each.unplaced,
        "room": dict(each.room),
    }


def _device_use(each: DeviceUse) -> dict[str, Any]:
    return {
        "resource": each.resource,
        "kind": each.kind,
        "allocatable": each.allocatable,
        "used": each.used,
        "free": each.free,
        "holders": [one._asdict() for one in each.holders],
    }


def cluster_json(cluster: ClusterPicture) -> dict[str, Any]:
    """Return the topology of a cluster as plain JSON values: nodes by kind, levels, unhealthy nodes and GPUs."""
    return {
        "schema": REPORT_SCHEMA,
        "snapshotAt": _time(cluster.snapshot_at),
        "nodes": cluster.nodes,
        "documents": cluster.described,
        "models": [_model(each) for each in cluster.models],
        "kinds": [
            {
                **_kind(each.kind),
                "nodes": each.names,
                "where": dict(each.where),
                "transient": dict(each.transient),
                "use": None
                if each.use is None
                else [{"resource": name, **_tally(tally)} for name, tally in each.use.items()],
            }
            for each in cluster.kinds
        ],
        "levels": [
            {
                "key": level.key,
                "outside": level.outside,
                "domains": [
                    {
                        "domain": domain,
                        "nodes": nodes,
                        "devices": devices,
                        "use": None if level.use is None else _tally(level.use[domain]),
                    }
                    for domain, nodes, devices in level.domains
                ],
            }
            for level in cluster.levels
        ],
        "gangs": [_gang(each) for each in cluster.gangs],
        "transient": dict(cluster.unhealthy),
        "problems": [{"node": node, "gpu": gpu, "problem": problem} for node, gpu, problem in cluster.ill],
    }


def _model(each: ModelTotal) -> dict[str, Any]:
    return {
        "model": each.model,
        "nodes": each.nodes,
        "devices": each.devices,
        "units": [
            {
                "unit": unit.unit,
                "resource": unit.resource,
                "amount": unit.amount,
                "use": None if unit.use is None else {**_tally(unit.use), "outOfUse": unit.out_of_use},
            }
            for unit in each.units
        ],
    }


def _gang(each: GangSpread) -> dict[str, Any]:
    gang, (within, domain), (level, domains) = each.gang, each.within or ("", ""), each.over or ("", ())
    return {
        "namespace": gang.namespace,
        "name": gang.name,
        "source": gang.source,
        "size": gang.size,
        "nodes": [{"node": node, "pods": pods} for node, pods in sorted(Counter(gang.nodes).items())],
        "devices": gang.devices,
        "within": {"level": within, "domain": domain} if within else None,
        "over": {"level": level, "domains": [{"domain": name, "pods": pods} for name, pods in domains]}
        if level
        else None,
    }


def _tally(found: Tally) -> dict[str, int]:
    return {
        "used": found.used,
        "free": found.free,
        "freeUnhealthy": found.free_unhealthy,
        "mostFree": found.most,
    }


def difference_json(found: Difference) -> dict[str, Any]:
    """Return the differences of two snapshots as plain JSON values.

    The fields "added", "removed" and "changed" list each node separately. The field "byKind" lists equal nodes with an
    equal change together.
    """
    return {
        "schema": REPORT_SCHEMA,
        "same": found.empty,
        "added": [{"node": name, **_kind(kind)} for name, kind in found.added],
        "removed": [{"node": name, **_kind(kind)} for name, kind in found.removed],
        "changed": [
            {"node": each.name, **_kind(each.kind), "changes": [asdict(one) for one in each.changes]}
            for each in found.changed
        ],
        "byKind": [
            {
                "event": each.event,
                **_kind(each.kind),
                "nodes": each.names,
                "changes": [asdict(one) for one in each.changes],
            }
            for each in found.by_kind
        ],
    }


def _kind(kind: MachineSummary) -> dict[str, Any]:
    return {
        "machine": kind.machine,
        "links": kind.shape,
        "mig": kind.layout,
        "offers": dict(kind.offers),
        "taints": [taint._asdict() for taint in kind.taints],
    }
