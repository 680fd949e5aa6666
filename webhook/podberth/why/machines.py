"""The nodes of a picture, each with what it offers, what its pods hold, and what is free."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..kube.pod import labels
from ..kube.unchecked import list_at, mapping_at, text_at
from .amounts import amounts, requested
from .picture import Document, NotRead, Picture


@dataclass(frozen=True, kw_only=True, eq=False)
class Machine:
    """One node."""

    document: Document
    held_by: tuple[Document, ...] = field(repr=False)
    """The pods on the node that have not ended."""

    @cached_property
    def name(self) -> str:
        """The node's name."""
        return text_at(self.document, "metadata", "name")

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return labels(self.document)

    @cached_property
    def offers(self) -> Mapping[str, int]:
        """The node's allocatable resources."""
        return amounts(mapping_at(self.document, "status", "allocatable"))

    @cached_property
    def free(self) -> Mapping[str, int]:
        """What no pod on the node has reserved."""
        left = dict(self.offers)
        for pod in self.held_by:
            for resource, each in requested(pod).items():
                left[resource] = left.get(resource, 0) - each
        return left

    def holders(self, resource: str) -> Iterator[tuple[Document, int]]:
        """Yield the pods on the node that hold some of a resource, each with its amount."""
        for pod in self.held_by:
            if has := requested(pod).get(resource, 0):
                yield pod, has

    @cached_property
    def taints(self) -> list[Mapping[str, str]]:
        """The node's taints that keep pods off."""
        found = list_at(self.document, "spec", "taints")
        return [each for each in found if text_at(each, "effect") in {"NoSchedule", "NoExecute"}]

    @property
    def is_cordoned(self) -> bool:
        """Whether ``kubectl cordon`` has closed the node."""
        return mapping_at(self.document, "spec").get("unschedulable") is True


def machines(picture: Picture) -> tuple[Machine, ...]:
    """Return the nodes of a picture; empty if they were not read."""
    if isinstance(picture.nodes, NotRead):
        return ()
    placed: dict[str, list[Document]] = {}
    for pod in () if isinstance(picture.pods, NotRead) else picture.pods:
        placed.setdefault(text_at(pod, "spec", "nodeName"), []).append(pod)
    return tuple(
        Machine(document=node, held_by=tuple(placed.get(text_at(node, "metadata", "name"), ())))
        for node in picture.nodes
    )
