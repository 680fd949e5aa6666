"""A creation decided before, again: for a pod that is equal in everything the decision was made from.

What policies answer is remembered one by one (``recall``); here it is the whole of a decision, with what it wrote. The
basis of a decision is what the matching policies' expressions read of the pod as it came, and what their builders read
and write (``Concern.visits``). A decision that looked further than its basis is not kept: the draft knows
every path that was read, the matcher whether a fact was observed or a condition asked anew after a write.

Names that policies only pass on, of a gang and of containers, are replaced for it by others (``stand_in``).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from ..kube.patch import Draft, apply
from ..mutation import record
from ..mutation.concerns.resources import VISITS as CONTAINERS
from ..mutation.leaf import is_label_value, is_object_name
from ..mutation.pipeline import CONCERNS
from ..mutation.seal import Sealer, bearer_of
from . import messages, response, stand_in
from .matching import GANG_NAME, Matcher, known_of
from .outcome import Decision, Outcome, Verdict
from .recall import Footprint, footprint
from .review import AdmissionRequest
from .state import fingerprint, observe

# Beside its containers and its annotations, what ``gpu`` is made from.
_OF_GPUS = frozenset({("spec", "resourceClaims"), ("spec", "schedulerName")})
# And beside the pod: what the claims that it names ask for, in its namespace, and which of them its group shares.
_CLAIMS = ("gpu", "claims")
# What a slice is told by.
_OF_THE_MEMBER = frozenset({("gang", "index"), ("gang", "role")})
# What a member of a group is told from one beside it by, whatever a policy asks of it.
_OF_THE_MEMBERS = frozenset({("gang", "size"), ("gang", "accelerated"), ("gpu", "kind")})
# What a footprint with containers holds of each; a path is ("spec", "containers", 0, "resources", ...), or ends before.
_OF_A_CONTAINER = ((), ("name",), ("resources",))
# Ten times what the shipped policies write; anybody can send a pod that has them write more.
_LONGEST_COURSE = 16 * 1024
# Not every gang's name is an object's, so what stands for it would not be judged as the name is.
_OBJECT_NAMES = frozenset({"schedulerName", "runtimeClassName", "priorityClassName"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where that stands which decisions under the same answers of all conditions are made from."""

    footprint: Footprint
    policies: frozenset[str]
    """Which policies match the pod as it came."""
    names_weigh: bool
    """Whether what is decided may depend on what containers are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What one decision is made from: ``key`` holds the values."""

    key: Hashable
    ground: Ground
    pod: dict[str, Any]
    """What is decided on in the pod's place: the pod, but for names of containers."""
    gang: str
    """What stands for the gang's name; the name itself where nothing does."""
    names: Mapping[str, str]
    """The pod's own names by what stands for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A decision as it is kept; texts hold what stands for names."""

    patch: str
    """RFC 6902 operations as JSON; empty for none."""
    record: str
    """The text of the record in the patch, for which each pod gets a seal of its own; empty for none."""
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...]
    verdict: Verdict
    tells_names: bool
    """Whether a name is in the decisions, and not in the patch alone."""

    def again(
        self, request: AdmissionRequest, pod: dict[str, Any], names: Mapping[str, str], sealer: Sealer
    ) -> Outcome:
        """Return the decision for another pod of the same basis; ``names`` are its own by what stands for them.

        Raises:
            UnprovedError: the patch does not apply to the pod (a bug).
        """
        text = self.patch
        if self.record:
            seal = sealer.seal(bearer_of(pod, request.namespace), _named(self.record, names))
            text = text.replace(stand_in.SEAL, seal)
        text = _named(text, names)
        patch = orjson.loads(text) if text else []
        apply(pod, patch)
        decisions, warnings = self.decisions, self.warnings
        if self.tells_names:
            decisions = tuple(
                [Decision(each.policy, each.action, _named(each.message, names), each.fault) for each in decisions]
            )
            # Made anew, for they are cut, and told once where they are equal.
            warnings = messages.of_mutations(decisions, patch)
        return Outcome(
            response=response.patched(request.uid, patch, warnings, text=text.encode()),
            verdict=self.verdict,
            decisions=decisions,
            patch=patch,
            warnings=warnings,
        )


def basis_of(matcher: Matcher) -> Basis | None:
    """Return the basis of the decision on a pod that has just come; None where it is everything, or too large."""
    name = matcher.state.gang.name
    question = matcher.question
    # What is taken out of ``managedFields`` depends on where the record is named there.
    if question is None or matcher.found.sent is not False:
        return None
    # What stands for the name is of no group, and may itself name a PodGroup.
    if name and (not is_label_value(name) or not is_object_name(name) or known_of(matcher).group_of(name)):
        return None
    ground = matcher.snapshot.recall.answer(("ground", question), lambda: _ground(matcher))
    if ground is None:
        return None
    state = matcher.state
    subject, names = (matcher.pod, {}) if ground.names_weigh else stand_in.rename(matcher.pod)
    if names:
        state = observe(subject, matcher.request, matcher.snapshot)
    values = fingerprint(state, ground.footprint)
    if values is None:
        return None
    # Where the pod says the name elsewhere, a builder may compare the two.
    gang = name if name.encode() in values[-1] else stand_in.for_gang(name)
    if gang != name:
        names[gang] = name
    # What is written may name any of the namespace's PodGroups.
    # Whether a record counts is seen by the pod's name, which is not among the values.
    key = ("course", question, matcher.pod_groups, gang, values, matcher.found)
    return Basis(key=key, ground=ground, pod=subject, gang=gang, names=names)


def course_of(outcome: Outcome, text: str, matcher: Matcher, draft: Draft, basis: Basis) -> Course | None:
    """Return what is worth keeping of a decision that was made for the stand-in; None where it left its basis.

    ``text`` is that of the record that was written, without its seal.
    """
    faulty = any(each.action in ("deny", "error", "conflict") for each in outcome.decisions)
    if faulty or not _within(basis.ground.footprint, draft) or not _foreseen(basis.ground, matcher):
        return None
    patch = orjson.dumps(outcome.patch).decode() if outcome.patch else ""
    if len(patch) + sum(len(each.message) for each in outcome.decisions) > _LONGEST_COURSE:
        return None
    return Course(
        patch=patch,
        record=text,
        decisions=outcome.decisions,
        warnings=outcome.warnings,
        verdict=outcome.verdict,
        tells_names=any(token in each.message for token in basis.names for each in outcome.decisions),
    )


def _named(text: str, names: Mapping[str, str]) -> str:
    for token, name in names.items():
        text = text.replace(token, name)
    return text


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
        paths = CONCERNS[mutation.concern].visits({**mutation.leaves, **mutation.facts})
        if paths is None or (mutation.concern in _OBJECT_NAMES and GANG_NAME in mutation.facts.values()):
            return None
        if mutation.concern == "gang":
            named = mutation.facts.get("name") == GANG_NAME
            if not named and "system" in {**mutation.leaves, **mutation.facts}:
                return None  # any group may have that name
            reads |= _OF_THE_MEMBERS if named else _OF_THE_MEMBERS | {GANG_NAME}  # so may the pod's own gang
        visited.update(paths)
        if mutation.concern == "topology" and "slice" in {**mutation.leaves, **mutation.facts}:
            reads |= _OF_THE_MEMBER
        reads |= mutation.reads | (set(mutation.facts.values()) - {GANG_NAME})
    rewritten = visited.intersection(CONTAINERS)
    if rewritten and matcher.state.gpu.dialect:
        return None  # it may come from annotations, which a rewrite would have us read again
    conditions: frozenset[tuple[str, ...]] = frozenset()
    if rewritten:
        visited = visited - rewritten | _OF_GPUS
        reads.add(_CLAIMS)
        conditions = conditions.union(*(policy.conditions_read for policy in matcher.plan.policies))
    asked = footprint(reads | conditions)
    if asked is None:
        return None
    return Ground(
        footprint=replace(asked, paths=tuple(sorted({*asked.paths, *visited})), containers=bool(rewritten)),
        policies=frozenset(policy.name for policy in policies),
        names_weigh=not rewritten or stand_in.weigh_names(mutations, conditions),
    )


def _within(known: Footprint, draft: Draft) -> bool:
    """Say whether the builders stayed in what the footprint says that they visit."""
    return all(
        (known.containers and path[:2] in CONTAINERS and path[3:4] in _OF_A_CONTAINER)
        or any(path[: len(below)] == below for below in known.paths)
        for path in draft.visited
    )


def _foreseen(ground: Ground, matcher: Matcher) -> bool:
    """Say whether whatever was observed and asked again, because of what was written, is made from the ground, too.

    The stand-in goes into labels and annotations first: a policy that is asked behind that observes the gang again.
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
