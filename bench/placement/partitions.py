"""MIG machines otherwise than by the overlay's rule: as ``podberth plan mig`` lays them out, and cut as pods come.

*Planned.* The fleet is the cluster with nothing cut. The demand is a share of the pods, taken at equal distances, and
read as ``podberth plan mig`` reads Pods. The plan does not know GPUs without MIG, on which pods of whole GPUs run, too.
So these pods count only as far as such GPUs are not enough for them, in the order of their arrival.

*Claims.* Every machine whose GPUs have MIG offers them by NVIDIA's DRA driver in the place of the device plugin: each
GPU, and each instance that it can have at each place, as devices that share the GPU's memory slices. Profiles with
extensions (``+me``) are left out. Labels and topology documents stay as they are.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from e2e.dra import GPU_DRIVER, partition_name, partitionable
from podberth.devices import mig, mig_placement
from podberth.devices.mig_tables import MigTable
from podberth.facts.cluster import collect
from podberth.kube.unchecked import is_pod
from podberth.mig_plan.demand import of_pods
from podberth.mig_plan.hosts import hosts_of
from podberth.mig_plan.layouts import UNCUT, WHOLE, Layout
from podberth.mig_plan.plan import Plan, plan
from podberth.mig_plan.pools import pools_of
from podberth.topology.codec import decode_topology, encode_topology
from podberth.topology.node import MigInstance, MigOffer
from podberth.topology.shape_labels import vendor_labels
from podberth.topology.shapes import SHAPES

from .manifests import manifest
from .overlay import MEMORY_SLICES, Machine, Unit, units_of
from .overlay import WHOLE as GPU
from .trace import TracePod, sample

JSON = dict[str, Any]

_SECONDS = 10.0
"""The time that ``podberth plan mig`` searches."""


def planned(machines: Sequence[Machine], pods: Sequence[TracePod], demand: float, seed: int) -> tuple[Machine, ...]:
    """Return the machines with the layouts that the plan has for this share of the pods."""
    found = plan_of(machines, sample(pods, round(len(pods) * demand), seed))
    layouts = {name: config.layouts for pool in found.pools for config in pool.configs for name in config.nodes}
    return tuple(_laid_out(each, layouts[each.name]) if each.name in layouts else each for each in machines)


def plan_of(machines: Sequence[Machine], pods: Sequence[TracePod]) -> Plan:
    """Return the plan of ``podberth plan mig`` for these machines and all these pods."""
    documents = [document for each in machines for document in (each.node, each.config_map)]
    pools, _ = pools_of(collect(documents, now=None).nodes)
    names = frozenset(machine.name for pool in pools for machine in pool.machines)
    elsewhere = int(sum(each.gpus for each in machines if each.name not in names))
    documents += map(manifest, _not_elsewhere(pods, elsewhere))
    hosts = hosts_of(documents, names)
    return plan(pools, of_pods(filter(is_pod, documents), names), hosts, clock=time.monotonic, seconds=_SECONDS)


def _not_elsewhere(pods: Sequence[TracePod], gpus: int) -> Iterator[TracePod]:
    """Yield the pods without those of whole GPUs for which so many GPUs are enough."""
    for pod in pods:
        if pod.shares or pod.gpus > gpus:
            yield pod
        else:
            gpus -= pod.gpus


def _laid_out(machine: Machine, layouts: Sequence[Layout]) -> Machine:
    """Return a machine with nothing cut as mig-parted cuts it into these layouts, one for each GPU."""
    shape, table = SHAPES[machine.kind], _table(machine)
    topology = decode_topology(machine.config_map)
    cut = [layout != UNCUT for layout in layouts]
    # Without the places: the agent may not read them, and nothing here depends on them.
    instances = tuple(
        MigInstance(gpu=gpu, profile=profile, size=mig_placement.placements(profile, table)[0][1])
        for gpu, layout in enumerate(layouts)
        for profile, count in layout
        if profile != WHOLE
        for _ in range(count)
    )
    laid_out = replace(
        topology,
        gpus=tuple(
            replace(gpu, mig_enabled=is_cut, mig_pending=is_cut) for gpu, is_cut in zip(topology.gpus, cut, strict=True)
        ),
        mig_instances=instances,
        mig_offers=tuple(
            MigOffer(
                profile=profile,
                pci_id=shape.model.pci_id,
                max_instances=row.max_instances,
                memory_mib=mig.memory_mib(profile, table),
            )
            for profile, row in sorted(table.rows.items())
        ),
    )
    counts = Counter(each.profile for each in instances)
    node = _offering(
        machine.node, {GPU: cut.count(False), **{mig.parse(name).resource: n for name, n in counts.items()}}
    )
    # The labels are of counts: they are the same if one GPU had all instances.
    node["metadata"]["labels"] |= vendor_labels(replace(shape, cut=counts, whole=shape.gpus - 1), "bare")
    return replace(
        machine,
        kind=f"{machine.kind}-planned",
        units=units_of(laid_out),
        node=node,
        config_map=encode_topology(machine.name, laid_out),
    )


def by_claims(machines: Sequence[Machine]) -> tuple[Machine, ...]:
    """Return the machines of a cluster with nothing cut, those with MIG behind a DRA driver."""
    return tuple(_by_claims(each) if _has_mig(each) else each for each in machines)


def _by_claims(machine: Machine) -> Machine:
    table, memory = _table(machine), SHAPES[machine.kind].model.memory_mib
    profiles = {name: _places(name, table) for name in table.rows if "+" not in name}
    count = int(machine.gpus)
    return replace(
        machine,
        kind=f"{machine.kind}-dra",
        units=tuple(unit for gpu in range(count) for unit in _overlapping(gpu, profiles, memory)),
        node=_offering(machine.node, {}),
        resource_slices=partitionable(machine.name, profiles, cut=count, whole=0, memory_mib=memory),
    )


def _places(profile: str, table: MigTable) -> tuple[int, int, tuple[int, ...]]:
    """Return (MiB of an instance, memory slices of one, first memory slice of each placement)."""
    places = mig_placement.placements(profile, table)
    return mig.memory_mib(profile, table), places[0][1], tuple(start for start, _ in places)


def _overlapping(gpu: int, profiles: Mapping[str, tuple[int, int, tuple[int, ...]]], memory_mib: int) -> Iterator[Unit]:
    every = frozenset(range(MEMORY_SLICES))
    yield Unit(gpu=gpu, resource=GPU, size=1.0, memory_mib=memory_mib, device=f"gpu-{gpu}", slices=every)
    for profile, (memory, size, starts) in profiles.items():
        for start in starts:
            yield Unit(
                gpu=gpu,
                resource=f"{GPU_DRIVER} {profile}",
                size=size / MEMORY_SLICES,
                memory_mib=memory,
                device=partition_name(gpu, profile, start),
                slices=frozenset(range(start, start + size)),
            )


def _offering(node: JSON, devices: Mapping[str, int]) -> JSON:
    """Return a Node with these devices of its device plugin, in the place of its GPUs."""
    changed = deepcopy(node)
    for amounts in (changed["status"]["capacity"], changed["status"]["allocatable"]):
        del amounts[GPU]
        amounts |= {name: str(count) for name, count in devices.items() if count}
    return changed


def _has_mig(machine: Machine) -> bool:
    return machine.kind in SHAPES and SHAPES[machine.kind].model.mig_capable


def _table(machine: Machine) -> MigTable:
    model = SHAPES[machine.kind].model
    found = mig.table_for(model.product, model.pci_id)
    if found is None:
        raise ValueError(f"{machine.name}: MIG: got no profiles of {model.product}, want a model that has some")
    return found
