"""Decides on the pod of a template as the cluster would: by /mutate, and then by /validate on the mutated pod."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..admission.creation import request_of
from ..admission.decide import mutate_with_writes, validate
from ..admission.floor import without_floor
from ..admission.outcome import Decision, Written
from ..admission.review import AdmissionRequest
from ..admission.rollout import rolled_out, rollout_key
from ..admission.snapshot import Snapshot
from ..kube.json_patch import same
from ..kube.patch import Patch, apply, operations
from ..mutation import record
from ..mutation.change import Record
from ..native.judge import REQUESTER
from ..wellknown import FLOOR_PARAMS
from ..workload.projection import Projected, project
from ..workload.templates import Template
from .result import Wrote

_UNDONE: Final = "podberth decides in place of the floor"


class Decided(NamedTuple):
    """The decisions on the pod of one template, each with the phase of the decision (mutate or validate)."""

    pod: dict[str, Any]
    """The pod after the mutations."""
    decisions: Sequence[tuple[str, Decision]]
    written: Sequence[Written]
    projected: Sequence[Projected]
    wrote: tuple[Wrote, ...] = ()
    """The writes of each of podberth's policies, each with the first reason of that policy."""
    held_back: tuple[str, ...] = ()
    """The names of the policies whose rollout does not include the pod's workload."""

    @property
    def denied(self) -> bool:
        """Whether the cluster would refuse the template's pod."""
        return any(each.action == "deny" for _, each in self.decisions)

    @property
    def patch(self) -> Patch:
        """The JSON patch of the document that has the template."""
        return [operation for each in self.projected for operation in each.operations]


def decide(
    template: Template,
    namespace: str,
    snapshot: Snapshot,
    earlier: Sequence[Written] = (),
    user: Mapping[str, Any] = REQUESTER,
) -> Decided:
    """Return the decisions of /mutate on the template's pod, and of /validate on the result of /mutate.

    ``earlier`` are the writes of native policies, which the API server evaluates before it calls podberth. Among them,
    the writes of the floor (``admission.floor``) are undone, as in a cluster. ``user`` is the requester.

    Raises:
        ReviewError: no API server would send such a pod.
    """
    snapshot = snapshot.with_owners(template.owners)
    earlier = _without_floor(template.pod, earlier)
    whole = [operation for each in earlier for operation in each.patch]
    pod = apply(template.pod, whole)
    request = request_of({"userInfo": user, "dryRun": True, "namespace": namespace, "object": pod})
    outcome, written = mutate_with_writes(request, snapshot)
    decisions = [("mutate", each) for each in outcome.decisions]
    held_back = tuple(_held_back(pod, request, snapshot))
    final = apply(pod, outcome.patch)
    if outcome.verdict == "denied":
        return Decided(final, decisions, (), (), held_back=held_back)
    after = validate(replace(request, object=final), snapshot)
    decisions += [("validate", each) for each in after.decisions]
    decided = Decided(final, decisions, (*earlier, *written), (), held_back=held_back)
    if decided.denied:
        return decided._replace(written=())
    projected = project(template, [each.patch for each in decided.written], [*whole, *outcome.patch])
    recorded = record.find(final, request.namespace, snapshot.sealer).record
    return decided._replace(projected=projected, wrote=_wrote(written, recorded))


def _without_floor(pod: dict[str, Any], earlier: Sequence[Written]) -> Sequence[Written]:
    """Return the writes of native policies on a pod, with one more that undoes the writes of the floor.

    If the floor's native policies wrote nothing, the result is ``earlier``. If no other native policy wrote, it is
    empty.
    """
    written = apply(pod, [operation for each in earlier for operation in each.patch])
    bare = without_floor(written)
    if bare is written:
        return earlier
    if same(bare, pod):
        return ()
    undone = Written(policy=FLOOR_PARAMS, mutation="", reason=_UNDONE, patch=operations(written, bare))
    return (*earlier, undone)


def unasked(template: Template, earlier: Sequence[Written]) -> Decided:
    """Return the result for a template's pod about which the API server would not ask podberth: no decisions.

    The patch has only ``earlier``, the writes of MutatingAdmissionPolicies.
    """
    patches = [each.patch for each in earlier]
    whole = [operation for each in patches for operation in each]
    return Decided(apply(template.pod, whole), (), earlier, project(template, patches, whole))


def _held_back(pod: dict[str, Any], request: AdmissionRequest, snapshot: Snapshot) -> Iterator[str]:
    """Yield the names of the policies whose rollout does not include the pod's workload."""
    known = record.find(pod, request.namespace, snapshot.sealer).standing
    for policy in snapshot.policies:
        rollout = policy.source.spec.rollout
        if rollout is not None:
            key = rollout_key(policy.name, pod, request.namespace, snapshot, known)
            if not rolled_out(rollout.percent, policy.name, key):
                yield policy.name


def _wrote(written: Sequence[Written], recorded: Record) -> tuple[Wrote, ...]:
    """Return the writes of each policy in ``written`` that changed the pod.

    The values are those in ``recorded``, the pod's record. The reason is the text of the field ``reason`` of the
    policy's first mutation that changed the pod.
    """
    reasons: dict[str, str] = {}
    for each in written:
        if each.patch:
            reasons.setdefault(each.policy, " ".join(each.reason.split()))
    return tuple(
        Wrote(policy=policy, recorded=recorded.get(policy, {}), reason=reason) for policy, reason in reasons.items()
    )
