"""From what a policy proposes to what the pod becomes: the one place that knows all builders.

All proposals of one policy apply, or none: the caller hands in a fork of its draft and keeps it only when nothing was
raised.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..kube.patch import Draft
from . import affinity, gang, metadata, resources, tolerations
from .change import Change, Concern, Proposal, Skipped


@dataclass(frozen=True, slots=True)
class Membership:
    """What the gang builders must know of the pod's group beyond the pod itself."""

    pod_groups: frozenset[str]
    """Names of the native PodGroups in the pod's namespace."""


_VISITS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "tolerations": (tolerations.PATH,),
    "resources": resources.VISITS,
    "nodeAffinity": affinity.VISITS,
    "gang": gang.VISITS,
    "topology": gang.VISITS,
}


def visits(concern: str, leaves: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the paths that the builder of a concern reads or writes, whatever a policy asks of it.

    ``leaves`` are the names of the mutation's leaves.
    """
    if concern in ("labels", "annotations"):
        return tuple(("metadata", concern, key) for key in leaves)
    return _VISITS[concern]


Builder: TypeAlias = Callable[[Draft, Proposal, Membership], Change | Skipped | None]


def apply(draft: Draft, proposal: Proposal, membership: Membership) -> Change | Skipped | None:
    """Let the proposal's builder edit the draft; None when there was nothing to do.

    Raises:
        EvaluationError: a leaf's value is not what the builder needs; the draft may be half edited then.
    """
    return BUILDERS[proposal.concern](draft, proposal, membership)


def _tolerations(draft: Draft, proposal: Proposal, _: Membership) -> Change | None:
    return tolerations.add(draft, proposal.leaves[""])


def _node_affinity(draft: Draft, proposal: Proposal, _: Membership) -> Change | Skipped | None:
    if "required" in proposal.leaves:
        return affinity.require(draft, proposal.leaves["required"])
    return affinity.prefer(draft, proposal.leaves["preferred"], proposal.leaves["weight"])


def _resources(draft: Draft, proposal: Proposal, _: Membership) -> Change | None:
    return resources.rewrite(draft, proposal.leaves[""])


def _labels(draft: Draft, proposal: Proposal, _: Membership) -> Change | None:
    return metadata.set_labels(draft, proposal.leaves)


def _annotations(draft: Draft, proposal: Proposal, _: Membership) -> Change | None:
    return metadata.set_annotations(draft, proposal.leaves)


def _gang(draft: Draft, proposal: Proposal, membership: Membership) -> Change | None:
    name = proposal.leaves["name"]
    return gang.join(draft, name, proposal.leaves["size"], pod_group_exists=name in membership.pod_groups)


def _topology(draft: Draft, proposal: Proposal, _: Membership) -> Change | Skipped | None:
    return gang.colocate(draft, proposal.leaves["level"], proposal.leaves["mode"])


BUILDERS: Mapping[Concern, Builder] = {
    "tolerations": _tolerations,
    "nodeAffinity": _node_affinity,
    "resources": _resources,
    "gang": _gang,
    "topology": _topology,
    "labels": _labels,
    "annotations": _annotations,
}
