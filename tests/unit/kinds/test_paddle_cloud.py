"""PaddleJobs of PaddleCloud: what constructPod of its operator writes on pods."""

from typing import Any

import pytest

from podberth.workload.templates import templates

JSON = dict[str, Any]


def worker(**spec: Any) -> JSON:
    """Return the pod that a PaddleJob's worker template becomes."""
    container = {"name": "paddle", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    role = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": "train", "namespace": "ml"}
    document = {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": metadata}
    [found] = templates({**document, "spec": {"worker": role, **spec}}, namespace="ml")
    assert found.replicas == 2
    return found.pod


def test_a_pod_has_the_labels_and_the_name_of_its_place_and_the_job_as_its_owner() -> None:
    pod = worker()
    assert pod["metadata"]["labels"] == {"paddle-res-name": "train-worker-0", "paddle-res-type": "worker"}
    assert pod["metadata"]["name"] == pod["spec"]["hostname"] == pod["spec"]["subdomain"] == "train-worker-0"
    assert [each["kind"] for each in pod["metadata"]["ownerReferences"]] == ["PaddleJob"]


@pytest.mark.parametrize(
    ("spec", "policy"),
    [({}, "Never"), ({"intranet": "Service"}, "OnFailure"), ({"elastic": 1}, "OnFailure")],
)
def test_a_pod_is_started_again_by_the_rule_of_its_job(spec: JSON, policy: str) -> None:
    assert worker(**spec)["spec"]["restartPolicy"] == policy


def test_the_network_of_the_host_is_the_jobs_to_choose() -> None:
    assert worker(intranet="Host")["spec"]["hostNetwork"] is True
    assert "hostNetwork" not in worker()["spec"]
