"""Finds whether a group has to be in one domain of a level, such as a rack, and no domain has room for the group.

A level is a node label; the nodes with one value of the label are a domain. Volcano's levels are HyperNodes, which are
not read. Rooms are counted in pods with the requests of the waiting pod, because the pods of a group are mostly equal.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..kube.amounts import requested
from ..kube.pod import labels
from ..kube.unchecked import at, list_at, mapping_at, text_at
from ..wellknown import GANG_LEVEL_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL
from ..words import MOST_NAMED, counted
from .diagnosis import Diagnosis
from .machines import Machine, machines
from .picture import Document, Picture
from .pod_groups import Group, groups_of
from .steps import Step


@dataclass(frozen=True, kw_only=True)
class Rooms:
    """The rooms of the domains of a level, one of which has to hold pods of a group."""

    group: Group
    pods: int
    """The number of pods for which one domain must have room."""
    at: str
    """The domain in which pods of the group are already; empty: there is none."""
    of_domains: Mapping[str, int]
    """The number of such pods for which each domain has room."""

    def hold(self, machine: Machine) -> bool:
        """Return whether the domain of a node has room for the group."""
        return self.of_domains.get(machine.labels.get(self.group.level, ""), 0) >= self.pods

    @property
    def largest(self) -> int:
        """The largest number of pods for which a domain has room."""
        return max(self.of_domains.values(), default=0)

    @property
    def lines(self) -> Iterator[str]:
        """A line for each of the domains with the most room, and a line with their number if there are more."""
        ordered = sorted(self.of_domains, key=lambda name: (-self.of_domains[name], name))
        for name in ordered[:MOST_NAMED]:
            yield f"{self.group.level}={name}: room for {counted(self.of_domains[name], 'such pod')}"
        if len(ordered) > MOST_NAMED:
            yield f"{counted(len(ordered), 'domain')} in all"


def empty_rooms(step: Step) -> Rooms | None:
    """Return the rooms of the domains of the level that a group of the pod requires; None without such a group.

    The nodes of the step count as empty, and a domain has to hold all pods that start together.
    """
    for group in groups_of(step.picture):
        if group.level and group.least:
            of_domains = _by_domain(step.nodes, group.level, step.wants, free=False)
            return Rooms(group=group, pods=group.least, at="", of_domains=of_domains)
    return None


def free_rooms(step: Step) -> Rooms | None:
    """Return the rooms that are free in the domains of the level that a group of the pod requires.

    A domain has to hold the pods that have no node yet, and if others have one, it has to be their domain. None without
    such a group, and if no domain would hold the group even if it were empty.
    """
    empty = empty_rooms(step)
    if empty is None or empty.largest < empty.pods:
        return None
    group = empty.group
    of_nodes = {each.name: each.labels.get(group.level, "") for each in step.every}
    taken = {of_nodes.get(text_at(each, "spec", "nodeName"), "") for each in group.placed}
    where = next(iter(taken)) if len(taken) == 1 else ""
    nodes = [each for each in step.nodes if where in ("", each.labels.get(group.level))]
    return Rooms(
        group=group,
        pods=max(1, group.least - len(group.placed)),
        at=where,
        of_domains=_by_domain(nodes, group.level, step.wants, free=True),
    )


def _by_domain(nodes: Iterable[Machine], level: str, wants: Mapping[str, int], *, free: bool) -> Counter[str]:
    """Return the number of pods that want ``wants`` for which each domain of the level has room, by its label value."""
    found: Counter[str] = Counter()
    for each in nodes:
        if value := each.labels.get(level):
            found[value] += each.holds(wants, each.free if free else each.offers)
    return found


def too_large(step: Step, found: Rooms) -> Diagnosis:
    """Return the diagnosis that no domain would have room for a group even if the domain were empty."""
    group, level = found.group, found.group.level
    has = f"the largest holds {found.largest}" if found.of_domains else "no node that fits has this label"
    more = "add nodes to one domain" if found.of_domains else f"label nodes: kubectl label node NODE {level}=DOMAIN"
    return Diagnosis(
        cause="level",
        title=f"PodGroup {group.name} starts {counted(found.pods, 'pod')} in one {level}, and {has}",
        evidence=(*found.lines, *step.by_reason),
        do=(f"ask for a wider level, or for fewer pods, {_asked(step.picture, group)}", f"or {more}"),
    )


def full(step: Step, found: Rooms) -> Diagnosis:
    """Return the diagnosis that no domain has room for a group now."""
    group, level = found.group, found.group.level
    one = f"{level}={found.at}, where its others are," if found.at else f"one {level}"
    return Diagnosis(
        cause="level room",
        title=f"at most {found.largest} of {counted(found.pods, 'pod')} of PodGroup {group.name} fit into {one} now",
        evidence=(*found.lines, *step.by_reason),
        do=(
            "wait until enough is free in one domain, or ask the owners of what holds it",
            f"or ask for a wider level, or for fewer pods, {_asked(step.picture, group)}",
        ),
    )


def _asked(picture: Picture, group: Group) -> str:
    """Return where the user asks for a group's level, as the end of a sentence."""
    if labels(group.document or {}).get(MANAGED_BY_LABEL) == MANAGED_BY:
        return f"by the params of the policy that wrote {GANG_LEVEL_ANNOTATION}: docs/policies/gang-topology.md"
    return f"where the group is made: kubectl get {group.kind.kinds[0]} {group.name} -n {picture.namespace} -o yaml"


def of_pod_sets(picture: Picture, workload: Document) -> Iterator[str]:
    """Yield a line for each pod set of a Kueue Workload whose required level has no domain that would hold the pod set.

    All nodes of the cluster count, and count as empty.
    """
    for each in list_at(workload, "spec", "podSets"):
        level, count = text_at(each, "topologyRequest", "required"), at(each, "count")
        if not level or type(count) is not int:
            continue
        wants = requested({"spec": mapping_at(each, "template", "spec")})
        rooms_of = _by_domain(machines(picture), level, wants, free=False)
        largest = max(rooms_of.values(), default=0)
        if rooms_of and largest < count:
            starts = f"pod set {text_at(each, 'name')} starts {counted(count, 'pod')} in one {level}"
            yield f"{starts}, and the largest holds {largest}"
