"""A percent rollout never splits a gang, and a new revision does not roll the dice again."""

from typing import Any

from builders import gpu_pod, job_pod, owned, review
from podberth.admission.review import decode_review
from podberth.admission.rollout import rolled_out, rollout_key
from podberth.admission.state import observe
from podberth.wellknown import GANG_LABEL
from snapshots import snapshot


def key(document: dict[str, Any]) -> str:
    return rollout_key(observe(document, decode_review(review(document)), snapshot()), "default")


def test_members_of_a_declared_gang_share_one_key_whatever_makes_them() -> None:
    label = {GANG_LABEL: "g"}
    members = [job_pod(0, labels=label), job_pod(1, job="launcher", uid="u2", labels=label), gpu_pod(labels=label)]

    assert {key(member) for member in members} == {"gang/default/g"}


def test_jobs_of_one_job_set_share_one_key() -> None:
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/jobset-uid": "u"}
    members = [job_pod(0, job=f"train-{role}-0", uid=role, labels=labels) for role in ("head", "worker")]

    assert {key(member) for member in members} == {"jobset.sigs.k8s.io/jobset-name/default/train"}


def test_replicas_of_a_job_share_one_key_that_holds_no_uid() -> None:
    assert key(job_pod(0, uid="u1")) == key(job_pod(1, uid="u2")) == "Job/default/train"


def test_the_runs_of_a_cron_job_share_one_key() -> None:
    assert key(job_pod(0, job="nightly-29384750")) == key(job_pod(0, job="nightly-29384760")) == "Job/default/nightly"


def test_the_label_that_podberth_writes_changes_no_key() -> None:
    assert key(job_pod(0, uid="u1", labels={GANG_LABEL: "job-u1"})) == key(job_pod(0, uid="u1"))


def test_a_deployments_revisions_share_one_key() -> None:
    def revision(template_hash: str) -> str:
        document = gpu_pod(labels={"pod-template-hash": template_hash})
        return key(owned(document, "ReplicaSet", api_version="apps/v1", name=f"web-{template_hash}"))

    assert revision("abc") == revision("xyz") == "Deployment/default/web"


def test_the_percentage_is_about_what_it_says_and_only_grows() -> None:
    keys = [f"Job/n/{number}" for number in range(2000)]
    chosen = {percent: {each for each in keys if rolled_out(percent, "p", each)} for percent in (0, 10, 50, 100)}

    assert chosen[0] == set()
    assert chosen[10] <= chosen[50] <= chosen[100] == set(keys)
    assert 150 < len(chosen[10]) < 250
