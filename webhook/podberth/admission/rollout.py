"""Decides to which pods a policy with a rollout percentage applies: always to all pods of a workload, or to none."""

import hashlib
from itertools import dropwhile
from typing import Any

from ..kube import pod as pods
from ..kube.object_names import cron_job_of
from ..kube.patch import Draft
from ..mutation import membership, record
from ..mutation.change import Record
from ..workload.memberships import OPERATORS
from ..workload.owners import maker_of
from .description import gang_in
from .snapshot import Snapshot


def rollout_key(policy: str, pod: dict[str, Any], namespace: str, snapshot: Snapshot, known: Record) -> str:
    """Return the text whose hash decides a policy's rollout: the name of the workload that the pod belongs to.

    The text is the first of these names: the custom resource in an operator's label on the pod, the pod's gang, the
    pod's controller, the generateName of the pod, the pod. A pod of a Deployment or a Rollout gets the name of that
    object, not of the ReplicaSet; a pod of a CronJob gets the name of the CronJob, not of the Job.

    The text has no uid and no hash of a template: a new revision of a workload gets an equal text. The text depends
    only on fields that the policy saw on /mutate: /validate gets an equal text. So a gang does not count if the record
    ``known`` says that this policy or a later policy wrote the gang's fields on the pod.
    """
    pod = _as_seen_by(policy, pod, snapshot, known)
    group = gang_in(pod, namespace, snapshot)
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
    maker = maker_of(owner.name, labels) if owner.kind == "ReplicaSet" else None
    kind, name = maker or (owner.kind, owner.name)
    return f"{kind}/{namespace}/{name}"


def _as_seen_by(policy: str, pod: dict[str, Any], snapshot: Snapshot, known: Record) -> dict[str, Any]:
    """Return the pod without gang fields that, by the record ``known``, this policy or a later policy wrote."""
    draft = Draft(pod)
    wrote = record.held(draft, known)
    for each in dropwhile(lambda each: each.name != policy, snapshot.policies):
        for part in wrote.get(each.name, {}).get("gang", ()):
            draft.remove(membership.MEMBERSHIP[part])
    return draft.document


def rolled_out(percent: int, policy: str, key: str) -> bool:
    """Return whether the policy applies to pods with the rollout key ``key``.

    The policy applies if the hash (0 to 99) of ``policy`` and ``key`` is below ``percent``.
    """
    digest = hashlib.sha256(f"{policy}\n{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % 100 < percent
