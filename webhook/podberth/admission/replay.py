"""Decide on a creation again: for a pod that is equal in everything that the earlier decision was made from.

``recall`` remembers single answers of policies; a course is a whole decision, with what it wrote. Its basis is what the
matching policies' expressions read of the pod as it came, and what their builders read and write
(``Concern.visits``). A decision that looked further than its basis is not kept: the draft knows every path
that was read, the matcher whether a fact was observed or a condition asked again after a write.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from ..kube.patch import Draft, Patch, apply
from ..kube.paths import pointer
from ..mutation import record
from ..mutation.concerns.resources import VISITS as CONTAINERS
from ..mutation.pipeline import CONCERNS
from ..mutation.seal import Sealer, bearer_of
from . import response
from .matching import Matcher, known_of
from .outcome import Decision, Outcome, Verdict
from .recall import Footprint, footprint
from .review import AdmissionRequest
from .state import fingerprint

# Beside its containers and its annotations, what ``gpu`` is made from.
_OF_GPUS = frozenset({("spec", "resourceClaims"), ("spec", "schedulerName")})
# And beside the pod: what the claims that it names ask for, in its namespace, and which of them its group shares.
_CLAIMS = ("gpu", "claims")
# What a footprint with containers holds of each; a path is ("spec", "containers", 0, "resources", ...), or ends before.
_OF_A_CONTAINER = ((), ("name",), ("resources",))
# Ten times what the shipped policies write; anybody can send a pod that has them write more.
_LONGEST_COURSE = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The inputs of every decision that is made under the same answers of all conditions."""

    footprint: Footprint
    policies: frozenset[str]
    """The policies that match the pod as it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The inputs of one decision; ``key`` holds their values."""

    key: Hashable
    ground: Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A decision as it is kept."""

    patch: Patch
    """With the seal of the pod that it was made for."""
    record: str
    """The text of the record in the patch, for which each pod gets a seal of its own; empty for none."""
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...]
    verdict: Verdict

    def again(self, request: AdmissionRequest, pod: dict[str, Any], sealer: Sealer) -> Outcome:
        """Return the decision for another pod of the same basis.

        Raises:
            UnprovedError: the patch does not apply to the pod (a bug).
        """
        patch = self.patch
        if self.record:
            seal = sealer.seal(bearer_of(pod, request.namespace), self.record)
            patch = _with_record(patch, record.sealed(self.record, seal))
        apply(pod, patch)
        return Outcome(
            response=response.patched(request.uid, patch, self.warnings),
            verdict=self.verdict,
            decisions=self.decisions,
            patch=patch,
            warnings=self.warnings,
        )


def basis_of(matcher: Matcher) -> Basis | None:
    """Return the basis of the decision on a pod that has just come; None where it is everything, or too large."""
    question = matcher.question
    # What is taken out of ``managedFields`` depends on where the record is named there.
    if question is None or matcher.found.sent is not False:
        return None
    name = matcher.state.gang.name
    if name and known_of(matcher).group_of(name):
        return None  # which namespace the group is in counts, too
    ground = matcher.snapshot.recall.answer(("ground", question), lambda: _ground(matcher))
    values = fingerprint(matcher.state, ground.footprint) if ground is not None else None
    if ground is None or values is None:
        return None
    # What is written may name any of the namespace's PodGroups.
    # Whether a record counts is seen by the pod's name, which is not among the values.
    key = ("course", question, matcher.pod_groups, values, matcher.found)
    return Basis(key=key, ground=ground)


def course_of(outcome: Outcome, text: str, matcher: Matcher, draft: Draft, basis: Basis) -> Course | None:
    """Return what is worth keeping of a decision; None where it looked further than its basis.

    ``text`` is that of the record that was written, without its seal.
    """
    faulty = any(each.action in ("deny", "error", "conflict") for each in outcome.decisions)
    if faulty or not _within(basis.ground.footprint, draft) or not _foreseen(basis.ground, matcher):
        return None
    encoded = outcome.response["response"].get("patch", "")
    if len(encoded) + sum(len(each.message) for each in outcome.decisions) > _LONGEST_COURSE:
        return None
    return Course(
        patch=outcome.patch,
        record=text,
        decisions=outcome.decisions,
        warnings=outcome.warnings,
        verdict=outcome.verdict,
    )


def _with_record(patch: Patch, annotation: str) -> Patch:
    """Return the patch with another record, which it adds to the annotations or together with them."""
    return [
        {**each, "value": {**each["value"], record.PATH[-1]: annotation}}
        if each["path"] == _ANNOTATIONS
        else {**each, "value": annotation}
        if each["path"] == _RECORD
        else each
        for each in patch
    ]


_ANNOTATIONS, _RECORD = pointer(record.PATH[:-1]), pointer(record.PATH)


def _ground(matcher: Matcher) -> Ground | None:
    """Return what the policies that match are asked, and their builders visit; None where it is not bounded."""
    policies = matcher.matching()
    if policies is None:
        return None
    mutations = [mutation for policy in policies for mutation in policy.mutations]
    # The group's system decides what is written at all (``gate``). What is said may name how many nodes fit: that is
    # the whole of the pod's need.
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
    if rewritten and matcher.state.gpu.dialect:
        return None  # it may come from annotations, which are read again after a rewrite
    if rewritten:
        visited = visited - rewritten | _OF_GPUS
        reads.add(_CLAIMS)
        reads = reads.union(*(policy.conditions_read for policy in matcher.plan.policies))
    asked = footprint(reads)
    if asked is None:
        return None
    return Ground(
        footprint=replace(asked, paths=tuple(sorted({*asked.paths, *visited})), containers=bool(rewritten)),
        policies=frozenset(policy.name for policy in policies),
    )


def _within(known: Footprint, draft: Draft) -> bool:
    """Say whether the builders stayed in what the footprint says that they visit."""
    places = frozenset(known.paths)
    return all(
        not places.isdisjoint(path[:length] for length in range(1, len(path) + 1))
        or (known.containers and path[:2] in CONTAINERS and path[3:4] in _OF_A_CONTAINER)
        for path in draft.visited
    )


def _foreseen(ground: Ground, matcher: Matcher) -> bool:
    """Say whether whatever was observed and asked again, because of what was written, is made from the ground, too.

    A gang is made from all labels and annotations, and few of them are in the ground.
    """
    known = ground.footprint
    return (
        matcher.asked <= ground.policies
        and "gang" not in matcher.observed_again
        and (known.containers or "gpu" not in matcher.observed_again)
        and all(read is not None and _covers(known, read) for read in matcher.asked_again)
    )


def _covers(known: Footprint, read: Footprint) -> bool:
    return (
        (known.containers or set(read.gpu) <= set(known.gpu))
        and set(read.gang) <= set(known.gang)
        and set(read.paths) <= set(known.paths)
    )
