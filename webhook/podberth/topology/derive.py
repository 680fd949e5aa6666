"""Derives the topology document of a node from the agent's readings of its devices.

The result depends on the reading alone. No function raises: a contradiction in the reading, such as a MIG instance on a
GPU that has just left MIG mode, is left out, and the document can always be decoded.
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from ..devices import mig
from .codec import LONGEST_TEXT, MOST_UNSEEN
from .links import links_of
from .node import Fabric, Gpu, MigInstance, MigOffer, NodeTopology, Platform, Unseen
from .observation import Health, Observation, ObservedFabric, ObservedGpu, ObservedPlatform, PciPlace

_NOWHERE = PciPlace(numa_node=None, path=())

# nvml.h, NVML_GPU_FABRIC_STATE_*
_UNDER_WAY: Mapping[int, str] = {1: "registration has not started", 2: "registration is in progress"}
_COMPLETED = 3

# nvml.h, nvmlDeviceGpuRecoveryAction_t
_ACTIONS: Mapping[int, str] = {
    1: "reset the GPU",
    2: "reboot the node",
    3: "drain its peers",
    4: "drain and reset the GPU",
    5: "recover the IMEX domain",
    6: "reset the PCIe bus",
    7: "reboot the system",
}

APPLICATION_XIDS: frozenset[int] = frozenset({13, 31, 43, 45, 68, 109})
"""XIDs that a program can cause on a healthy GPU: the device plugin ignores the same XIDs (internal/rm/health.go)."""


def derive(observation: Observation) -> NodeTopology:
    """Return the topology document of a node.

    The field ``observed``, the time of the last change, is left empty; the caller sets it.
    """
    gpus = sorted(observation.gpus, key=lambda gpu: gpu.index)
    fabric, unknown = _fabric([gpu.fabric for gpu in gpus if gpu.fabric is not None])
    return NodeTopology(
        gpus=tuple(_gpu(gpu, observation.places.get(gpu.address, _NOWHERE)) for gpu in gpus),
        links=links_of(observation),
        fabric=fabric,
        nics=tuple(sorted(observation.nics, key=lambda nic: nic.name)),
        platform=next((_platform(gpu.platform) for gpu in gpus if gpu.platform is not None), None),
        mig_offers=_offers(gpus),
        mig_instances=tuple(instance for gpu in gpus for instance in _instances(gpu)),
        unseen=_unseen([*observation.unseen, *unknown]),
    )


def _gpu(gpu: ObservedGpu, place: PciPlace) -> Gpu:
    enabled, pending = gpu.mig_mode or (False, False)
    return Gpu(
        index=gpu.index,
        vendor=gpu.vendor,
        uuid=_text(gpu.uuid),
        product=_text(gpu.product),
        pci_id=gpu.pci_id,
        memory_mib=gpu.memory_mib,
        numa_node=place.numa_node,
        pcie_root=place.root,
        mig_enabled=enabled,
        mig_pending=pending,
        problem=_problem(gpu.health, gpu.fabric),
    )


def _problem(health: Health, fabric: ObservedFabric | None) -> str:
    """Return the problems of a GPU as text, the worst first, cut to the document's limit; empty if the GPU is healthy.

    Counts of errors are left out, because counts change all the time.
    """
    xids = sorted(set(health.xids) - APPLICATION_XIDS)
    remap_waits, remap_failed = health.remap or (False, False)
    wrong = [
        *health.faults,
        f"recovery action: {_ACTIONS.get(health.recovery_action, 'unknown')}" if health.recovery_action else "",
        "unrepairable memory" if health.unrepairable_memory else "",
        "row remapping failed" if remap_failed else "",
        "row remapping waits for a reset" if remap_waits else "",
        "uncorrectable ECC errors" if health.uncorrectable_errors else "",
        f"XID {', '.join(map(str, xids))}" if xids else "",
        "unhealthy NVLink fabric" if fabric is not None and fabric.unhealthy else "",
    ]
    return _text("; ".join(each for each in wrong if each))


def _fabric(seen: list[ObservedFabric]) -> tuple[Fabric | None, list[Unseen]]:
    """Return (the NVLink domain of a machine, the reasons why the domain could not be read).

    The domain is None if the GPUs report no domain, or more than one.
    """
    if waiting := [_UNDER_WAY[each.state] for each in seen if each.state in _UNDER_WAY]:
        return None, [Unseen(what="NVLink fabric", why=waiting[0])]
    done = [each for each in seen if each.state == _COMPLETED]
    if failed := sorted({each.status for each in done if each.status}):
        return None, [Unseen(what="NVLink fabric", why=f"registration ended with NVML error {failed[0]}")]
    # If the switches reach no other machine, the UUID is zero (GFD: internal/lm/imex.go)
    places = {(each.cluster_uuid, each.clique) for each in done if any(each.cluster_uuid)}
    if len(places) > 1:
        return None, [Unseen(what="NVLink fabric", why=f"GPUs in {len(places)} cliques")]
    return next((Fabric(cluster_uuid=str(UUID(bytes=uuid)), clique=clique) for uuid, clique in places), None), []


def _platform(at: ObservedPlatform) -> Platform | None:
    if not any(at.chassis):
        return None
    text = at.chassis.rstrip(b"\0").decode("ascii", "replace")
    return Platform(
        chassis=text if text.isprintable() and "\ufffd" not in text else at.chassis.hex(),
        slot=at.slot,
        tray=at.tray,
        host=at.host,
    )


def _offers(gpus: Iterable[ObservedGpu]) -> tuple[MigOffer, ...]:
    """Return the MIG profiles that the driver offers, once for each GPU model."""
    found: dict[tuple[str, str], MigOffer] = {}
    for gpu in gpus:
        for each in gpu.profiles:
            profile = _profile(each.name)
            if profile:
                found[gpu.pci_id, profile] = MigOffer(
                    profile=profile, pci_id=gpu.pci_id, max_instances=each.instances, memory_mib=each.memory_mib
                )
    return tuple(found[key] for key in sorted(found))


def _instances(gpu: ObservedGpu) -> list[MigInstance]:
    """Return the GPU instances of a GPU in MIG mode, without compute instances."""
    if not (gpu.mig_mode or (False, False))[0]:
        return []
    found: dict[int, MigInstance] = {}
    for each in gpu.instances:
        start, size = each.placement or (None, None)
        if profile := _profile(each.name):
            found[each.id] = MigInstance(gpu=gpu.index, profile=profile, start=start, size=size)
    # The driver's ids depend on the order of creation; equal layouts must give equal documents.
    return sorted(found.values(), key=lambda one: (one.start is None, one.start or 0, mig.parse(one.profile)))


def _profile(name: str) -> str:
    """Return the GPU instance profile in a MIG device's name; empty if the name has no profile.

    Examples of names: ``MIG 1g.10gb``, ``NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb``.
    """
    try:
        profile = mig.parse(name.rpartition("MIG ")[2])
    except ValueError:
        return ""
    return mig.Profile(profile.slices, profile.memory_gb, profile.attributes, profile.without).name


def _unseen(all_of: Iterable[Unseen]) -> tuple[Unseen, ...]:
    """Return the values that the agent could not read, sorted, at most ``MOST_UNSEEN``.

    Entries with an equal value and reason become one entry with the GPUs of all.
    """
    gpus: dict[tuple[str, str], set[int]] = {}
    for each in all_of:
        gpus.setdefault((_text(each.what), _text(each.why)), set()).update(each.gpus)
    rows = [Unseen(what=what, why=why, gpus=tuple(sorted(whose))) for (what, why), whose in sorted(gpus.items())]
    return tuple(rows[:MOST_UNSEEN])


def _text(text: str) -> str:
    """Return a text from the driver, made printable and cut to the length that the document allows."""
    return "".join(c if c.isprintable() else "?" for c in text)[:LONGEST_TEXT]
