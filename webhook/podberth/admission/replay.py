"""Caches whole decisions: a pod with equal inputs gets the decision on an earlier pod.

``recall`` caches single results of policies; this module caches decisions with their patches. The key of a decision has
the values of the unchanged pod that the matching policies' expressions read, and the values that their mutations read
and write (``Concern.visits``). A decision that read anything else is not cached. Three records show what was read: the
draft's of every path, the pod's of writes that changed the CEL variable ``gpu`` or ``gang``, and that of ``asking`` of
the conditions that were evaluated again after a write.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..kube.patch import Draft, Patch, apply
from ..kube.paths import pointer
from ..mutation import record
from ..mutation.concerns.resources import VISITS as CONTAINERS
from ..mutation.pipeline import CONCERNS
from ..mutation.seal import bearer_of
from ..workload.gangs import NO_GANG, Gang
from . import answering
from .description import gang_in
from .fingerprint import fingerprint
from .matching import Matching
from .outcome import Decision, Outcome
from .recall import Footprint, footprint
from .under_review import PodUnderReview
from .writing import Writing

# The inputs of ``gpu`` besides the pod's containers and annotations.
_OF_GPUS = frozenset({("spec", "resourceClaims"), ("spec", "schedulerName")})
# The inputs of ``gpu`` outside the pod: the requests of the claims that it names, and which claims its group shares.
_CLAIMS = ("gpu", "claims")
# The key of the record's annotation; nothing about a gang is read from it.
_OWN_KEY = record.PATH[-1]
# The fields of a pod besides labels and annotations that its gang is read from (``description``).
_GROUP_FIELDS = ("schedulingGroup", "workloadRef", "schedulerName")
# The fields of each container in a footprint with containers; a path is ("spec", "containers", 0, "resources", ...) or
# shorter.
_OF_A_CONTAINER = ((), ("name",), ("resources",))
# Ten times the size of the shipped policies' writes; anybody can send a pod that makes the policies write more.
_LONGEST_DECISION = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The footprint of the values that a decision depends on, and the policies that apply to the unchanged pod."""

    footprint: Footprint
    policies: frozenset[str]
    """The names of the policies that apply to the unchanged pod."""
    of_gang: bool
    """Whether a matching policy may change the gang that the pod belongs to, so that the gang is computed again."""


@dataclass(frozen=True, slots=True)
class DecisionKey:
    """The cache key of a decision (``values``), and the inputs of the decision: the paths that the values are from."""

    values: Hashable
    inputs: Inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class GangAgain:
    """The gang of a pod after a policy's write, with all labels and annotations that policies had written by then.

    A gang may depend on any label or annotation, and the key of a cached decision has only some of the pod's labels and
    annotations. So another pod gets a cached decision only if the pod, with the same writes, is in an equal gang
    (``holds``).
    """

    written: Mapping[str, Mapping[str, str]]
    """The labels and annotations that policies had written when the gang was computed."""
    gang: Gang
    """The gang that was computed after the write, without the pod's index in the gang."""

    @classmethod
    def of(cls, under: PodUnderReview, pod: Mapping[str, Any], gang: Gang) -> "GangAgain | None":
        """Return ``gang``, computed from the changed ``pod``, with the labels and annotations that policies wrote.

        The result is None if these labels and annotations may not be enough to compute the gang again. This is so in
        three cases: the namespace has a group with the gang's name; policies removed a label or annotation; or policies
        changed a field of the spec that names a group.
        """
        before = under.request.object or {}
        if under.gang_facts.group_of(gang.name) or any(
            before["spec"].get(field) != pod["spec"].get(field) for field in _GROUP_FIELDS
        ):
            return None
        written = {}
        for field in ("labels", "annotations"):
            had, has = (each["metadata"].get(field) or {} for each in (before, pod))
            if had.keys() - has.keys():
                return None
            written[field] = {key: each for key, each in has.items() if had.get(key) != each and key != _OWN_KEY}
        return cls(written=written, gang=_without_index(gang))

    def holds(self, under: PodUnderReview) -> bool:
        """Return whether a pod would be in the gang ``gang`` if policies wrote ``written`` on the pod.

        The index of the pod in the gang may differ. ``under`` is the review of the pod.
        """
        if under.gang_facts.group_of(self.gang.name):
            return False
        metadata = under.pod["metadata"]
        written = {field: {**(metadata.get(field) or {}), **values} for field, values in self.written.items()}
        pod = {**under.pod, "metadata": {**metadata, **written}}
        return _without_index(gang_in(pod, under.request.namespace, under.snapshot)) == self.gang


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDecision:
    """A cached decision on a pod: the outcome, and the conditions under which another pod gets an equal outcome."""

    patch: Patch
    """The JSON patch of the decision. The record in the patch has the seal for the pod that was decided on first."""
    record: str
    """The text of the record annotation in the patch, which is sealed again for each pod; empty if the patch has no
    record.
    """
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...]
    gangs: tuple[GangAgain, ...]
    """The gangs that were computed after writes.

    Another pod gets the decision only if each of these gangs is also right for that pod (``holds``).
    """

    def holds(self, under: PodUnderReview) -> bool:
        """Return whether another pod, whose cache key is equal, gets the decision: it would be in each of ``gangs``."""
        return all(each.holds(under) for each in self.gangs)

    def for_pod(self, under: PodUnderReview) -> Outcome:
        """Return the outcome of the cached decision for another pod, whose cache key has equal values.

        The record in the patch is sealed again for the other pod.

        Raises:
            UnprovedError: the patch does not apply to the pod, which is a bug.
        """
        patch = self.patch
        if self.record:
            seal = under.snapshot.sealer.seal(bearer_of(under.pod, under.request.namespace), self.record)
            patch = _with_record(patch, record.sealed(self.record, seal))
        apply(under.pod, patch)
        return answering.of_patch(under.request, self.decisions, patch, self.warnings)


def key_of(matching: Matching) -> DecisionKey | None:
    """Return the cache key of the decision on an unchanged pod; None if no key can have all inputs of the decision."""
    question, under = matching.question, matching.under
    # The write to ``managedFields`` depends on the place of the record there, which is not in the key.
    if question is None or under.found.sent is not False:
        return None
    name = under.description.gang.name
    if name and under.gang_facts.group_of(name):
        return None  # the group's namespace counts, too, and is not in the key
    inputs = under.snapshot.recall.answer(("inputs", question), lambda: _inputs(matching))
    values = fingerprint(under, inputs.footprint) if inputs is not None else None
    if inputs is None or values is None:
        return None
    # ``native_groups``: a write may name any PodGroup of the namespace. ``found``: whether a record counts depends on
    # the pod's name, which is not among the values.
    gang = _without_index(under.description.gang) if inputs.of_gang else None
    return DecisionKey(("decision", question, under.native_groups, values, under.found, gang), inputs)


def keep(key: DecisionKey, outcome: Outcome, matching: Matching, writing: Writing) -> None:
    """Cache a decision, so that later pods with an equal cache key get the decision without an evaluation.

    The decision is not cached if the policies read values that are not part of the key; if a policy denied, failed or
    conflicted with another policy; if a write changed the gang in a way that cannot be checked for later pods; or if
    the decision is too long.
    """
    faulty = any(each.action in ("deny", "error", "conflict") for each in outcome.decisions)
    if faulty or not _within(key.inputs.footprint, writing.draft) or not _expected(key.inputs, matching):
        return
    gangs = []
    for pod, gang in matching.under.gangs_again:
        again = GangAgain.of(matching.under, pod, gang)
        if again is None:
            return
        gangs.append(again)
    encoded = outcome.response["response"].get("patch", "")
    if len(encoded) + sum(len(each.message) for each in outcome.decisions) > _LONGEST_DECISION:
        return
    matching.under.snapshot.recall.keep(
        key.values,
        KeptDecision(
            patch=outcome.patch,
            record=writing.record_text,
            decisions=outcome.decisions,
            warnings=outcome.warnings,
            gangs=tuple(gangs),
        ),
    )


def _with_record(patch: Patch, annotation: str) -> Patch:
    """Return the patch with ``annotation`` as the text of the record annotation.

    The patch writes the record annotation alone, or all annotations of the pod in one operation.
    """
    return [
        {**each, "value": {**each["value"], record.PATH[-1]: annotation}}
        if each["path"] == _ANNOTATIONS
        else {**each, "value": annotation}
        if each["path"] == _RECORD
        else each
        for each in patch
    ]


_ANNOTATIONS, _RECORD = pointer(record.PATH[:-1]), pointer(record.PATH)


def _inputs(matching: Matching) -> Inputs | None:
    """Return the inputs of the decision on the pod; None if a cache key cannot have all of them."""
    policies = matching.policies()
    if policies is None:
        return None
    mutations = [mutation for policy in policies for mutation in policy.mutations]
    # The group system decides what may be written (``gate``). A message may have the number of nodes that fit, which
    # depends on the whole need of the pod.
    reads: set[tuple[str, ...]] = {("gang", "system"), ("topology",)}
    visited: set[tuple[str, ...]] = {record.PATH}
    for mutation in mutations:
        concern, leaves = CONCERNS[mutation.concern], {**dict.fromkeys(mutation.leaves), **mutation.facts}
        paths = concern.visits(leaves)
        if paths is None:
            return None
        visited.update(paths)
        reads |= mutation.reads.union(concern.reads(leaves), mutation.facts.values())
    rewritten = visited.intersection(CONTAINERS)
    if rewritten and matching.under.description.gpu.dialect:
        return None  # the dialect may come from annotations, which are read again after a rewrite
    if rewritten:
        visited = visited - rewritten | _OF_GPUS
        reads.add(_CLAIMS)
        reads = reads.union(*(policy.conditions_read for policy in matching.plan.policies))
    asked = footprint(reads)
    if asked is None:
        return None
    return Inputs(
        footprint=replace(asked, paths=tuple(sorted({*asked.paths, *visited})), containers=bool(rewritten)),
        policies=frozenset(policy.name for policy in policies),
        of_gang=any(mutation.concern == "gang" for mutation in mutations),
    )


def _without_index(gang: Gang) -> Gang:
    return replace(gang, index=NO_GANG.index)


def _within(known: Footprint, draft: Draft) -> bool:
    """Return whether the footprint ``known`` has all paths that the mutations read from the draft."""
    places = frozenset(known.paths)
    return all(
        not places.isdisjoint(path[:length] for length in range(1, len(path) + 1))
        or (known.containers and path[:2] in CONTAINERS and path[3:4] in _OF_A_CONTAINER)
        for path in draft.visited
    )


def _expected(inputs: Inputs, matching: Matching) -> bool:
    """Return whether the values that were computed again after a write depend only on ``inputs``.

    If not, the decision must not be cached. The values are the results of conditions, the gang and the GPU facts. The
    labels and annotations that the gang depends on are compared separately (``GangAgain``).
    """
    known, changed = inputs.footprint, matching.under.changed_facts
    return (
        matching.asking.asked <= inputs.policies
        and (inputs.of_gang or "gang" not in changed)
        and not (matching.under.gangs_again and "index" in known.gang)
        and (known.containers or "gpu" not in changed)
        and all(read is not None and _covers(known, read) for read in matching.asking.asked_again)
    )


def _covers(known: Footprint, read: Footprint) -> bool:
    return (
        (known.containers or set(read.gpu) <= set(known.gpu))
        and set(read.gang) <= set(known.gang)
        and set(read.paths) <= set(known.paths)
    )
