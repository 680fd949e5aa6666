"""The inputs of a decision besides the review: policies, nodes and the cluster's other objects, at one moment.

A snapshot is immutable; a change of the policies or of the cluster makes a new snapshot. The caches of a snapshot hold
only values that are computed from the snapshot itself.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from ..cel.engine import Batch, Environment, Expression, ReviewContext
from ..conventions import Conventions
from ..devices.claims import ClaimRequest, KnownDevices, read_claim
from ..errors import PolicyError, Problem
from ..facts.cluster import SYSTEM_CLASS, ClusterFacts
from ..facts.object_kinds import CONFIG_MAP, NAMESPACE_KIND
from ..facts.table import Table
from ..kube.pruned import Tree
from ..mutation.seal import OFFLINE, Sealer
from ..policy.clashes import clashes
from ..policy.compile import CompiledPolicy, compile_policies
from ..policy.every_pod import needs_every_pod
from ..policy.exceptions import NEVER, CompiledException, by_namespace, compile_exceptions, of_unknown
from ..policy.match import Route, applies_statically
from ..policy.namespaced import NamespacedPolicy, compile_namespaced
from ..policy.namespaced import by_namespace as by_own_namespace
from ..policy.parse import ParsedPolicies, ParsedPolicy
from ..policy.refused import problems_of_refused
from ..topology.index import TopologyIndex
from ..topology.need import Need
from ..workload.systems import JOINED
from .forecast import forecasts
from .namespace_params import NamespaceParams
from .params import KnownParams
from .recall import Footprint, Recall, footprint, read_of_pod
from .review import AdmissionRequest

Phase: TypeAlias = Literal["mutate", "validate"]

_NEW_POD: Final[Route] = ("CREATE", "", "v1", "pods", "")
_JOINED_GROUPS = frozenset(row.pod_groups for row in JOINED.values())
# Names that a shared evaluation of all policies' conditions cannot have: their values differ from policy to policy.
_OWN_BINDINGS = frozenset({"params"})

# What is remembered for a namespace's own policies: answers, answers on trial, and characters of texts of each. Tenants
# choose the keys and the texts, and 32 namespaces that make the most of it take 100 MiB.
_OF_A_NAMESPACE: Final = 256, 64, 4 * 1024
_MOST_OWN: Final = 32
"""The number of namespaces for whose own policies answers are remembered; the oldest are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The policies that can match reviews of one resource and operation, in order, with values computed from them.

    ``batch`` evaluates the matchConditions of all policies at once; ``slices`` has the range of each policy's results
    among the results of ``batch``. A policy whose conditions read params is evaluated alone: the policy's slice is
    None.
    """

    policies: tuple[CompiledPolicy, ...]
    batch: Batch | None
    batch_reads: Footprint | None
    slices: tuple[slice | None, ...]
    footprint_of: Callable[[CompiledPolicy], Footprint | None]
    """Returns the fields of a pod that a policy's mutations (or validations) read; None if they may read any field.

    The result is computed when it is first needed, because it compiles the policy.
    """
    footprint_of_conditions: Callable[[CompiledPolicy], Footprint | None]
    """Returns the footprint of a policy's matchConditions; None if the footprint cannot be bounded."""
    with_namespace_params: tuple[CompiledPolicy, ...]
    """The policies whose params may differ between namespaces, or change while answers are remembered."""
    read_of_pod: Tree | None
    """The paths of the pod that the expressions of the policies read. None if one reads most of the pod, or if a policy
    is not compiled yet, as in a check of a few manifests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The policies and the known state of the cluster at one moment."""

    policies: tuple[CompiledPolicy, ...]
    """The policies, sorted by their field ``order`` and then by name."""
    environment: Environment
    topology: TopologyIndex
    """The index of the known nodes; ``facts`` has no nodes."""
    facts: ClusterFacts
    """The known objects of the cluster other than nodes, and the ConfigMaps that are in the policies' files."""
    declared: Mapping[str, tuple[ClaimRequest, ...]]
    """A mapping from the ResourceClaimTemplate names that pods use to the device requests of the policies' claim
    templates.
    """
    conventions: Conventions
    notes: tuple[Problem, ...]
    """Notes about the policies for their authors, such as conflicts; a policy with a note is in force nevertheless."""
    sealer: Sealer = OFFLINE
    """The object that signs the records that are written on pods, and verifies the records on incoming pods."""
    predicted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Owners that do not exist yet, by the uid that each owner will have; they take precedence over the cluster's
    owners."""
    followed_params: Mapping[str, NamespaceParams] | str | None = None
    """The followed ConfigMaps in namespaces other than podberth's own, by namespace, or a message if podberth cannot
    follow the ConfigMaps. None: there is no live cluster, and all ConfigMaps are in ``facts``."""
    exceptions: tuple[CompiledException, ...] = ()
    """All exceptions, by name, including exceptions without effect."""
    namespaced: Mapping[str, tuple[NamespacedPolicy, ...]] = field(default_factory=dict)
    """The policies of namespaces, by namespace, and in each by name. They decide after ``policies``, and apart."""
    now: datetime | None = None
    """The moment for which the method ``at`` computed ``in_force``; None if ``at`` was not called."""
    in_force: Mapping[str, tuple[CompiledException, ...]] = field(default_factory=dict)
    """The exceptions that have an effect at ``now``, by namespace; sorted by name in each namespace."""
    until: datetime = NEVER
    """The first moment after ``now`` at which ``in_force`` may change."""
    owners: Mapping[str, Mapping[str, Any]] = field(init=False, repr=False, compare=False)
    """The owners of gangs, by uid: the cluster's owners and the owners in ``predicted``."""
    devices: KnownDevices = field(init=False, repr=False, compare=False)
    """The device requests of claims and of the policies' claim templates, and the resources of DeviceClasses."""
    params: KnownParams = field(init=False, repr=False, compare=False)
    """The params objects of the policies, among the ConfigMaps of ``facts``."""
    plans: dict[tuple[Phase, Route], Plan] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The plans that were made so far: at most one for each phase, operation and resource of reviews."""
    recall: Recall = field(default_factory=Recall, init=False, repr=False, compare=False)
    """The cached answers of policies."""
    gang_roles: Recall = field(default_factory=lambda: Recall(64, 16), init=False, repr=False, compare=False)
    """The needs of gangs' roles (``description.roles_of``), which are much larger than other answers."""
    _own: dict[str, "Snapshot"] = field(default_factory=dict, init=False, repr=False, compare=False)
    """A mapping from namespaces to snapshots with only the namespace's policies; a snapshot is made when a review needs
    it."""
    _own_plans: dict[str, tuple[object, dict[tuple[Phase, Route], Plan]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The plans for the policies of each namespace, after the policies for which the plans were made."""

    def __post_init__(self) -> None:
        """Compute the fields ``owners``, ``devices`` and ``params`` from the other fields."""
        # A cluster may have tens of thousands of owners. They are not copied to add the few of one workload.
        owners = ChainMap(cast("dict[str, Any]", self.predicted), cast("dict[str, Any]", self.facts.owners))
        object.__setattr__(self, "owners", owners if self.predicted else self.facts.owners)
        object.__setattr__(self, "params", KnownParams(self.facts.config_maps, self.followed_params))
        object.__setattr__(self, "devices", replace(self.facts.devices, declared=self.declared))

    def at(self, now: datetime) -> "Snapshot":
        """Return the snapshot with the exceptions that are in force at ``now``.

        The result is this snapshot itself if there are no exceptions, or if no exception has begun or ended since the
        snapshot's own ``now``. If other exceptions are in force, the result has a new cache: so no cached result
        outlives an exception on which the result depends.
        """
        if not self.exceptions or (self.now is not None and self.now <= now < self.until):
            return self
        in_force = by_namespace(each for each in self.exceptions if each.state(now) == "active")
        until = min(each.changes_after(now) for each in self.exceptions)
        changed = replace(self, now=now, in_force=in_force, until=until)
        return self._sharing(changed) if self.now is not None and in_force == self.in_force else self._planned(changed)

    @property
    def known_priority_classes(self) -> frozenset[str] | None:
        """The names of the cluster's PriorityClasses; None if some may be unknown."""
        known = self.facts.priority_classes
        return known if SYSTEM_CLASS in known else None

    def with_owners(self, owners: Mapping[str, Mapping[str, Any]]) -> "Snapshot":
        """Return the snapshot with additional owners of gangs, by uid; both snapshots share plans and cache."""
        return self._sharing(replace(self, predicted={**self.predicted, **owners}))

    def with_workloads(self, known: ClusterFacts) -> "Snapshot":
        """Return the snapshot with the facts ``known`` in place of the old facts; Namespaces and ConfigMaps stay.

        Both snapshots share the plans. Both also share the cached results unless a fact changed that is not part of the
        cache keys, such as the PriorityClasses. A pod's claims and the size of the pod's gang are part of the keys.
        """
        changed = replace(self, facts=self.facts.with_workloads(known))
        if _seen_beside(changed) == _seen_beside(self):
            return self._sharing(changed)
        return self._planned(changed)

    def _sharing(self, known: "Snapshot") -> "Snapshot":
        object.__setattr__(known, "recall", self.recall)
        object.__setattr__(known, "gang_roles", self.gang_roles)
        return self._planned(known)

    def _planned(self, known: "Snapshot") -> "Snapshot":
        object.__setattr__(known, "plans", self.plans)
        object.__setattr__(known, "_own_plans", self._own_plans)
        same = known.followed_params is self.followed_params
        if same and known.facts.config_maps is self.facts.config_maps:
            object.__setattr__(known, "params", self.params)
        return known

    def with_namespaced(self, policies: Mapping[str, tuple[NamespacedPolicy, ...]]) -> "Snapshot":
        """Return the snapshot with ``policies`` as the policies of namespaces; both snapshots share cached results."""
        changed = self._sharing(replace(self, namespaced=policies))
        same = {name: own for name, own in self._own.items() if own.policies is policies.get(name)}
        object.__setattr__(changed, "_own", same)
        plans = {name: own for name, own in self._own_plans.items() if own[0] is policies.get(name)}
        object.__setattr__(changed, "_own_plans", plans)
        return changed

    def of_namespace(self, namespace: str) -> "Snapshot | None":
        """Return a snapshot with the policies of ``namespace`` instead of the cluster's; None if there are none.

        The result has a separate cache, so that results of a namespace's policies do not displace results of the
        cluster's policies.
        """
        policies = self.namespaced.get(namespace)
        if not policies:
            return None
        own = self._own.get(namespace)
        if own is None:
            own = replace(self, policies=policies, namespaced={}, exceptions=(), notes=())
            object.__setattr__(own, "params", self.params)
            object.__setattr__(own, "recall", Recall(*_OF_A_NAMESPACE))
            planned, plans = self._own_plans.get(namespace, (None, {}))
            if planned is policies:
                object.__setattr__(own, "plans", plans)
            if len(self._own) >= _MOST_OWN:
                del self._own[next(iter(self._own))]
            self._own[namespace], self._own_plans[namespace] = own, (policies, own.plans)
        return own

    def with_topology(self, topology: TopologyIndex) -> "Snapshot":
        """Return the snapshot with another index of nodes.

        Both snapshots share the plans, but not the cached results.
        """
        return self._planned(replace(self, topology=topology))

    def with_objects(
        self,
        namespaces: Mapping[str, Mapping[str, Any]],
        config_maps: Mapping[tuple[str, str], Mapping[str, Any]],
    ) -> "Snapshot":
        """Return the snapshot with ``namespaces`` as the Namespaces, and ``config_maps`` added to the ConfigMaps.

        An added ConfigMap replaces a ConfigMap from the policies' files with an equal namespace and name.
        Both snapshots share ``plans``, the policies that can match each review. The snapshots share no cached answers.
        """
        params = {**self.facts.config_maps, **config_maps}
        tables = {NAMESPACE_KIND: Table.of(namespaces), CONFIG_MAP: Table.of(params)}
        return self._planned(replace(self, facts=self.facts.with_tables(tables)))

    def with_followed_params(self, followed: Mapping[str, NamespaceParams] | str) -> "Snapshot":
        """Return the snapshot with ``followed`` as the tenants' ConfigMaps: by namespace, or why they are unknown.

        Both snapshots share the cached results: the cache key of a result has the version of the params object. So a
        tenant who writes ConfigMaps does not cause results of other tenants to be computed again.
        """
        return self._sharing(replace(self, followed_params=followed))

    def with_sealer(self, sealer: Sealer) -> "Snapshot":
        """Return the snapshot with another sealer.

        Both snapshots share the plans, but not the cached results, because results depend on seals.
        """
        return self._planned(replace(self, sealer=sealer))

    def lacks_namespace(self, name: str) -> bool:
        """Return whether the snapshot lacks the Namespace ``name`` although a review in the namespace may need it."""
        return name not in self.facts.namespaces and (
            bool(self.conventions.group_systems)
            or any(
                policy.reads_namespace or not policy.source.spec.match_constraints.namespace_selector.empty
                for policy in (*self.policies, *self.namespaced.get(name, ()))
            )
        )

    def plan(self, phase: Phase, request: AdmissionRequest) -> Plan:
        """Return the plan for a review: the policies that can match the review's operation and resource.

        ``phase`` is ``mutate`` or ``validate``. Each plan is made once and cached.
        """
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
            bounds = [each for _, each in policy.conditions]
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
            footprint_of=cache(lambda policy: footprint(_reads(phase, policy))),
            footprint_of_conditions=cache(lambda policy: footprint(policy.conditions_read)),
            with_namespace_params=tuple(each for each in policies if reads_namespace_params(each)),
            read_of_pod=read_of_pod(frozenset().union(*map(_all_reads, policies)))
            if all(policy.is_compiled for policy in policies)
            else None,
        )


def takes_part(phase: Phase, policy: CompiledPolicy) -> bool:
    """Return whether a policy has anything to evaluate in a phase.

    That is: mutations for /mutate, and validations or audit annotations for /validate.
    """
    spec = policy.source.spec
    return bool(spec.mutations if phase == "mutate" else spec.validations or spec.audit_annotations)


def reads_namespace_params(policy: CompiledPolicy) -> bool:
    """Return whether a policy's params are in a namespace other than podberth's own."""
    reference = policy.source.spec.param_ref
    return reference is not None and reference.is_elsewhere


def count_needing_every_pod(policies: Iterable[CompiledPolicy]) -> dict[Phase, int]:
    """Return a mapping from a phase to the number of policies that need reviews of all new pods, not just GPU pods."""
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
    """Return whether an expression of the policy reads the variable ``topology`` or ``mig``."""
    return any(path[0] in {"topology", "mig"} for path in _all_reads(policy))


def _all_reads(policy: CompiledPolicy) -> frozenset[tuple[str, ...]]:
    """Return the access paths that the expressions of a policy read."""
    parts = [each.reads for each in policy.mutations]
    parts += [each.reads for each in policy.validations]
    parts += [each.reads for _, each in policy.audit_annotations]
    return policy.conditions_read.union(*parts)


def _reads(phase: Phase, policy: CompiledPolicy) -> frozenset[tuple[str, ...]]:
    entries = policy.mutations if phase == "mutate" else policy.validations
    return frozenset().union(*(entry.reads for entry in entries))


def load_snapshot(
    parsed: ParsedPolicies, facts: ClusterFacts, environment: Environment, conventions: Conventions
) -> Snapshot:
    """Compile the policies, and return a snapshot of the policies and of the cluster's facts.

    Policies may also read the ConfigMaps in the policies' files as params. A ConfigMap of the cluster replaces a
    ConfigMap of the files with an equal namespace and name.

    Raises:
        PolicyError: a policy cannot be parsed or does not compile; the error lists all problems.
    """
    snapshot, problems = load_working(parsed, facts, environment, conventions)
    if problems:
        raise PolicyError(problems)
    return with_notes(snapshot, parsed.policies)


def with_notes(snapshot: Snapshot, parsed: Sequence[ParsedPolicy]) -> Snapshot:
    """Return the snapshot with notes about the policies, such as conflicts between two policies."""
    named = [each.policy.name for each in parsed]
    parsed = _enabled(parsed)
    review = ReviewContext(snapshot.topology, Need(), snapshot.facts.class_resources)
    forecast = forecasts(parsed, snapshot.policies, snapshot.environment, review)
    unknown = of_unknown((each.parsed for each in snapshot.exceptions), named)
    return replace(snapshot, notes=tuple(sorted([*clashes(parsed), *forecast, *unknown])))


def load_working(
    parsed: ParsedPolicies,
    facts: ClusterFacts,
    environment: Environment,
    conventions: Conventions,
    *,
    checked: bool = False,
) -> tuple[Snapshot, tuple[Problem, ...]]:
    """Return a snapshot of the policies that compile, and all problems of the policies that do not.

    A disabled policy is neither compiled nor in the snapshot. Checks of manifests use this function, because they
    continue with the policies that work. The snapshot has no notes. ``checked`` means that all policies are known to
    compile.
    """
    policies, problems = compile_policies(_enabled(parsed.policies), environment, checked=checked)
    exceptions, wrong = compile_exceptions(parsed.exceptions, environment)
    namespaced, own = compile_namespaced(parsed.namespaced, environment)
    params = {**parsed.params, **facts.config_maps}
    snapshot = Snapshot(
        policies=policies,
        environment=environment,
        topology=TopologyIndex.build(facts.nodes, conventions),
        facts=facts.without_nodes().with_tables({CONFIG_MAP: Table.of(params)}),
        declared=_declared(policies),
        notes=(),
        conventions=conventions,
        exceptions=exceptions,
        namespaced=by_own_namespace(namespaced),
    )
    refused = problems_of_refused(parsed, environment)
    return snapshot, tuple(sorted([*parsed.problems, *problems, *wrong, *own, *refused]))


def _enabled(parsed: Iterable[ParsedPolicy]) -> list[ParsedPolicy]:
    return [each for each in parsed if not each.policy.spec.disabled]


def _declared(policies: Iterable[CompiledPolicy]) -> dict[str, tuple[ClaimRequest, ...]]:
    """Return a mapping from the name of each claim template that the policies declare to the template's requests.

    The name is that of the ResourceClaimTemplate in the cluster (``written_name``).
    """
    templates = (each for policy in policies for each in policy.source.spec.claim_templates)
    return {each.written_name: read_claim(each.document) for each in templates}


def _seen_beside(snapshot: Snapshot) -> tuple[object, ...]:
    facts, devices = snapshot.facts, snapshot.devices
    joined = facts.served_groups & _JOINED_GROUPS
    classes = (facts.default_priority_class, facts.priority_classes)
    claims = (facts.class_resources, devices.resources, devices.others, facts.is_claimless)
    return facts.native_groups, joined, claims, classes
