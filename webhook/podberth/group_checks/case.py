"""The input of a check: one object, its predicted pods, and the cluster's facts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from ..facts.cluster import ClusterFacts
from ..kinds.members import Member, Membership
from ..kinds.places import Steps
from ..kube.patch import Path
from ..kube.positions import render_path
from ..kube.unchecked import mapping_at, text_at
from ..topology.index import Need, TopologyIndex
from ..workload.gangs import Gang, groups_in, own_member_in
from ..workload.gpus import GpuFacts
from ..workload.templates import Template
from .moments import stages

Found: TypeAlias = Mapping[str, Any]
Groups: TypeAlias = tuple[tuple[Membership, Member], ...]
"""Groups that a pod names, each with the membership that read it."""

MOST_ROLES: Final = 32
"""The most templates of one object that are compared with each other, and that are checked when the object is applied:
three times the largest known example, and as many as a review has time for (``bench.hostile``)."""
_MOST_LOOKED_FOR: Final = MOST_ROLES
"""The most names of groups that one review looks for in all namespaces: with 5,000 namespaces each takes 1 ms."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One problem."""

    path: Steps
    """The path in the document; for an absent field, where it should be."""
    where: str
    """The place as text for users: a role and the field of its pods, or the path in the document."""
    message: str

    def __str__(self) -> str:
        """Return the problem as one line: place and message."""
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCluster:
    """The known facts of the cluster. Each review makes one, because it remembers the results of look-ups."""

    topology: TopologyIndex
    facts: ClusterFacts
    _looked_for: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = field(default_factory=dict)

    def has_group(self, api_groups: tuple[str, ...], namespace: str, name: str) -> bool:
        """Tell whether a PodGroup with this name is known in the namespace, in one of the API groups."""
        return any((group, namespace, name) in self.facts.pod_groups for group in api_groups)

    def namespaces_with(self, api_groups: tuple[str, ...], name: str) -> tuple[str, ...]:
        """Return the namespaces that have a PodGroup with this name; empty for names beyond ``_MOST_LOOKED_FOR``.

        The search goes by namespaces and not by groups, because a cluster may have a hundred thousand groups. Files may
        have groups and no Namespace.
        """
        key = api_groups, name
        if key not in self._looked_for and len(self._looked_for) < _MOST_LOOKED_FOR:
            facts = self.facts
            spaces = {*facts.namespaces, *facts.native_groups} or {space for _, space, _ in facts.pod_groups}
            found = {space for group in api_groups for space in spaces if (group, space, name) in facts.pod_groups}
            self._looked_for[key] = tuple(sorted(found))
        return self._looked_for.get(key, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """The pods of one template."""

    template: Template
    pod: dict[str, Any]
    """The pod after admission."""
    gang: Gang
    gpu: GpuFacts
    need: Need

    @property
    def replicas(self) -> int:
        """The number of pods that one object makes; 0 if it is unknown."""
        return self.template.replicas

    @property
    def role(self) -> str:
        """The workload's name for these pods; empty if it has none."""
        return self.template.role

    @property
    def scheduler(self) -> str:
        """The scheduler of the pods."""
        return text_at(self.pod, "spec", "schedulerName") or "default-scheduler"

    @property
    def annotations(self) -> Found:
        """The pods' annotations, without those of policies."""
        return mapping_at(self.template.pod, "metadata", "annotations")

    @property
    def labels(self) -> Found:
        """The pods' labels, without those of policies."""
        return mapping_at(self.template.pod, "metadata", "labels")

    def wrong(self, steps: Path, message: str) -> Wrong:
        """Return a problem of a field of the pod, at its place in the document."""
        where = render_path(steps)
        return Wrong(self.place(steps), f"{self.role}: {where}" if self.role else where, message)

    def place(self, steps: Path) -> Steps:
        """Return the place of a field of the pod in the document."""
        for target, source in sorted(self.template.form.seats, key=lambda seat: -len(seat[0])):
            if steps[: len(target)] == target:
                return (*self.template.path, *source, *steps[len(target) :])
        return self.template.path


@dataclass(frozen=True, kw_only=True)
class GroupCase:
    """One object of a document: the document itself, or an object inside an AppWrapper."""

    document: Found
    base: Steps
    """The path from the document to the object."""
    namespace: str
    above: tuple[Found, ...]
    """The objects that wrap it, the outermost first."""
    pods: tuple[Pods, ...]
    known: KnownCluster

    @property
    def kind(self) -> tuple[str, str]:
        """API group and kind; a bare Pod is ("", "Pod")."""
        return text_at(self.document, "apiVersion").rpartition("/")[0], text_at(self.document, "kind")

    @property
    def is_bare(self) -> bool:
        """Whether it is a single Pod."""
        return self.kind == ("", "Pod")

    @property
    def annotations(self) -> Found:
        """The object's own annotations."""
        return mapping_at(self.document, "metadata", "annotations")

    @cached_property
    def groups(self) -> Mapping[Steps, Groups]:
        """The groups that the pods of each template name, by the template's place; also names from an operator."""
        return {each.template.path: self._groups_of(each.template.pod) for each in self.pods}

    @cached_property
    def own_groups(self) -> Mapping[Steps, Groups]:
        """The groups that each template itself names, by its place; the names that its operator writes are left out."""
        found = {each.template.path: each.template.own for each in self.pods}
        read = {path: own if isinstance(own.get("spec"), dict) else {**own, "spec": {}} for path, own in found.items()}
        return {path: self._groups_of(own) for path, own in read.items()}

    @cached_property
    def stages(self) -> Mapping[Steps, int]:
        """The number of jobs that have to end, one after another, before a template's pods start, by its place."""
        return stages(self.document, self.base, [each.template.path for each in self.pods])

    def _groups_of(self, pod: Found) -> Groups:
        return tuple(groups_in(pod, self.namespace, self.known.facts.group_sizes))

    def wrong(self, steps: Steps, message: str) -> Wrong:
        """Return a problem of a field of the object."""
        path = (*self.base, *steps)
        return Wrong(path, render_path(path), message)

    def gangs(self) -> Iterator[tuple[Pods, ...]]:
        """Yield the pods of each gang of the object; a gang with pods of unknown number is left out."""
        found: dict[str, list[Pods]] = {}
        for each in self.pods:
            if each.gang.known:
                found.setdefault(each.gang.name, []).append(each)
        yield from map(tuple, found.values())

    def own_member(self, pods: Pods) -> Member | None:
        """Return the membership of pods according to their operator, without podberth's own keys."""
        return own_member_in(pods.pod, self.namespace, pods.template.owners, self.known.facts.group_sizes)


def whole(pods: Iterable[Pods]) -> int:
    """Return the total number of pods of some templates; 0 if the number of one template is unknown."""
    counts = [each.replicas for each in pods]
    return sum(counts) if all(counts) else 0
