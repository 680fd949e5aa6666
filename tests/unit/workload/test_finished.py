"""Which statuses say that an object makes no more pods, of every kind that has a way of its own to say so."""

from typing import Any

import pytest

from podberth.workload.owners import FINISHED, is_finished


# One status that is the end, and one that is not, as the controllers write them.
def by_condition(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    ended, going = ({"conditions": [{"type": kind, "status": each}]} for each in ("True", "False"))
    return ended, going


SAID: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {
    ("", "Pod"): ({"phase": "Succeeded"}, {"phase": "Running"}),
    ("batch", "Job"): by_condition("Complete"),
    ("jobset.x-k8s.io", "JobSet"): by_condition("Completed"),
    ("trainer.kubeflow.org", "TrainJob"): by_condition("Failed"),
    **{
        ("kubeflow.org", kind): by_condition("Succeeded")
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob", "Experiment")
    },
    ("mindxdl.gitee.com", "AscendJob"): by_condition("Failed"),
    ("argoproj.io", "Workflow"): ({"phase": "Error"}, {"phase": "Pending"}),
    ("batch.volcano.sh", "Job"): ({"state": {"phase": "Completed"}}, {"state": {"phase": "Aborted"}}),
    ("ray.io", "RayJob"): ({"jobDeploymentStatus": "Complete"}, {"jobDeploymentStatus": "Retrying"}),
    ("sparkoperator.k8s.io", "SparkApplication"): (
        {"applicationState": {"state": "COMPLETED"}},
        {"applicationState": {"state": "SUBMISSION_FAILED"}},
    ),
    ("workload.codeflare.dev", "AppWrapper"): ({"phase": "Failed"}, {"phase": "Resetting"}),
}


def test_there_is_an_example_of_every_row() -> None:
    assert SAID.keys() == FINISHED.keys()


@pytest.mark.parametrize(("group", "kind"), SAID)
def test_a_word_says_so_where_the_kind_has_one(group: str, kind: str) -> None:
    ended, going = SAID[group, kind]
    assert is_finished(group, kind, {"status": ended})
    assert not is_finished(group, kind, {"status": going})
    assert not is_finished(group, kind, {})


def test_a_condition_of_the_name_says_nothing_of_what_goes_on_for_ever() -> None:
    for group, kind in (("apps", "Deployment"), ("example.com", "Job")):
        assert not is_finished(group, kind, {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})


@pytest.mark.parametrize("rubbish", [None, 3, "x", [], {}, [{"status": "True", "type": {}}], {"phase": {}}])
@pytest.mark.parametrize(("group", "kind"), SAID)
def test_rubbish_is_not_finished(group: str, kind: str, rubbish: Any) -> None:
    for status in (rubbish, {"conditions": rubbish, "state": rubbish, "phase": rubbish}):
        assert not is_finished(group, kind, {"status": status})
