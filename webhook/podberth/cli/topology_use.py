"""Texts of ``podberth topology show`` about the devices that pods hold on nodes, and about free devices."""

from collections.abc import Iterable, Iterator

from ..topology.device_use import DeviceUse
from ..topology.holdings import Holdings, NodeUse, Tally
from ..words import counted

_KINDS = {"mig": "MIG instances", "shared": "shares"}


def source_of_use(holdings: Holdings | None, when: str) -> str:
    """Return a line on the pods from whose requests the use of devices was computed.

    ``when`` is the time of the snapshot as text (``snapshot_time``).

    If the snapshot has no pods, the line has the kubectl command that prints them.
    """
    if holdings is None:
        return (
            "used and free are unknown, because the snapshot has no Pods; "
            "kubectl get nodes,configmaps,pods --all-namespaces -o yaml prints them, too"
        )
    pods, spaces = counted(len(holdings.pods), "pod"), counted(holdings.namespaces, "namespace")
    claims = f"; {counted(holdings.claimants, 'pod')} with ResourceClaims"
    if not holdings.counts_claims:
        claims += ", whose devices are not counted without resourceslices,resourceclaims in the snapshot"
    alone = "; if other namespaces have pods, print them, too: --all-namespaces"
    return (
        f"used and free: by the requests of {pods} on nodes ({spaces}), {when}"
        f"{claims if holdings.claimants else ''}{alone if holdings.namespaces == 1 else ''}"
    )


def free_text(use: NodeUse) -> str:
    """Return a line about the free devices of a node, such as ``4 of 8 nvidia.com/gpu, 2 to 4 of them linked``.

    The last numbers are the bounds of ``NodeUse.linked``, the largest number of free GPUs that are all linked with each
    other.
    """
    return "; ".join(_free_of(each, use) for each in (*use.accelerators, *use.claimed))


def _free_of(device: DeviceUse, use: NodeUse) -> str:
    # The name of the resource says it of all others.
    kind = f" ({_KINDS[device.kind]})" if device.resource == "nvidia.com/gpu" and device.kind in _KINDS else ""
    text = f"{device.free} of {device.allocatable} {device.resource}{kind}"
    if use.linked is None or device.resource != use.linked.resource or not device.free:
        return text
    return f"{text}, {use.linked.text}"


def free_and_more(tally: Tally) -> str:
    """Return the number of free units of several nodes as text, such as "33 (+17)": 17 more are on unhealthy nodes."""
    return f"{tally.free:,} (+{tally.free_unhealthy:,})" if tally.free_unhealthy else f"{tally.free:,}"


def brackets(tallies: Iterable[Tally]) -> tuple[str, ...]:
    """Return a tuple with the line that explains the notation "33 (+17)" for free units; empty if not needed."""
    return ("(+n): free on unhealthy nodes",) if any(each.free_unhealthy for each in tallies) else ()


def beyond(use: NodeUse) -> Iterator[str]:
    """Yield a line for each resource of which a node has fewer allocatable devices than pods hold."""
    for each in use.devices:
        if each.held > each.allocatable:
            yield f"pods hold {each.held} {each.resource}, but {each.allocatable} are allocatable: devices were lost"
