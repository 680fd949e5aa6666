"""The requirements of a pod on its node (``Need``), for which the index finds nodes.

A need is hashable, for caching.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..conventions import Conventions
from ..kube.unchecked import at
from .capability import Capability
from .node import PASSING_TAINTS, Taint

NODE_NAME_FIELD = "metadata.name"
"""The only field that matchFields may name (kubernetes pkg/apis/core/validation, nodeFieldSelectorValidators)."""

CHOSEN_BY: tuple[tuple[str, ...], ...] = (
    ("spec", "nodeSelector"),
    ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
    ("spec", "tolerations"),
    ("spec", "nodeName"),
)
"""The paths of the fields in a pod that select nodes. A need consists of these fields and the pod's requests."""

Expression: TypeAlias = tuple[str, str, tuple[str, ...]]
"""A requirement of a nodeSelectorTerm: key, operator and values."""
Term: TypeAlias = tuple[tuple[Expression, ...], tuple[Expression, ...]]
"""(requirements on labels (matchExpressions), requirements on fields (matchFields)) of a nodeSelectorTerm."""

_PARTS_OF_TERM = ("matchExpressions", "matchFields")

# Pods ask for one or two resources, tolerate a few taints, and select nodes in a few hundred characters.
_MOST_REQUESTS = 16
_MOST_TOLERATIONS = 64
_LONGEST_SELECTION = 4096
Tolerations: TypeAlias = frozenset[tuple[str, str, str, str]]
"""(key, operator, value, effect) of each toleration. A frozenset caches its hash: a pod may have thousands of
tolerations.
"""


class NodeSelection:
    """The nodeSelector, the required node affinity and the nodeName of a pod; a node has to match all.

    Two selections are equal if their contents are equal; the order of the keys does not matter. The hash is computed
    once.
    """

    __slots__ = ("_hash", "_key", "keys", "labels", "length", "reads_name", "terms")

    def __init__(self, labels: Mapping[str, str], affinity: tuple[Mapping[str, Any], ...] | None) -> None:
        """Create the selection from the labels that a node must have and the terms (None: none) that it must match."""
        self.labels: tuple[tuple[str, str], ...] = tuple(sorted(labels.items()))
        # Copied, because a pod's own terms may hold further data, and a selection is kept.
        frozen = None if affinity is None else tuple(_freeze_term(term) for term in affinity)
        self.terms: tuple[Term, ...] | None = frozen
        """The terms, of which a node has to match any; None: the pod has no required node affinity."""
        self._key = (self.labels, frozen)
        self._hash = hash(self._key)
        self.length: int = len(repr(self._key))
        """The approximate length of the selection as text; results for long selections are not cached."""
        self.keys: frozenset[str] = frozenset(labels) | {key for term in frozen or () for key, _, _ in term[0]}
        """The label keys that the selection reads."""
        self.reads_name: bool = any(term[1] for term in frozen or ())
        """Whether the selection reads the name of a node, by matchFields."""

    @classmethod
    def of(cls, pod_spec: Mapping[str, Any]) -> "NodeSelection | None":
        """Return the selection in a pod's spec; None if the pod states nothing about its node.

        A nodeSelector value that is no string matches no node; the API server would refuse it. A nodeName is a
        requirement on the name of the node: the kubelet of that node admits the pod, and the scheduler never sees it.
        """
        labels = {str(key): value for key, value in (pod_spec.get("nodeSelector") or {}).items()}
        required = at(pod_spec, *CHOSEN_BY[1][1:])
        affinity: tuple[Mapping[str, Any], ...] | None = None
        if isinstance(required, Mapping):
            affinity = tuple(term for term in required.get("nodeSelectorTerms") or () if isinstance(term, Mapping))
        if not all(isinstance(value, str) for value in labels.values()):
            return cls({}, ())
        if isinstance(node := pod_spec.get("nodeName"), str) and node:
            bound = {"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}
            # A term without requirements matches no node, with the name of one neither.
            terms = ({},) if affinity is None else [each for each in affinity if any(map(each.get, _PARTS_OF_TERM))]
            affinity = tuple({**term, "matchFields": (*(term.get("matchFields") or ()), bound)} for term in terms)
        return cls(labels, affinity) if labels or affinity is not None else None

    def __eq__(self, other: object) -> bool:
        """Compare two selections by their text, not by the nodes that they match."""
        return isinstance(other, NodeSelection) and self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Need:
    """The requirements of one pod on a node: accelerators, memory, node selection and tolerations."""

    requests: tuple[tuple[str, int], ...] = ()
    """The amount of each accelerator resource that the scheduler reserves for the pod, sorted by name
    (``GpuFacts.totals``).
    """
    per_container: int = 0
    """The largest amount that one container asks for. The field adds no requirement, because the pod's total is at
    least as large.
    """
    memory_mib: int = 0
    """MiB of GPU memory that one unit must have; 0: any."""
    selector: NodeSelection | None = None
    """The pod's node selection; None: the pod selects all nodes."""
    tolerations: Tolerations = frozenset()
    """The tolerations of the pod that decide which nodes the pod can reach, from ``own_tolerations``."""
    claimed: bool = False
    """Whether the pod asks for accelerators by DRA claims. It is unknown how many such devices a node has."""
    or_claimed: bool = False
    """Whether DeviceClasses serve all requested resources, too: the scheduler may make a claim on a node without these
    resources (KEP-5004).
    """


def own_tolerations(pod_spec: Mapping[str, Any], conventions: Conventions) -> Tolerations:
    """Return the pod's tolerations that decide which nodes the pod can reach.

    Tolerations that every GPU pod gets, and tolerations of taints for a temporary state, are left out. Pods that differ
    only in such tolerations have equal needs.
    """
    marking = conventions.tolerable_taints
    kept: set[tuple[str, str, str, str]] = set()
    for item in pod_spec.get("tolerations") or ():
        key, value, effect = item.get("key") or "", item.get("value") or "", item.get("effect") or ""
        if key in PASSING_TAINTS or (key in marking and conventions.marks_accelerators(key, value, effect)):
            continue
        kept.add((key, item.get("operator") or "Equal", value, effect))
    return frozenset(kept)


class Reach:
    """A function for one pod that returns whether the pod tolerates all of a node's taints.

    Taints that mark GPU nodes or a temporary state count as tolerated, and so do taints with the effect
    PreferNoSchedule. Each taint is looked up among the tolerations by the taint's key, because a pod may have thousands
    of tolerations.
    """

    def __init__(self, need: Need, conventions: Conventions) -> None:
        """Create the function for a pod with the tolerations of ``need``; ``conventions`` list GPU taints."""
        self._conventions = conventions
        # As ``kube.selector.tolerates``: an empty key or effect matches every one, Exists ignores the value.
        self._any_value = {(key, effect) for key, operator, _, effect in need.tolerations if operator == "Exists"}
        self._values = {
            (key, effect, value) for key, operator, value, effect in need.tolerations if operator == "Equal"
        }

    def __call__(self, taints: Iterable[Taint]) -> bool:
        """Return whether the pod tolerates all of a node's taints."""
        return all(not _keeps_off(taint, self._conventions) or self._tolerates(taint) for taint in taints)

    def _tolerates(self, taint: Taint) -> bool:
        return any(
            (key, effect) in self._any_value or (key, effect, taint.value) in self._values
            for key in (taint.key, "")
            for effect in (taint.effect, "")
        )


def _keeps_off(taint: Taint, conventions: Conventions) -> bool:
    if taint.effect == "PreferNoSchedule" or taint.key in PASSING_TAINTS:
        return False
    return not conventions.marks_accelerators(taint.key, taint.value, taint.effect)


def is_small(need: Need) -> bool:
    """Return whether an answer for a need should be cached; a user can write a need of a megabyte."""
    if len(need.requests) > _MOST_REQUESTS or sum(len(name) for name, _ in need.requests) > _LONGEST_SELECTION:
        return False
    if len(need.tolerations) > _MOST_TOLERATIONS or len(repr(need.tolerations)) > _LONGEST_SELECTION:
        return False
    return need.selector is None or need.selector.length <= _LONGEST_SELECTION


def fits(capability: Capability, need: Need) -> bool:
    """Return whether an empty node with this capability has the amounts and the memory for one pod with this need.

    Unknown memory is enough for any need.
    """
    amount_of, memory_of, memory_mib = capability.amount_of, capability.memory_of, need.memory_mib
    for resource, amount in need.requests:
        if amount_of.get(resource, 0) < amount or memory_of.get(resource, memory_mib) < memory_mib:
            return False
    return True


def has_amounts(capability: Capability, need: Need) -> bool:
    """Return whether a node with this capability has enough of each requested resource, as the scheduler computes."""
    return all(capability.amount_of.get(resource, 0) >= amount for resource, amount in need.requests)


def total(need: Need) -> int:
    """Return the number of accelerator units that a pod asks for, of all resources together."""
    return sum(amount for _, amount in need.requests)


def pods_per_node(capability: Capability, need: Need) -> int:
    """Return the number of pods with this need that an empty node with this capability holds.

    The result is 0 if the pod requests no accelerator. The result is 1 if the pod requests accelerators by DRA claims
    alone: a node with such devices holds at least one pod.
    """
    if need.claimed and not need.requests:
        return 1
    amount_of = capability.amount_of
    return min((amount_of.get(resource, 0) // amount for resource, amount in need.requests if amount > 0), default=0)


def covers(need: Need, other: Need) -> bool:
    """Return whether every node that fits the need ``other`` also fits ``need``; False if that is unknown."""
    if need.claimed and not need.requests and other != need:
        return False  # a pod with claims alone needs a node with accelerators, if there is one
    amounts = dict(other.requests)
    return (
        need.or_claimed >= other.or_claimed
        and all(amounts.get(resource, 0) >= amount for resource, amount in need.requests)
        and need.memory_mib <= other.memory_mib
        and need.selector in (None, other.selector)
        and need.tolerations >= other.tolerations
    )


def link_domain(capability: Capability, need: Need) -> int:
    """Return how many units of a requested resource the largest NVLink or XGMI domain of a node has; 1 if unknown.

    The result is the largest number among the requested resources; if the need names none, among all resources of the
    node.
    """
    domain_of = capability.domain_of
    asked = need.requests or capability.domains
    return max((domain_of.get(resource, 1) for resource, _ in asked), default=1)


def _freeze_term(term: Mapping[str, Any]) -> Term:
    return _freeze_expressions(term, "matchExpressions"), _freeze_expressions(term, "matchFields")


def _freeze_expressions(term: Mapping[str, Any], which: str) -> tuple[Expression, ...]:
    return tuple(
        (str(e.get("key")), str(e.get("operator")), tuple(str(value) for value in e.get("values") or ()))
        for e in term.get(which) or ()
        if isinstance(e, Mapping)
    )
