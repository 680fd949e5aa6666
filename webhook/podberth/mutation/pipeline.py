"""From what a policy proposes to what the pod becomes: the one place that knows all builders.

All proposals of one policy apply, or none: the caller hands in a fork of its draft and keeps it only when nothing was
raised.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..devices.claims import NO_DEVICES, KnownDevices
from ..kube.patch import Draft
from ..kube.schema import PodSchema
from . import (
    affinity,
    apply_configuration,
    claims,
    colocation,
    environment,
    gang,
    json_patch,
    metadata,
    names,
    resources,
    tolerations,
)
from .change import Change, Proposal, Skipped
from .record import Record


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What builders must know beyond the pod itself."""

    gang: Callable[[], gang.GangFacts]
    """What is known of the pod's gang as it is by now, and of the groups that it may join."""
    default_priority_class: str
    """The cluster's global default; empty where none is known."""
    priority_classes: frozenset[str] | None
    """Those that the cluster has; None: not all of them are known."""
    schema: PodSchema
    devices: KnownDevices = NO_DEVICES
    """What claims ask for."""
    namespace: str = ""
    """The review's."""
    record: Callable[[], Record] = dict
    """Returns what was written so far, by the policy itself, too."""


_VISITS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "tolerations": (tolerations.PATH,),
    "resources": resources.VISITS,
    "nodeAffinity": affinity.VISITS,
    "gang": gang.VISITS,
    "topology": colocation.VISITS,
    "schedulerName": (names.FIELDS["schedulerName"],),
    "runtimeClassName": (names.FIELDS["runtimeClassName"],),
    "priorityClassName": (names.FIELDS["priorityClassName"], *names.COMPUTED),
}
ANYTHING = frozenset({"applyConfiguration", "jsonPatch"})
"""Concerns that can write anything: what the policy says is all that is known of them."""


def visits(concern: str, leaves: Iterable[str]) -> tuple[tuple[str, ...], ...] | None:
    """Return the paths that the builder of a concern reads or writes, whatever a policy asks of it.

    None where that is no short list: all of every container, or of the pod.

    ``leaves`` are the names of the mutation's leaves.
    """
    if concern in ("labels", "annotations"):
        return tuple(("metadata", concern, key) for key in leaves)
    return _VISITS.get(concern)


Builder: TypeAlias = Callable[[Draft, Proposal, Surroundings], Change | Skipped | None]


def apply(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    """Let the proposal's builder edit the draft; None when there was nothing to do.

    Raises:
        EvaluationError: a leaf's value is not what the builder needs; the draft may be half edited then, as it may be
            after a ``Skipped`` of a concern in ``ANYTHING``.
    """
    build = BUILDERS[proposal.concern]
    if proposal.concern not in ANYTHING:
        return build(draft, proposal, surroundings)  # and nothing is read here, or the draft knows of a visit more
    field = names.FIELDS["priorityClassName"]
    before = draft.get(field)
    made = build(draft, proposal, surroundings)
    if isinstance(made, Change) and draft.get(field) != before:
        refused = names.unknown_class(draft.get(field), surroundings.priority_classes)
        return Skipped(proposal.concern, refused) if refused else made
    return made


def _tolerations(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
    return tolerations.add(draft, proposal.leaves[""])


def _node_affinity(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | Skipped | None:
    if "required" in proposal.leaves:
        return affinity.require(draft, proposal.leaves["required"])
    return affinity.prefer(draft, proposal.leaves["preferred"], proposal.leaves["weight"])


def _resources(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
    return resources.rewrite(draft, proposal.leaves[""])


def _labels(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
    return metadata.set_labels(draft, proposal.leaves)


def _annotations(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
    return metadata.set_annotations(draft, proposal.leaves)


def _gang(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    leaves = proposal.leaves
    return gang.join(draft, leaves["name"], leaves.get("size", 0), leaves.get("system"), surroundings.gang())


def _topology(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    leaves = proposal.leaves
    return colocation.colocate(draft, leaves["level"], leaves["mode"], leaves.get("slice"), surroundings.gang())


def _env(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | Skipped | None:
    return environment.add(draft, proposal.leaves)


def _scheduler_name(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
    return names.set_scheduler(draft, proposal.leaves[""])


def _runtime_class_name(draft: Draft, proposal: Proposal, _: Surroundings) -> Change | None:
    return names.set_runtime_class(draft, proposal.leaves[""])


def _priority_class_name(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    default, known = surroundings.default_priority_class, surroundings.priority_classes
    return names.set_priority_class(draft, proposal.leaves[""], default, known)


def _resource_claims(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    def in_stead(claim: Mapping[str, Any]) -> int | None:
        named = {"resourceClaimTemplateName": claim["template"]}
        requests = claim.get("requests", ())
        return surroundings.devices.in_stead(surroundings.namespace, named, claim["instead"], requests)

    wrote = (item for concerns in surroundings.record().values() for item in concerns.get("resourceClaims", ()))
    return claims.add(draft, proposal.leaves[""], in_stead, [item for item in wrote if "instead" in item])


def _apply_configuration(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | None:
    return apply_configuration.apply(draft, proposal.leaves[""], surroundings.schema)


def _json_patch(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | None:
    return json_patch.apply(draft, proposal.leaves[""], surroundings.schema)


BUILDERS: Mapping[str, Builder] = {
    "tolerations": _tolerations,
    "nodeAffinity": _node_affinity,
    "resources": _resources,
    "gang": _gang,
    "topology": _topology,
    "labels": _labels,
    "annotations": _annotations,
    "env": _env,
    "schedulerName": _scheduler_name,
    "runtimeClassName": _runtime_class_name,
    "priorityClassName": _priority_class_name,
    "resourceClaims": _resource_claims,
    "applyConfiguration": _apply_configuration,
    "jsonPatch": _json_patch,
}
