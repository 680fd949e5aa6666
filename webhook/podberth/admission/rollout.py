"""Which pods a policy that rolls out by percent applies to: never a part of a gang, and the same ones tomorrow."""

import hashlib
import re

from ..kube import pod as pods
from ..workload.operators import OPERATOR_ROWS
from .state import PodState

_POD_TEMPLATE_HASH = "pod-template-hash"
# A CronJob's Jobs are called after the minute of their start (kubernetes pkg/controller/cronjob, getJobName).
_CRON_MINUTES = re.compile(r"-\d{8}$")


def rollout_key(state: PodState, namespace: str) -> str:
    """Return what a percent rollout hashes: the operator's object, the group, or the top owner, by name.

    Never a uid or a pod-template-hash, so that a new revision does not roll the dice again; and nothing that podberth
    itself writes, so that /mutate and /validate agree.
    """
    labels = pods.labels(state.pod)
    for row in OPERATOR_ROWS:
        if row.label and labels.get(row.label):
            return f"{row.label}/{namespace}/{labels[row.label]}"
    # The gang of an Indexed Job is named by its uid; the Job itself, below, by its name.
    if state.gang.known and state.gang.source != "Job":
        return f"gang/{namespace}/{state.gang.name}"
    owner = pods.controller(state.pod)
    if owner is None:
        metadata = pods.metadata(state.pod)
        return f"pod/{namespace}/{metadata.get('name') or metadata.get('generateName') or ''}"
    if owner.kind == "Job":
        return f"Job/{namespace}/{_CRON_MINUTES.sub('', owner.name)}"
    suffix = f"-{labels.get(_POD_TEMPLATE_HASH)}"
    if owner.kind == "ReplicaSet" and owner.name.endswith(suffix):
        return f"Deployment/{namespace}/{owner.name.removesuffix(suffix)}"
    return f"{owner.kind}/{namespace}/{owner.name}"


def rolled_out(percent: int, policy: str, key: str) -> bool:
    """Say whether ``key`` is among the first ``percent`` of a hundred; stable, and independent between policies."""
    digest = hashlib.sha256(f"{policy}\n{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % 100 < percent
