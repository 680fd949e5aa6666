"""What podberth leaves to the system that schedules a pod's group, where only the result tells what was written."""

import json
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from snapshots import policy, snapshot

KUEUE: dict[str, Any] = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}
KAI = {"schedulerName": "kai-scheduler"}


def patched(path: str, value: Any, **system: Any) -> Outcome:
    operation = json.dumps({"op": "add", "path": path, "value": value}).replace('"', "'")
    known = snapshot(policy("a", f'  mutations:\n  - jsonPatch: "[{operation}]"'))
    return decide.mutate(decode_review(review(gpu_pod(**system))), known)


ACCOUNTED = [
    ("/spec/containers/0/resources/limits/cpu", "2"),
    ("/spec/resources", {"limits": {"cpu": "2"}}),
    ("/spec/resourceClaims", [{"name": "c", "resourceClaimName": "c"}]),
    ("/spec/initContainers", [{"name": "i", "image": "i"}]),
    ("/spec/overhead", {"cpu": "1"}),
]


@pytest.mark.parametrize(("path", "value"), ACCOUNTED)
def test_what_a_system_has_accounted_is_not_written(path: str, value: Any) -> None:
    outcome = patched(path, value, **KUEUE)

    assert outcome.patch == []
    assert [each.action for each in outcome.decisions] == ["skip"]
    assert "kueue has accounted this pod's resources already" in outcome.decisions[0].message


def test_slurm_has_reserved_for_what_the_pod_asks() -> None:
    """Its webhook refuses pods with claims, and it counts whole GPUs only."""
    for path, value in ACCOUNTED:
        assert patched(path, value, schedulerName="slurm-bridge-scheduler").patch == []


@pytest.mark.parametrize("system", [{}, KAI])
@pytest.mark.parametrize(("path", "value"), ACCOUNTED)
def test_of_others_it_is(path: str, value: Any, system: dict[str, Any]) -> None:
    assert patched(path, value, **system).verdict == "mutated"


@pytest.mark.parametrize("system", [KUEUE, KAI])
def test_affinity_is_left_to_whoever_places_the_group(system: dict[str, Any]) -> None:
    outcome = patched("/spec/affinity", {"podAntiAffinity": {}}, **system)

    assert outcome.patch == []
    assert "places this pod's group" in outcome.decisions[0].message


NEAR = policy("near", "  mutations:\n  - topology: {level: \"'topology.kubernetes.io/zone'\", mode: preferred}")
CHOSEN = policy(
    "chosen",
    "  mutations:\n  - nodeAffinity: {required: \"[{'matchExpressions': [{'key': 'a', 'operator': 'Exists'}]}]\"}",
)


def said(document: dict[str, Any], known: Any) -> list[str]:
    outcome = decide.mutate(decode_review(review(document)), snapshot(known))
    assert outcome.patch == []
    return list(outcome.warnings)


VOLCANO = {"scheduling.k8s.io/group-name": "pd-0"}


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        (
            {"modelserving.volcano.sh/group-name": "pd-0"},
            "spec.template.networkTopology.groupPolicy of the ModelServing",
        ),
        ({"rbg.workloads.x-k8s.io/group-name": "pd"}, ""),
        ({"training.kubeflow.org/job-name": "bert"}, ""),
        ({}, "spec.networkTopology of its PodGroup or Volcano Job"),
    ],
)
def test_an_author_whose_operator_makes_the_group_is_sent_to_the_own_object_or_nowhere(
    labels: dict[str, str], where: str
) -> None:
    lines = said(gpu_pod(labels=labels, annotations=VOLCANO, schedulerName="volcano"), NEAR)
    assert [line.partition("for topology set ")[2] for line in lines] == ([where] if where else [])


def test_where_topology_is_asked_for_is_said_only_where_topology_was_wanted() -> None:
    [line] = said(gpu_pod(**KAI), NEAR)
    assert line.endswith(
        "kai places this pod's group; for topology set annotations kai.scheduler/topology and "
        "kai.scheduler/topology-preferred-placement of the workload"
    )
    assert said(gpu_pod(**KAI), CHOSEN) == []


def test_of_a_group_that_the_author_made_for_kai_the_group_itself_is_named() -> None:
    """Its pod-grouper reads the workload's annotations only where it makes the group."""
    [line] = said(gpu_pod(**KAI, annotations={"pod-group-name": "pg"}), NEAR)
    assert "for topology set spec.topologyConstraint of the PodGroup (an owner" in line
    assert line.endswith("needs annotation kai.scheduler/skip-podgrouper)")


@pytest.mark.parametrize(
    ("system", "key"),
    [
        (KAI, "kai.scheduler/topology-required-placement"),
        ({"schedulerName": "volcano"}, "volcano.sh/network-topology-mode"),
        ({"schedulerName": "slurm-bridge-scheduler"}, "slurmjob.slinky.slurm.net/constraints"),
        ({"schedulerName": "koord-scheduler"}, "gang.scheduling.koordinator.sh/network-topology-spec"),
    ],
)
def test_nothing_is_said_where_the_pod_asks_its_system_already(system: dict[str, Any], key: str) -> None:
    assert said(gpu_pod(**system), NEAR)
    assert said(gpu_pod(**system, annotations={key: "x"}), NEAR) == []


def test_nothing_is_said_where_the_pod_has_affinity_to_others_of_its_own() -> None:
    assert said(gpu_pod(**KAI, affinity={"podAffinity": {}}), NEAR) == []


def test_nothing_is_said_of_kueue_whose_flavors_nobody_knows() -> None:
    """Without topologyName in the ResourceFlavor Kueue refuses a workload that asks for topology."""
    assert said(gpu_pod(**KUEUE), NEAR) == []
