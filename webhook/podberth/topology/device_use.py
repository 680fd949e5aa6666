"""The use of one accelerator resource of a node: which pods hold how many units, and how many are free."""

from dataclasses import dataclass
from typing import NamedTuple

from ..devices.resources import AcceleratorKind


class HoldingPod(NamedTuple):
    """A pod that holds units of a resource, and the number of units that the pod holds."""

    namespace: str
    pod: str
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """The use of one accelerator resource of a node. The sum of ``used`` and ``free`` is ``allocatable``."""

    resource: str
    kind: AcceleratorKind
    """The meaning of one unit on the node: ``nvidia.com/gpu`` is ``mig`` or ``shared`` if the node is set up so."""
    allocatable: int
    holders: tuple[HoldingPod, ...]
    """The pods that hold some of the resource; the pods with most units come first."""

    @property
    def held(self) -> int:
        """The number of units that pods hold.

        The number is above ``allocatable`` if devices became unhealthy while pods held them.
        """
        return sum(each.units for each in self.holders)

    @property
    def used(self) -> int:
        """The allocatable units that pods hold."""
        return min(self.held, self.allocatable)

    @property
    def free(self) -> int:
        """The allocatable units that no pod holds."""
        return self.allocatable - self.used
