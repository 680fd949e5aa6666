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
from ..devices.claims import ClaimRequest, KnownDevices, read_claim
from ..errors import PolicyError, Problem
from ..facts.cluster import SYSTEM_CLASS, ClusterFacts
from ..facts.kinds import CONFIG_MAP, NAMESPACE_KIND
from ..facts.table import Table
from ..mutation.seal import OFFLINE, Sealer
from ..policy.clashes import clashes
from ..policy.compile import CompiledPolicy, compile_policies
from ..policy.every_pod import needs_every_pod
from ..policy.match import Route, applies_statically
from ..policy.parse import ParsedPolicies, ParsedPolicy
from ..topology.index import TopologyIndex
from ..topology.need import Need
from ..workload.systems import JOINED
from .forecast import forecasts
from .recall import Footprint, Recall, footprint
from .review import AdmissionRequest

Phase: TypeAlias = Literal["mutate", "validate"]

_NEW_POD: Final[Route] = ("CREATE", "", "v1", "pods", "")
_JOINED_GROUPS = frozenset(row.pod_groups for row in JOINED.values())
# Names that a shared evaluation of all policies' conditions cannot have: their values differ from policy to policy.
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
    """The footprint of each policy's mutations (or validations), by the policy's name."""
    condition_footprints: Mapping[str, Footprint | None]
    """The footprint of each policy's conditions, by the policy's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The policies and the known state of the cluster at one moment."""

    policies: tuple[CompiledPolicy, ...]
    """The policies, sorted by (order, name)."""
    environment: Environment
    topology: TopologyIndex
    """The index of the nodes; ``facts`` have no nodes."""
    facts: ClusterFacts
    """The known facts of the cluster's other objects, with the ConfigMaps from the policies' files."""
    declared: Mapping[str, tuple[ClaimRequest, ...]]
    """The requests of the policies' claim templates, by the names that are written on pods."""
    conventions: Conventions
    notes: tuple[Problem, ...]
    """Notes about the policies; no note stops a policy from being used."""
    sealer: Sealer = OFFLINE
    """Seals the records that are written on pods, and verifies the records of pods that come."""
    predicted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Owners that will be made, by uid; they take precedence over the owners of the cluster."""
    owners: Mapping[str, Mapping[str, Any]] = field(init=False, repr=False, compare=False)
    """Owners of gangs by uid."""
    devices: KnownDevices = field(init=False, repr=False, compare=False)
    """The requests of claims, those of the policies' templates included, and the resources of DeviceClasses."""
    plans: dict[tuple[Phase, Route], Plan] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Plans made so far; at most one for each phase, operation and resource that reviews name."""
    recall: Recall = field(default_factory=Recall, init=False, repr=False, compare=False)
    """The answers that are remembered."""

    def __post_init__(self) -> None:
        """Combine the owners and devices of the facts with those of the policies."""
        # A cluster may have tens of thousands of owners. They are not copied to add the few of one workload.
        owners = ChainMap(cast("dict[str, Any]", self.predicted), *_layers(self.facts.owners))
        object.__setattr__(self, "owners", owners if self.predicted else self.facts.owners)
        object.__setattr__(self, "devices", replace(self.facts.devices, declared=self.declared))

    @property
    def known_priority_classes(self) -> frozenset[str] | None:
        """The PriorityClasses of the cluster; None if not all of them are known."""
        known = self.facts.priority_classes
        return known if SYSTEM_CLASS in known else None

    def with_owners(self, owners: Mapping[str, Mapping[str, Any]]) -> "Snapshot":
        """Return the snapshot with more owners of gangs by uid; plans, and answers by gang, are shared."""
        return self._sharing(replace(self, predicted={**self.predicted, **owners}))

    def with_workloads(self, known: ClusterFacts) -> "Snapshot":
        """Return the snapshot with these facts instead of its own, except Namespaces and ConfigMaps.

        Plans are shared. Answers are shared too, because their keys have a pod's facts, with the requests of its claims
        and the size of its gang. Served resources and groups, native groups and PriorityClasses are read outside the
        answers.
        """
        changed = replace(self, facts=self.facts.with_workloads(known))
        if _seen_beside(changed) == _seen_beside(self):
            return self._sharing(changed)
        return self._planned(changed)

    def _sharing(self, known: "Snapshot") -> "Snapshot":
        object.__setattr__(known, "recall", self.recall)
        return self._planned(known)

    def _planned(self, known: "Snapshot") -> "Snapshot":
        object.__setattr__(known, "plans", self.plans)
        return known

    def with_topology(self, topology: TopologyIndex) -> "Snapshot":
        """Return the snapshot with another topology; plans depend on policies alone and are shared, answers are not."""
        return self._planned(replace(self, topology=topology))

    def with_objects(
        self,
        namespaces: Mapping[str, Mapping[str, Any]],
        config_maps: Mapping[tuple[str, str], Mapping[str, Any]],
    ) -> "Snapshot":
        """Return the snapshot with the cluster's own objects; plans are shared, answers are not.

        ConfigMaps are added to the known ones, and replace defaults of the same name.
        """
        params = {**self.facts.config_maps, **config_maps}
        tables = {NAMESPACE_KIND: Table.of(namespaces), CONFIG_MAP: Table.of(params)}
        return self._planned(replace(self, facts=self.facts.with_tables(tables)))

    def with_sealer(self, sealer: Sealer) -> "Snapshot":
        """Return the snapshot with other keys; plans are shared. Answers are not: they depend on the valid records."""
        return self._planned(replace(self, sealer=sealer))

    def lacks_namespace(self, name: str) -> bool:
        """Return whether a review in that namespace needs its Namespace object, and the snapshot lacks it."""
        return name not in self.facts.namespaces and (
            bool(self.conventions.group_systems)
            or any(
                policy.reads_namespace or not policy.source.spec.match_constraints.namespace_selector.empty
                for policy in self.policies
            )
        )

    def plan(self, phase: Phase, request: AdmissionRequest) -> Plan:
        """Return the plan for a review; a plan is made once and kept."""
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
    """Return whether a policy has entries for a phase, whatever the pod."""
    spec = policy.source.spec
    return bool(spec.mutations if phase == "mutate" else spec.validations or spec.audit_annotations)


def for_every_pod(policies: Iterable[CompiledPolicy]) -> dict[Phase, int]:
    """Return, for each phase, the number of policies for which the API server must send every new pod."""
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
    """Return whether an expression of a policy reads ``topology`` or ``mig``."""
    writes, judges = (each.reads for each in policy.mutations), (each.reads for each in policy.validations)
    return any(path[0] in {"topology", "mig"} for part in (policy.conditions_read, *writes, *judges) for path in part)


class _Footprints(dict[str, Footprint | None]):
    """The footprints of policies by name, each computed when it is first needed."""

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
    parsed: ParsedPolicies, facts: ClusterFacts, environment: Environment, conventions: Conventions
) -> Snapshot:
    """Compile policies and index the cluster's nodes.

    ConfigMaps in the policies' files are default params; a ConfigMap of the cluster with the same name replaces them.

    Raises:
        PolicyError: a policy cannot be read or does not compile; all problems at once.
    """
    snapshot, problems = load_working(parsed, facts, environment, conventions)
    if problems:
        raise PolicyError(problems)
    return with_notes(snapshot, parsed.policies)


def with_notes(snapshot: Snapshot, parsed: Sequence[ParsedPolicy]) -> Snapshot:
    """Return the snapshot with the notes about its policies."""
    review = ReviewContext(snapshot.topology, Need(), snapshot.facts.class_resources)
    forecast = forecasts(parsed, snapshot.policies, snapshot.environment, review)
    return replace(snapshot, notes=tuple(sorted([*clashes(parsed), *forecast])))


def load_working(
    parsed: ParsedPolicies,
    facts: ClusterFacts,
    environment: Environment,
    conventions: Conventions,
    *,
    checked: bool = False,
) -> tuple[Snapshot, tuple[Problem, ...]]:
    """Make a snapshot as ``load_snapshot`` does, from the policies that compile; return every problem of the others.

    It is for checks of manifests, which go on with the policies that work. The snapshot has no ``notes``. ``checked``
    is passed to ``compile_policies``.
    """
    policies, problems = compile_policies(parsed.policies, environment, checked=checked)
    params = {**parsed.params, **facts.config_maps}
    snapshot = Snapshot(
        policies=policies,
        environment=environment,
        topology=TopologyIndex.build(facts.nodes, conventions),
        facts=facts.without_nodes().with_tables({CONFIG_MAP: Table.of(params)}),
        declared=_declared(policies),
        notes=(),
        conventions=conventions,
    )
    return snapshot, tuple(sorted([*parsed.problems, *problems]))


def _declared(policies: Iterable[CompiledPolicy]) -> dict[str, tuple[ClaimRequest, ...]]:
    """Return the requests of the policies' claim templates, by the names that are written on pods."""
    templates = (each for policy in policies for each in policy.source.spec.claim_templates)
    return {each.written_name: read_claim(each.document) for each in templates}


def _seen_beside(snapshot: Snapshot) -> tuple[object, ...]:
    facts, devices = snapshot.facts, snapshot.devices
    joined = facts.served_groups & _JOINED_GROUPS
    classes = (facts.default_priority_class, facts.priority_classes)
    return facts.native_groups, joined, facts.class_resources, devices.resources, devices.others, classes


def _layers(owners: Mapping[str, Mapping[str, Any]]) -> list[MutableMapping[str, Mapping[str, Any]]]:
    """Return the maps that a map of owners consists of, so that chained maps stay one flat chain."""
    return owners.maps if isinstance(owners, ChainMap) else [cast("MutableMapping[str, Mapping[str, Any]]", owners)]
