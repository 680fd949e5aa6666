"""The list of all mutations, in the order of docs/mutations.md, and the function that applies a mutation.

A policy's mutations apply all or not at all: the caller passes a fork of a draft, and keeps the fork only if no
mutation raises an error.
"""

from collections.abc import Mapping
from typing import Final

from ..kube.patch import Draft
from .change import Change, Proposal, Record, Skipped
from .concern import Concern, Surroundings
from .concerns import (
    annotations,
    apply_configuration,
    env,
    gang,
    json_patch,
    labels,
    node_affinity,
    node_selector,
    priority_class_name,
    resource_claims,
    resources,
    runtime_class_name,
    scheduler_name,
    tolerations,
    topology,
)
from .earlier import EarlierChanges

PIPELINE: Final[tuple[Concern, ...]] = (
    tolerations.CONCERN,
    node_selector.CONCERN,
    node_affinity.CONCERN,
    resources.CONCERN,
    gang.CONCERN,
    topology.CONCERN,
    labels.CONCERN,
    annotations.CONCERN,
    env.CONCERN,
    scheduler_name.CONCERN,
    runtime_class_name.CONCERN,
    priority_class_name.CONCERN,
    resource_claims.CONCERN,
    apply_configuration.CONCERN,
    json_patch.CONCERN,
)
CONCERNS: Final[Mapping[str, Concern]] = {concern.name: concern for concern in PIPELINE}
"""All mutations by name."""
ANYTHING: Final = tuple(concern.name for concern in PIPELINE if concern.anything)
"""The names of the mutations that can write any field."""
_WROTE_AT = {concern.name: concern.wrote_at for concern in PIPELINE}


def apply(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    """Apply a policy's proposal to the pod's draft, and return the change; None if there was nothing to change.

    The result is Skipped, with the reason, if the mutation cannot be applied to this pod.

    Raises:
        EvaluationError: a value of the proposal is invalid; the draft may then be partly edited.
    """
    return CONCERNS[proposal.concern].build(draft, proposal, surroundings)


def earlier(record: Record) -> EarlierChanges:
    """Return the changes in a record as an object that can be searched."""
    return EarlierChanges(record, ANYTHING, _WROTE_AT)
