"""The PodGroups that a waiting pod names, each with its pods and the facts that decide whether they start."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..kinds.systems import POD_GROUPS, PodGroupKind
from ..kube.unchecked import mapping_at, text_at
from ..topology.pod_groups import POD_GROUP_KINDS, min_member
from .picture import Document, Picture, Ref, pods_in


@dataclass(frozen=True, kw_only=True)
class Group:
    """A PodGroup that a pod names."""

    kind: PodGroupKind
    name: str
    refs: tuple[Ref, ...]
    """The references to the PodGroup, one for each API group that it may be in."""
    document: Document | None
    """The PodGroup; None: it does not exist, or was not read."""
    members: tuple[Document, ...]
    """The pods of the PodGroup that were read and have not ended."""

    @property
    def least(self) -> int:
        """The number of pods that start together; 0: the PodGroup states none, or was not read."""
        return 0 if self.document is None else min_member(self.kind.api_groups[0], self.document)

    @property
    def level(self) -> str:
        """The key of the node label that all pods of the group must have one value of; empty: there is none."""
        return self.kind.required_level(mapping_at(self.document, "spec"))

    @property
    def placed(self) -> tuple[Document, ...]:
        """The members that have a node."""
        return tuple(each for each in self.members if text_at(each, "spec", "nodeName"))


def groups_of(picture: Picture) -> Iterator[Group]:
    """Yield the PodGroups that the pod of a picture names, one for each group system that has a name."""
    pods = picture.pods(pods_in(picture.namespace)) or ()
    for kind in POD_GROUP_KINDS:
        name = kind.read(picture.pod or {})
        if isinstance(name, str) and name:
            refs = tuple(Ref(each, kind.versions, POD_GROUPS, picture.namespace, name) for each in kind.api_groups)
            yield Group(
                kind=kind,
                name=name,
                refs=refs,
                document=next((found for ref in refs if (found := picture.one(ref))), None),
                members=tuple(each for each in pods if kind.read(each) == name),
            )
