"""A percent rollout never splits a gang, and a new revision does not roll the dice again."""

from typing import Any

import pytest

from builders import gpu_pod, job_pod, owned, pod_group, review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.rollout import rolled_out, rollout_key
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.mutation.seal import Sealer
from podberth.wellknown import GANG_LABEL
from records import arrived, with_record
from snapshots import policy, snapshot

CLUSTER = Sealer.of(b"this cluster's")
POLICIES = {f"p{number}" for number in range(20)}


def key(document: dict[str, Any]) -> str:
    return rollout_key("p", document, decode_review(review(document)).namespace, snapshot(), {})


NOTED = arrived(gpu_pod())["metadata"]["managedFields"]


def judges(document: dict[str, Any], of: Snapshot) -> set[str]:
    return {each.policy for each in decide.validate(decode_review(review(document)), of).decisions}


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


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("name", ["'ours'", "'job-' + object.metadata.labels['batch.kubernetes.io/controller-uid']"])
def test_a_gang_that_a_policy_gives_the_pod_counts_for_those_behind_it(name: str, order: int) -> None:
    """For all others it never does: not on /validate, and not when the webhook is called again."""
    asks = """
  rollout: {percent: 50}
  mutations: [{labels: {name: "'yes'"}}]
  validations: [{expression: 'false', message: judged}]
  validationActions: [Warn]
"""
    known = snapshot(
        policy("gang", f'  mutations:\n  - gang: {{name: "{name}"}}\n', order=order),
        *(policy(each, asks.replace("name", each), order=2) for each in POLICIES),
        objects=[{**pod_group("job-u1", 2, "rack"), "metadata": {"name": "job-u1", "namespace": "default"}}],
    )
    document = job_pod(0, uid="u1")
    final = apply(document, decide.mutate(decode_review(review(document)), known).patch)
    judged = decide.validate(decode_review(review(final)), known)
    given = "gang/default/ours" if name == "'ours'" else "gang/default/job-u1"
    expected = {each for each in POLICIES if rolled_out(50, each, given if order == 1 else "Job/default/train")}

    assert final["metadata"]["labels"].keys() & POLICIES == expected
    assert {each.policy for each in judged.decisions} == expected
    assert decide.mutate(decode_review(review(final)), known).patch == []


def test_a_name_that_is_generated_between_the_two_reviews_changes_no_key() -> None:
    """The API server fills it in behind mutating webhooks, before validating ones (registry Store.Create)."""
    document = gpu_pod(name="")
    document["metadata"] = {"namespace": "default", "generateName": "run-"}
    named = {**document, "metadata": {**document["metadata"], "name": "run-x7k2p"}}

    assert key(document) == key(named) == "pod/default/run-"


@pytest.mark.parametrize(
    ("kind", "label"), [("Deployment", "pod-template-hash"), ("Rollout", "rollouts-pod-template-hash")]
)
def test_the_revisions_of_a_deployment_or_a_rollout_share_one_key(kind: str, label: str) -> None:
    def revision(template_hash: str) -> str:
        document = gpu_pod(labels={label: template_hash})
        return key(owned(document, "ReplicaSet", api_version="apps/v1", name=f"web-{template_hash}"))

    assert revision("abc") == revision("xyz") == f"{kind}/default/web"


def test_the_percentage_is_about_what_it_says_and_only_grows() -> None:
    keys = [f"Job/n/{number}" for number in range(2000)]
    chosen = {percent: {each for each in keys if rolled_out(percent, "p", each)} for percent in (0, 10, 50, 100)}

    assert chosen[0] == set()
    assert chosen[10] <= chosen[50] <= chosen[100] == set(keys)
    assert 150 < len(chosen[10]) < 250


@pytest.mark.parametrize("way", ["sent", "unknown"])
def test_a_record_that_was_sent_moves_no_pod_across_the_percentage_of_what_judges(way: str) -> None:
    """It would say that podberth wrote the gang, behind the policies that judge."""
    of = snapshot(
        *(
            policy(
                each,
                "  rollout: {percent: 50}\n"
                "  validations: [{expression: 'false', message: judged}]\n"
                "  validationActions: [Warn]",
                order=2,
            )
            for each in POLICIES
        ),
        policy("gang", "  mutations:\n  - gang: {name: \"'ours'\"}\n", order=3),
    ).with_sealer(CLUSTER)
    plain = job_pod(0, uid="u1", labels={GANG_LABEL: "ours"})
    sent = with_record(plain, {"gang": {"gang": {"label": "ours"}}}, CLUSTER)
    bearer = arrived(sent) if way == "sent" else sent

    assert judges(bearer, of) == judges(plain, of)
    # One that podberth wrote in this request counts: its gang came behind them.
    assert judges({**sent, "metadata": {**sent["metadata"], "managedFields": NOTED}}, of) != judges(plain, of)
