"""Which pods a policy that rolls out by percent applies to: never a part of a gang, and the same ones tomorrow."""

import hashlib
from itertools import dropwhile
from typing import Any

from ..kube import pod as pods
from ..kube.names import cron_job_of
from ..kube.patch import Draft
from ..mutation import membership, record
from ..mutation.change import Record
from ..workload.memberships import OPERATORS
from .review import AdmissionRequest
from .snapshot import Snapshot
from .state import gang_in

_POD_TEMPLATE_HASH = "pod-template-hash"


def rollout_key(policy: str, pod: dict[str, Any], request: AdmissionRequest, snapshot: Snapshot, known: Record) -> str:
    """Return what a policy's rollout hashes: the operator's object, the group, or the top owner, by name.

    Never a uid or a pod-template-hash, so that a new revision does not roll the dice again; and nothing that the policy
    did not see on /mutate, so that /validate agrees: no generated name, and no gang that came behind it, which is
    ``known`` to be podberth's.
    """
    pod, namespace = _as_seen_by(policy, pod, snapshot, known), request.namespace
    group = gang_in(pod, request, snapshot)
    labels = pods.labels(pod)
    for row in OPERATORS:
        if row.label and labels.get(row.label):
            return f"{row.label}/{namespace}/{labels[row.label]}"
    # The gang of an Indexed Job is named by its uid; the Job itself, below, by its name.
    if group.known and group.source != "Job":
        return f"gang/{namespace}/{group.name}"
    owner = pods.controller(pod)
    if owner is None:
        metadata = pods.metadata(pod)
        return f"pod/{namespace}/{metadata.get('generateName') or metadata.get('name') or ''}"
    if owner.kind == "Job":
        return f"Job/{namespace}/{cron_job_of(owner.name)}"
    suffix = f"-{labels.get(_POD_TEMPLATE_HASH)}"
    if owner.kind == "ReplicaSet" and owner.name.endswith(suffix):
        return f"Deployment/{namespace}/{owner.name.removesuffix(suffix)}"
    return f"{owner.kind}/{namespace}/{owner.name}"


def _as_seen_by(policy: str, pod: dict[str, Any], snapshot: Snapshot, known: Record) -> dict[str, Any]:
    """Return the pod without the gang that, by the record, this policy or a later one has written."""
    draft = Draft(pod)
    wrote = record.held(draft, known)
    for each in dropwhile(lambda each: each.name != policy, snapshot.policies):
        for part in wrote.get(each.name, {}).get("gang", ()):
            draft.remove(membership.MEMBERSHIP[part])
    return draft.document


def rolled_out(percent: int, policy: str, key: str) -> bool:
    """Say whether ``key`` is among the first ``percent`` of a hundred; stable, and independent between policies."""
    digest = hashlib.sha256(f"{policy}\n{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % 100 < percent
