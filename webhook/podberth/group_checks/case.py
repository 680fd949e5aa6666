"""The input of a check of gangs: one object, the object's predicted pods, and the cluster's facts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from ..facts.cluster import ClusterFacts
from ..kinds.dossiers import DOSSIERS
from ..kinds.forms import find
from ..kinds.group_rules import GroupRules
from ..kinds.job_sets import JOB_LISTS, jobs_ended_before
from ..kinds.members import Member, Membership
from ..kinds.places import Found
from ..kube.paths import Path
from ..kube.positions import render_path
from ..kube.unchecked import mapping_at, text_at
from ..topology.index import Need, TopologyIndex
from ..workload.gangs import Gang, groups_in
from ..workload.gpus import GpuFacts
from ..workload.stages import OF_ROLES
from ..workload.templates import Template

Groups: TypeAlias = tuple[tuple[Membership, Member], ...]
"""The groups that a pod names: for each, the rule that found the name in the pod, and the pod's membership."""

MOST_ROLES: Final = 12
"""The most pod templates of one object that checks compare with each other, and that are checked in a review.

The largest known example has as many templates, and a review has time for as many (``bench.hostile``).
"""
_OF_ROLES: Final = OF_ROLES | {""}
"""The sources of a gang (``Gang.source``) whose roles may wait for each other; "" stands for pods without a gang."""
_RULES: Final = {each.kind: each for row in DOSSIERS for each in row.group_rules}
_MOST_LOOKED_FOR: Final = MOST_ROLES
"""The most group names for which one review searches all namespaces; a search through 5,000 namespaces takes 1 ms."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One problem that a check has found."""

    path: Path
    """The path of the field in the document; for an absent field, the path that the field would have."""
    where: str
    """The field as text for users: a role and a field of the role's pods, or the path in the document."""
    message: str

    def __str__(self) -> str:
        """Return the problem as one line: the field and the message."""
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCluster:
    """The facts of the cluster that checks of gangs read.

    Each review makes an instance of its own, because the instance caches results of look-ups.
    """

    topology: TopologyIndex
    facts: ClusterFacts
    _looked_for: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = field(default_factory=dict)

    def has_group(self, api_groups: tuple[str, ...], namespace: str, name: str) -> bool:
        """Return whether the namespace has a known PodGroup of this name in one of the API groups."""
        return any((group, namespace, name) in self.facts.pod_groups for group in api_groups)

    def namespaces_with(self, api_groups: tuple[str, ...], name: str) -> tuple[str, ...]:
        """Return, sorted, the namespaces that have a PodGroup of this name in one of the API groups.

        The search looks into each namespace and not at each PodGroup, because a cluster may have 100,000 PodGroups. One
        ``KnownCluster`` searches for at most ``_MOST_LOOKED_FOR`` different names; the result for any further name is
        empty. If no namespace is known, as from files without Namespace objects, the namespaces of the known PodGroups
        are searched.
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
    """The pods that are made from one template of an object, and the facts about one of the pods."""

    template: Template
    pod: dict[str, Any]
    """The pod after admission."""
    gang: Gang
    gpu: GpuFacts
    need: Need

    @property
    def replicas(self) -> int:
        """The number of pods that one object makes from the template; 0 if the number is unknown."""
        return self.template.replicas

    @property
    def role(self) -> str:
        """The role of the pods, as the workload's operator names the role, such as ``worker``; empty without a name."""
        return self.template.role

    @property
    def scheduler(self) -> str:
        """The name of the scheduler of the pods."""
        return text_at(self.pod, "spec", "schedulerName") or "default-scheduler"

    @property
    def annotations(self) -> Found:
        """The annotations of the pods' template, without annotations that policies write."""
        return mapping_at(self.template.pod, "metadata", "annotations")

    @property
    def labels(self) -> Found:
        """The labels of the pods' template, without labels that policies write."""
        return mapping_at(self.template.pod, "metadata", "labels")

    def wrong(self, steps: Path, message: str) -> Wrong:
        """Return a problem about a field of the pods.

        ``steps`` is the path of the field in a pod; the problem has the field's path in the document.
        """
        where = render_path(steps)
        return Wrong(self.place(steps), f"{self.role}: {where}" if self.role else where, message)

    def place(self, steps: Path) -> Path:
        """Return the path in the document of the field with the path ``steps`` in the pod.

        If no field of the document becomes that field of the pod, the result is the template's path.
        """
        for target, source in sorted(self.template.form.seats, key=lambda seat: -len(seat[0])):
            if steps[: len(target)] == target:
                return (*self.template.path, *source, *steps[len(target) :])
        return self.template.path


@dataclass(frozen=True, kw_only=True)
class GroupCase:
    """One object that is checked: the whole document, or an object that an AppWrapper in the document wraps."""

    document: Found
    base: Path
    """The path from the document to the object."""
    namespace: str
    above: tuple[Found, ...]
    """The objects that wrap the checked object, such as an AppWrapper, the outermost first."""
    pods: tuple[Pods, ...]
    known: KnownCluster

    @property
    def kind(self) -> tuple[str, str]:
        """The API group and the kind of the object; ("", "Pod") for a Pod without an owner."""
        return text_at(self.document, "apiVersion").rpartition("/")[0], text_at(self.document, "kind")

    @cached_property
    def rules(self) -> GroupRules:
        """The rules for the gangs of the object's kind; rules without content if no dossier has rules for the kind."""
        return _RULES.get(self.kind) or GroupRules(kind=self.kind)

    @property
    def is_bare(self) -> bool:
        """Whether the object is a bare Pod."""
        return self.kind == ("", "Pod")

    @property
    def annotations(self) -> Found:
        """The annotations of the object itself."""
        return mapping_at(self.document, "metadata", "annotations")

    @cached_property
    def groups(self) -> Mapping[Path, Groups]:
        """A mapping from template path to the groups that the template's pods name.

        Groups that an operator adds are included.
        """
        return {each.template.path: self._groups_of(each.template.pod) for each in self.pods}

    @cached_property
    def own_groups(self) -> Mapping[Path, Groups]:
        """A mapping from template path to the groups that the template itself names.

        Groups that an operator adds are left out.
        """
        found = {each.template.path: each.template.own for each in self.pods}
        read = {path: own if isinstance(own.get("spec"), dict) else {**own, "spec": {}} for path, own in found.items()}
        return {path: self._groups_of(own) for path, own in read.items()}

    @cached_property
    def stages(self) -> Mapping[Path, int]:
        """A mapping from template path to the number of jobs that end one after another before the pods start."""
        found = {each.template.path: 0 for each in self.pods}
        for jobs in JOB_LISTS:
            by_place = jobs_ended_before(find(self.document, jobs))
            for path in found if by_place else ():
                inner = path[len(self.base) :]
                place = inner[len(jobs)] if inner[: len(jobs)] == jobs else None
                if isinstance(place, int):
                    found[path] = by_place[place]
        return found

    def _groups_of(self, pod: Found) -> Groups:
        return tuple(groups_in(pod, self.namespace, self.known.facts.group_size))

    def wrong(self, steps: Path, message: str) -> Wrong:
        """Return a problem about a field of the object.

        ``steps`` is the path of the field in the object; the problem has the field's path in the document.
        """
        path = (*self.base, *steps)
        return Wrong(path, render_path(path), message)

    def gangs(self) -> Iterator[tuple[Pods, ...]]:
        """Yield, for each gang of the object, its pods grouped by template; pods in no gang are left out."""
        found: dict[str, list[Pods]] = {}
        for each in self.pods:
            if each.gang.known:
                found.setdefault(each.gang.name, []).append(each)
        yield from map(tuple, found.values())

    def moments(self) -> Iterator[tuple[Pods, ...]]:
        """Yield, for each gang, its pods that run at the same time: one tuple for each stage, in the order of start.

        If the pods name a group by a label or a field, all pods of the gang are in one tuple, because the scheduler
        counts all pods of the group.
        """
        for gang in self.gangs():
            found: dict[int, list[Pods]] = {}
            for each in gang:
                number = self.stages[each.template.path] if each.gang.source in _OF_ROLES else 0
                found.setdefault(number, []).append(each)
            yield from (tuple(found[number]) for number in sorted(found))


def whole(pods: Iterable[Pods]) -> int:
    """Return the total number of pods of the given templates; 0 if the number of one template's pods is unknown."""
    counts = [each.replicas for each in pods]
    return sum(counts) if all(counts) else 0
