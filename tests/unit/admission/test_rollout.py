"""A percent rollout never splits a gang, and a new revision does not roll the dice again."""

from builders import gpu_pod, job_pod, owned
from podberth.admission.matching import rolled_out, rollout_key


def test_members_of_a_gang_share_one_key() -> None:
    keys = {rollout_key(job_pod(index, labels={"podberth.io/gang": "g"}), "n") for index in range(4)}

    assert keys == {"gang/n/g"}


def test_replicas_of_a_job_share_one_key_that_holds_no_uid() -> None:
    assert rollout_key(job_pod(0, uid="u1"), "n") == rollout_key(job_pod(1, uid="u2"), "n") == "Job/n/train"


def test_a_deployments_revisions_share_one_key() -> None:
    def revision(template_hash: str) -> str:
        document = gpu_pod(labels={"pod-template-hash": template_hash})
        return rollout_key(owned(document, "ReplicaSet", api_version="apps/v1", name=f"web-{template_hash}"), "n")

    assert revision("abc") == revision("xyz") == "Deployment/n/web"


def test_the_percentage_is_about_what_it_says_and_only_grows() -> None:
    keys = [f"Job/n/{number}" for number in range(2000)]
    chosen = {percent: {key for key in keys if rolled_out(percent, "p", key)} for percent in (0, 10, 50, 100)}

    assert chosen[0] == set()
    assert chosen[10] <= chosen[50] <= chosen[100] == set(keys)
    assert 150 < len(chosen[10]) < 250
