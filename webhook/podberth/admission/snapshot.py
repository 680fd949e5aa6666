"""All that a decision may know besides the review: policies, topology and the cluster's objects, at one moment.

A snapshot is immutable; whoever learns something new makes another and swaps the reference. Caches in here hold only
what follows from the snapshot itself.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from ..cel.engine import Batch, Environment, Expression, ReviewContext
from ..conventions import Conventions
from ..devices.claims import DeviceRequest, KnownDevices, read_declared
from ..errors import PolicyError, Problem
from ..mutation.seal import OFFLINE, Sealer
from ..policy.clashes import clashes
from ..policy.compile import CompiledPolicy, compile_policies
from ..policy.every_pod import needs_every_pod
from ..policy.match import Route, applies_statically
from ..policy.parse import ParsedPolicies, ParsedPolicy
from ..topology.index import TopologyIndex
from ..topology.need import Need
from ..topology.objects import SYSTEM_CLASS, ClusterObjects
from ..topology.pod_groups import GroupKey
from ..topology.queues import Queues
from ..workload.systems import JOINED
from .forecast import forecasts
from .recall import Footprint, Recall, footprint
from .review import AdmissionRequest

Phase: TypeAlias = Literal["mutate", "validate"]

_NEW_POD: Final[Route] = ("CREATE", "", "v1", "pods", "")
_JOINED_GROUPS = frozenset(row.pod_groups for row in JOINED.values())
# What a shared evaluation of all policies' conditions cannot have, because it differs from policy to policy.
_OWN_BINDINGS = frozenset({"params"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The policies that can match reviews of one resource and operation, in order.

    ``batch`` asks the conditions of all policies at once; ``slices`` says which answers are whose. A policy whose
    conditions read its own params is not part of it (slice None) and is asked alone.
    """

    policies: tuple[CompiledPolicy, ...]
    batch: Batch | None
    batch_reads: Footprint | None
    slices: tuple[slice | None, ...]
    footprints: Mapping[str, Footprint | None]
    """What each policy's mutations (or validations) read, by its name."""
    condition_footprints: Mapping[str, Footprint | None]
    """What each policy's conditions read, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One moment of policies and cluster."""

    policies: tuple[CompiledPolicy, ...]
    """Sorted by (order, name)."""
    environment: Environment
    topology: TopologyIndex
    namespaces: Mapping[str, Mapping[str, Any]]
    """Namespace objects by name."""
    config_maps: Mapping[tuple[str, str], Mapping[str, Any]]
    """ConfigMaps that may be params, by (namespace, name)."""
    pod_groups: Mapping[str, frozenset[str]]
    """Names of the native PodGroups by namespace."""
    group_sizes: Mapping[GroupKey, int]
    """The least pods that each PodGroup of any system lets start together; 0 of a group that does not say."""
    served_groups: frozenset[str]
    """API groups whose PodGroups the cluster serves, as far as known."""
    queues: Queues
    """Read by ``validation`` alone: no policy sees them."""
    owners: Mapping[str, Mapping[str, Any]]
    """Owners of gangs by uid."""
    conventions: Conventions
    class_resources: frozenset[str]
    """Extended resources that DeviceClasses serve."""
    devices: KnownDevices
    """What claims ask for, and DeviceClasses hand out."""
    default_priority_class: str
    """The cluster's global default PriorityClass; empty where none is known."""
    priority_classes: frozenset[str]
    """Names of those of its PriorityClasses that are known."""
    notes: tuple[Problem, ...]
    """What is worth saying of the policies; none keeps them from being used."""
    sealer: Sealer = OFFLINE
    """Seals the records that are written on pods, and tells which of them to believe."""
    plans: dict[tuple[Phase, Route], Plan] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Plans made so far; at most one for each phase, operation and resource that reviews name."""
    recall: Recall = field(default_factory=Recall, init=False, repr=False, compare=False)
    """Answers given so far."""

    @property
    def known_priority_classes(self) -> frozenset[str] | None:
        """The PriorityClasses that the cluster has; None: it has others, too."""
        return self.priority_classes if SYSTEM_CLASS in self.priority_classes else None

    def with_owners(self, owners: Mapping[str, Mapping[str, Any]]) -> "Snapshot":
        """Return the snapshot with more owners of gangs by uid; plans and answers, which go by the gang, are shared."""
        # Of a cluster there may be tens of thousands, which are not copied for the few of one workload.
        return self._sharing(replace(self, owners=ChainMap(dict(owners), *_layers(self.owners))))

    def with_workloads(self, known: ClusterObjects) -> "Snapshot":
        """Return the snapshot with these owners, groups, claims and classes in the place of its own.

        Plans are shared. So are answers, which go by the facts of a pod: what its claims ask for and how many its gang
        has are among them. Which resources and groups are served, and which native groups and PriorityClasses there
        are, is seen beside them.
        """
        pod_groups = _by_namespace(known.pod_groups)
        changed = replace(
            self,
            pod_groups=pod_groups,
            group_sizes=known.group_sizes,
            served_groups=known.served_groups,
            queues=Queues.of(known.queues, known.cut_queues, listed=known.listed),
            owners=known.owners,
            class_resources=known.class_resources,
            devices=replace(known.devices, declared=self.devices.declared),
            default_priority_class=known.default_priority_class,
            priority_classes=known.priority_classes,
        )
        if _seen_beside(changed) == _seen_beside(self):
            return self._sharing(changed)
        object.__setattr__(changed, "plans", self.plans)
        return changed

    def _sharing(self, known: "Snapshot") -> "Snapshot":
        for shared in ("plans", "recall"):
            object.__setattr__(known, shared, getattr(self, shared))
        return known

    def with_topology(self, topology: TopologyIndex) -> "Snapshot":
        """Return the snapshot with another topology; plans, which go by the policies, are shared, answers are not."""
        known = replace(self, topology=topology)
        object.__setattr__(known, "plans", self.plans)
        return known

    def with_objects(
        self,
        namespaces: Mapping[str, Mapping[str, Any]],
        config_maps: Mapping[tuple[str, str], Mapping[str, Any]],
    ) -> "Snapshot":
        """Return the snapshot with the cluster's own objects; plans are shared, answers are not.

        ConfigMaps come on top of those that are known: they win over defaults of the same name.
        """
        known = replace(self, namespaces=namespaces, config_maps={**self.config_maps, **config_maps})
        object.__setattr__(known, "plans", self.plans)
        return known

    def with_sealer(self, sealer: Sealer) -> "Snapshot":
        """Return the snapshot with other keys; plans are shared, answers are not: they go by which records count."""
        known = replace(self, sealer=sealer)
        object.__setattr__(known, "plans", self.plans)
        return known

    def lacks_namespace(self, name: str) -> bool:
        """Tell whether a review of that namespace cannot be decided for want of its Namespace."""
        return name not in self.namespaces and (
            bool(self.conventions.group_systems)
            or any(
                policy.reads_namespace or not policy.source.spec.match_constraints.namespace_selector.empty
                for policy in self.policies
            )
        )

    def plan(self, phase: Phase, request: AdmissionRequest) -> Plan:
        """Return the plan for a review; made once."""
        route = (request.operation, request.group, request.version, request.resource, request.sub_resource)
        plan = self.plans.get((phase, route))
        if plan is None:
            plan = self.plans[phase, route] = self._make_plan(phase, route)
        return plan

    def _make_plan(self, phase: Phase, route: Route) -> Plan:
        policies = tuple(
            policy for policy in self.policies if takes_part(phase, policy) and applies_statically(policy.source, route)
        )
        slices: list[slice | None] = []
        expressions: list[Expression] = []
        for policy in policies:
            bounds = [bound.expression for _, bound in policy.conditions]
            if any(path[0] in _OWN_BINDINGS for path in policy.conditions_read):
                slices.append(None)
                continue
            slices.append(slice(len(expressions), len(expressions) + len(bounds)))
            expressions += bounds
        asked_together = [policy.conditions_read for policy, span in zip(policies, slices, strict=True) if span]
        return Plan(
            policies=policies,
            batch=self.environment.batch(expressions) if expressions else None,
            batch_reads=footprint(frozenset().union(*asked_together)),
            slices=tuple(slices),
            footprints=_Footprints(partial(_reads, phase), policies),
            condition_footprints=_Footprints(_CONDITIONS_READ, policies),
        )


def takes_part(phase: Phase, policy: CompiledPolicy) -> bool:
    """Say whether a policy has anything to do in a phase, whatever the pod."""
    spec = policy.source.spec
    return bool(spec.mutations if phase == "mutate" else spec.validations or spec.audit_annotations)


def for_every_pod(policies: Iterable[CompiledPolicy]) -> dict[Phase, int]:
    """Count the policies that need every new pod to be sent, by phase."""
    found = [
        each
        for each in policies
        if each.source.spec.scope == "All"
        and needs_every_pod(each.source.metadata.annotations)
        and applies_statically(each.source, _NEW_POD)
    ]
    phases: tuple[Phase, ...] = get_args(Phase)
    return {phase: sum(takes_part(phase, each) for each in found) for phase in phases}


def reads_topology(policy: CompiledPolicy) -> bool:
    """Say whether something of a policy asks for nodes, or for MIG instances on them."""
    writes, judges = (each.reads for each in policy.mutations), (each.reads for each in policy.validations)
    return any(path[0] in {"topology", "mig"} for part in (policy.conditions_read, *writes, *judges) for path in part)


class _Footprints(dict[str, Footprint | None]):
    """What something of each policy reads, by the policy's name; known when it is asked for."""

    def __init__(
        self, reads: Callable[[CompiledPolicy], frozenset[tuple[str, ...]]], policies: Iterable[CompiledPolicy]
    ) -> None:
        super().__init__()
        self._reads = reads
        self._policies = {policy.name: policy for policy in policies}

    def __missing__(self, name: str) -> Footprint | None:
        self[name] = found = footprint(self._reads(self._policies[name]))
        return found


def _reads(phase: Phase, policy: CompiledPolicy) -> frozenset[tuple[str, ...]]:
    entries = policy.mutations if phase == "mutate" else policy.validations
    return frozenset().union(*(entry.reads for entry in entries))


_CONDITIONS_READ: Callable[[CompiledPolicy], frozenset[tuple[str, ...]]] = attrgetter("conditions_read")


def load_snapshot(
    parsed: ParsedPolicies, objects: ClusterObjects, environment: Environment, conventions: Conventions
) -> Snapshot:
    """Compile policies and index the cluster's objects.

    ConfigMaps that stand beside the policies are the params' defaults: the cluster's own of the same name win.

    Raises:
        PolicyError: a policy cannot be read or does not compile; all problems at once.
    """
    snapshot, problems = load_working(parsed, objects, environment, conventions)
    if problems:
        raise PolicyError(problems)
    return with_notes(snapshot, parsed.policies)


def with_notes(snapshot: Snapshot, parsed: Sequence[ParsedPolicy]) -> Snapshot:
    """Return the snapshot with what is worth saying of its policies."""
    review = ReviewContext(snapshot.topology, Need(), snapshot.class_resources)
    foreseen = forecasts(parsed, snapshot.policies, snapshot.environment, review)
    return replace(snapshot, notes=tuple(sorted([*clashes(parsed), *foreseen])))


def load_working(
    parsed: ParsedPolicies,
    objects: ClusterObjects,
    environment: Environment,
    conventions: Conventions,
    *,
    checked: bool = False,
) -> tuple[Snapshot, tuple[Problem, ...]]:
    """Make a snapshot as ``load_snapshot`` does, of the policies that can be used; return every problem of the others.

    For whoever checks manifests: the policies that work have something to say, too. Nobody asks there for ``notes``,
    and there are none. ``checked`` is ``compile_policies``'.
    """
    policies, problems = compile_policies(parsed.policies, environment, checked=checked)
    snapshot = Snapshot(
        policies=policies,
        environment=environment,
        topology=TopologyIndex.build(objects.nodes, conventions),
        namespaces=objects.namespaces,
        config_maps={**parsed.params, **objects.config_maps},
        pod_groups=_by_namespace(objects.pod_groups),
        group_sizes=objects.group_sizes,
        served_groups=objects.served_groups,
        queues=Queues.of(objects.queues, objects.cut_queues, listed=objects.listed),
        owners=objects.owners,
        class_resources=objects.class_resources,
        devices=replace(objects.devices, declared=_declared(policies)),
        default_priority_class=objects.default_priority_class,
        priority_classes=objects.priority_classes,
        notes=(),
        conventions=conventions,
    )
    return snapshot, tuple(sorted([*parsed.problems, *problems]))


def _declared(policies: Iterable[CompiledPolicy]) -> dict[str, tuple[DeviceRequest, ...]]:
    """Return what the claim templates of policies ask for, by the names that are written on pods."""
    templates = (each for policy in policies for each in policy.source.spec.claim_templates)
    return {each.written_name: read_declared(each.document) for each in templates}


def _by_namespace(names: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    grouped: dict[str, set[str]] = {}
    for namespace, name in names:
        grouped.setdefault(namespace, set()).add(name)
    return {namespace: frozenset(members) for namespace, members in grouped.items()}


def _seen_beside(snapshot: Snapshot) -> tuple[object, ...]:
    joined = snapshot.served_groups & _JOINED_GROUPS
    classes = (snapshot.default_priority_class, snapshot.priority_classes)
    devices = snapshot.devices
    return snapshot.pod_groups, joined, snapshot.class_resources, devices.resources, devices.others, classes


def _layers(owners: Mapping[str, Mapping[str, Any]]) -> list[MutableMapping[str, Mapping[str, Any]]]:
    """Return the maps that a map of owners is made of, so that layers upon layers stay one list."""
    return owners.maps if isinstance(owners, ChainMap) else [cast("MutableMapping[str, Mapping[str, Any]]", owners)]
