"""What a Job says about failures of its pods, as policies see it: `gang.job`."""

from typing import Any

import pytest

from builders import cron_job, gpu_pod, job
from named_owners import gang_of
from podberth.kinds.jobs import JobFailures
from podberth.workload.owners import LOOKED_UP, keep
from podberth.workload.templates import templates

JSON = dict[str, Any]
IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def of(document: JSON) -> JobFailures | None:
    [made] = templates(document, namespace="team")
    return gang_of(made.pod, "team", made.owners).job


def said(**fields: Any) -> JobFailures | None:
    document = job(gpu_pod())
    del document["spec"]["parallelism"], document["spec"]["completions"]
    document["spec"].update(fields)
    return of(document)


def test_a_job_has_the_api_servers_defaults() -> None:
    assert said() == JobFailures(6, 1, 1, ignores_disruptions=False)


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({"backoffLimit": 0}, (0, 1, 1)),
        ({"parallelism": 8}, (6, 8, 8)),
        ({"parallelism": 8, "completions": 100, "backoffLimit": 3}, (3, 100, 8)),
        ({"backoffLimitPerIndex": 0, "completionMode": "Indexed", "completions": 4}, (2**31 - 1, 4, 1)),
    ],
)
def test_a_job_fails_after_more_failures_than_its_backoff_limit(fields: JSON, numbers: tuple[int, int, int]) -> None:
    assert said(**fields) == JobFailures(*numbers, ignores_disruptions=False)


@pytest.mark.parametrize(
    ("rules", "ignores"),
    [
        (IGNORES, True),
        ({"rules": [{"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]}]}, False),
        ({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "ConfigIssue"}]}]}, False),
        ({"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}]}, False),
        ({"rules": "none"}, False),
        ([None], False),
    ],
)
def test_a_rule_of_the_job_may_ignore_disruptions(rules: Any, ignores: bool) -> None:
    found = said(podFailurePolicy=rules)
    assert found is not None
    assert found.ignores_disruptions is ignores


@pytest.mark.parametrize("field", ["backoffLimit", "parallelism", "completions"])
def test_of_a_job_with_a_placeholder_for_a_number_nothing_is_known(field: str) -> None:
    assert said(**{field: "<NODES>"}) is None


def test_a_cron_job_says_it_for_the_jobs_that_it_makes() -> None:
    document = cron_job(gpu_pod())
    document["spec"]["jobTemplate"]["spec"]["podFailurePolicy"] = IGNORES
    assert of(document) == JobFailures(6, 1, 1, ignores_disruptions=True)


def test_what_is_kept_of_a_job_says_the_same() -> None:
    document = job(gpu_pod())
    document["spec"] |= {"backoffLimit": 0, "podFailurePolicy": IGNORES}
    [made] = templates(document, namespace="default")
    uid = made.owner_uid
    kept = keep(LOOKED_UP["batch/v1", "Job"], {**document, "metadata": {**document["metadata"], "uid": uid}})
    assert kept is not None
    assert gang_of(made.pod, "default", {uid: kept}).job == JobFailures(0, 1, 1, ignores_disruptions=True)
    maker = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "uid": "s", "controller": True}
    kept["metadata"]["ownerReferences"] = [maker]
    assert gang_of(made.pod, "default", {uid: kept}).job is None  # an operator has fields of its own for failures
    maker["kind"] = "CronJob"
    assert gang_of(made.pod, "default", {uid: kept}).job is not None


def test_without_the_job_or_for_another_kind_of_job_it_is_absent() -> None:
    [made] = templates(job(gpu_pod()), namespace="default")
    alone = gang_of(made.pod, "default", {})
    assert alone.job is None
    assert "job" not in alone.as_cel()
    made.pod["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
    assert gang_of(made.pod, "default", made.owners).job is None


def test_policies_see_the_fields_by_their_names() -> None:
    [made] = templates(job(gpu_pod()), namespace="default")
    job_of = gang_of(made.pod, "default", made.owners).as_cel()["job"]
    assert job_of == {"backoffLimit": 6, "completions": 1, "parallelism": 1, "ignoresDisruptions": False}
