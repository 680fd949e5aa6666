"""The steps that narrow the nodes for a pod.

Each step keeps the nodes that fit in one respect and records the excluded nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..kube.amounts import requested
from ..words import counted, named
from .machines import Machine
from .picture import Picture


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One step that narrows the nodes for a pod: by resources, selection, taints, volumes or another respect."""

    picture: Picture
    every: tuple[Machine, ...]
    """All nodes of the cluster."""
    nodes: tuple[Machine, ...]
    """The nodes that fit in all respects before this step."""
    gone: Mapping[str, tuple[Machine, ...]]
    """The nodes that earlier steps excluded, by the text of the reason."""
    waived: frozenset[str] = frozenset()
    """The resources that are ignored, because no node offers enough of them and an earlier diagnosis says so."""

    @cached_property
    def wants(self) -> dict[str, int]:
        """The resources that the pod requests, in thousandths of a unit, without the ignored resources (``waived``)."""
        found = requested(self.picture.pod or {})
        return {name: each for name, each in found.items() if name not in self.waived}

    def waiving(self) -> "Step":
        """Return a copy of the step that also ignores the resources of which no node offers enough (``waived``)."""
        most = {name: max(each.offers.get(name, 0) for each in self.every) for name in self.wants}
        gone = {name for name, wanted in self.wants.items() if most[name] < wanted}
        return replace(self, waived=self.waived | gone)

    @property
    def by_reason(self) -> tuple[str, ...]:
        """One line about the nodes that earlier steps excluded; empty if they excluded none.

        For each reason, the line has the number of excluded nodes and the names of some.
        """
        if not self.gone:
            return ()
        texts = [
            f"{len(nodes):,} {words} ({named(sorted(each.name for each in nodes))})"
            for words, nodes in self.gone.items()
        ]
        return (f"out, of {counted(len(self.every), 'node')}: {'; '.join(texts)}",)
