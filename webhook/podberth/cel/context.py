"""The state of the current review that policies' functions read, beside their arguments."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from ..topology.index import Need, NodeSet, TopologyIndex
from ..topology.together import Roles

_NVIDIA_GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class ReviewContext:
    """The current review for functions: the cluster, and the pod's need of a node."""

    index: TopologyIndex
    need: Need
    class_resources: frozenset[str] = frozenset()
    """Extended resources that DeviceClasses serve: no node lists them, and yet they are available."""
    members: int = 0
    """The number of the gang's pods that ask for accelerators; 0: unknown."""
    roles: Roles = ()
    """The needs of the gang's roles, if they differ; else empty."""
    _sets: list[NodeSet] = field(default_factory=list, init=False, repr=False, compare=False)

    def handle(self, nodes: NodeSet) -> int:
        """Return the number of a node set within this review. Equal questions get equal numbers."""
        # The index remembers its answers, so identity is equality; a review has a handful of questions.
        for number, known in enumerate(self._sets):
            if known is nodes:
                return number
        self._sets.append(nodes)
        return len(self._sets) - 1

    def nodes(self, handle: int) -> NodeSet:
        """Return the node set with a number."""
        return self._sets[handle]

    @cached_property
    def mig_nodes(self) -> NodeSet:
        """The nodes that the pod selects and can reach, whatever its requests."""
        return self.index.nodes(replace(self.need, requests=(), per_container=0, memory_mib=0))

    @cached_property
    def gpu_nodes(self) -> NodeSet:
        """The nodes on which a pod with its selection that asks for one whole GPU could run."""
        return self.index.nodes(replace(self.need, requests=((_NVIDIA_GPU, 1),), per_container=1, memory_mib=0))

    def levels_of_gang(self) -> tuple[str, str]:
        """Return the narrowest level with a domain that holds the gang, and the narrowest whose every domain does.

        Empty if there is no such level.
        """
        if self.roles:
            return self.index.levels(self.roles) if self.need.requests else ("", "")
        nodes = self.index.nodes(self.need)
        return nodes.narrowest_level(self.members), nodes.narrowest_safe_level(self.members)
