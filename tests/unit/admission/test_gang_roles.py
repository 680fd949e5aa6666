"""Who of a gang joins its group: the members with accelerators, where somebody says which these are."""

from typing import Any

import pytest

from builders import gpu_pod, owned, pod, pod_group, review, template, workload
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from snapshots import snapshot

from .test_gang_system import SERVED, chooses

JSON = dict[str, Any]

ROLES = {
    "Launcher": {"replicas": 1, "template": template(pod())},
    "Worker": {"replicas": 2, "template": template(gpu_pod(8))},
}
OWNER = workload("kubeflow.org/v1", "MPIJob", {"mpiReplicaSpecs": ROLES}, name="bert")
OWNER["metadata"] |= {"uid": "u"}


def member(document: JSON, **annotations: str) -> JSON:
    document["metadata"] |= {"labels": {"training.kubeflow.org/job-name": "bert"}, "annotations": annotations}
    return owned(document, "MPIJob", api_version="kubeflow.org/v1", name="bert", uid="u")


def launcher(**annotations: str) -> JSON:
    return member(pod(), **annotations)


def worker(**annotations: str) -> JSON:
    return member(gpu_pod(8), **annotations)


def made(document: JSON, known: Snapshot) -> JSON:
    return apply(document, decide.mutate(decode_review(review(document)), known).patch)


def chosen(*objects: JSON) -> Snapshot:
    return snapshot(chooses("'native'"), objects=[*objects, *SERVED])


def joined(document: JSON) -> bool:
    return "schedulingGroup" in document["spec"]


def test_a_launcher_stays_beside_the_group_of_the_workers_and_says_the_same() -> None:
    known = chosen(OWNER)
    beside, inside = made(launcher(), known), made(worker(), known)
    assert (joined(beside), joined(inside)) == (False, True)
    for final in (beside, inside):
        assert final["metadata"]["labels"][GANG_LABEL] == "mpijob-bert"
        annotations = final["metadata"]["annotations"]
        assert (annotations[GANG_SIZE_ANNOTATION], annotations[GANG_ACCELERATED_ANNOTATION]) == ("3", "2")


def test_before_the_owner_is_known_the_worker_joins_and_the_launcher_does_not() -> None:
    for size in ({}, {GANG_SIZE_ANNOTATION: "3"}):
        beside, inside = made(launcher(**size), chosen()), made(worker(**size), chosen())
        assert (joined(beside), joined(inside)) == (False, True)
        assert GANG_ACCELERATED_ANNOTATION not in inside["metadata"]["annotations"]


def test_where_no_owner_can_say_it_the_size_counts_all_pods_that_carry_it() -> None:
    document = pod(labels={GANG_LABEL: "mine"}, annotations={GANG_SIZE_ANNOTATION: "3"})
    assert joined(made(document, chosen()))
    document["metadata"]["annotations"][GANG_ACCELERATED_ANNOTATION] = "2"
    assert not joined(made(document, chosen()))


def test_another_size_than_the_owners_counts_all_pods_that_carry_it() -> None:
    assert joined(made(launcher(**{GANG_SIZE_ANNOTATION: "5"}), chosen(OWNER)))


@pytest.mark.parametrize(("minimum", "expected"), [(2, False), (3, True)])
def test_a_group_that_is_there_and_counts_the_launcher_has_it(minimum: int, expected: bool) -> None:
    group = pod_group("mpijob-bert", minimum)
    group["metadata"]["namespace"] = "default"
    known = chosen(OWNER, group)
    assert joined(made(worker(), known))
    assert joined(made(launcher(), known)) is expected


def test_a_launcher_that_comes_when_the_workers_run_keeps_nobody_from_a_group() -> None:
    spec = {**OWNER["spec"], "launcherCreationPolicy": "WaitForWorkersReady"}
    assert joined(made(worker(), chosen({**OWNER, "spec": spec})))
    roles = {**ROLES, "Launcher": {"replicas": 1, "template": template(gpu_pod(1))}}
    assert not joined(made(worker(), chosen({**OWNER, "spec": {**spec, "mpiReplicaSpecs": roles}})))
