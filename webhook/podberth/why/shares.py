"""Says that the units of a resource are shares of devices (time-slicing or MPS), and of how many devices."""

from collections.abc import Sequence
from typing import Final

from ..devices.mig import RESOURCE_PREFIX, SHARED_SUFFIX
from ..kube.amounts import shown
from ..kube.unchecked import number
from ..topology.capability import is_share, share_of
from ..words import counted
from .machines import Machine

ONE_EACH: Final = "ask for 1 {0} in each container: more shares would be no larger part of a GPU"
"""The remedy for a pod that asks for several shares; ``{0}`` stands for the resource."""
# https://cloud.google.com/kubernetes-engine/docs/how-to/timesharing-gpus: the number of shares of each GPU.
_GKE: Final = "cloud.google.com/gke-max-shared-clients-per-gpu"
_UNIT: Final = 1000  # of the amounts of a machine


def are_shares(machine: Machine, resource: str) -> bool:
    """Return whether the units of a resource are shares of devices on a node."""
    return is_share(machine.labels, resource)


def shared(nodes: Sequence[Machine], resource: str) -> tuple[str, ...]:
    """Return one line about the first of ``nodes`` on which the units of a resource are shares; empty if none is.

    The line has the number of devices if the node's labels have the number of shares for each device.
    """
    machine = next((each for each in nodes if are_shares(each, resource)), None)
    if machine is None:
        return ()
    units, labels = machine.capacity.get(resource, 0), machine.labels
    replicas = number(labels.get(f"{resource.removesuffix(SHARED_SUFFIX)}.replicas")) or number(labels.get(_GKE))
    device = "MIG instance" if resource.startswith(RESOURCE_PREFIX) else "GPU"
    of = f"of {counted(units // replicas // _UNIT, device)}" if replicas else f"of {device}s"
    return (f"{machine.name}: its {shown(resource, units)} are {share_of(labels)}s {of}, which other pods use too",)
