"""A group holds the members with accelerators: by annotations of its pods, or by the templates of their owner."""

from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, owned, pod, template, workload
from podberth.controller.plan.intake import waiting_pod
from podberth.controller.plan.pod_groups import GATHER_SECONDS
from podberth.controller.plan.world import Create, GroupChange, WaitingPod
from podberth.kube.pod import OwnerReference
from podberth.workload.owners import LOOKED_UP, keep

from .gangs import NATIVE, NOW, ours, plan, reference_to, world

JSON = dict[str, Any]

CPU, EIGHT = template(pod()), template(gpu_pod(8))
TORCH = OwnerReference("kubeflow.org/v1", "PyTorchJob", "bert", "u-1")
SET = OwnerReference("jobset.x-k8s.io/v1alpha2", "JobSet", "train", "s-1")
JOB = OwnerReference("batch/v1", "Job", "train-node-0", "j-1")


def waiting(owner: OwnerReference, gang: str, labels: dict[str, str], **noted: str) -> WaitingPod:
    """Return a worker as admission makes it a member."""
    annotations = {f"podberth.io/gang-{key}": text for key, text in noted.items()}
    made = gpu_pod(
        8,
        labels={"podberth.io/gang": gang, **labels},
        annotations=annotations,
        schedulingGroup={"podGroupName": gang},
    )
    made = owned(made, owner.kind, api_version=owner.api_version, name=owner.name, uid=owner.uid)
    made["metadata"] |= {"namespace": "team", "uid": "p-1", "name": "worker"}
    found = waiting_pod(made)
    assert found is not None
    return replace(found, created=NOW)


def of_torch(**noted: str) -> WaitingPod:
    labels = {"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/replica-type": "worker"}
    return waiting(TORCH, "pytorchjob-u-1", labels, **noted)


def known(
    owner: OwnerReference, spec: JSON, above: OwnerReference | None = None
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the result of a look-up of an owner: its own owner, and its kept fields."""
    document = workload(owner.api_version, owner.kind, spec, name=owner.name)
    document["metadata"]["uid"] = owner.uid
    if above is not None:
        document["metadata"]["ownerReferences"] = [reference_to(above)]
    return {("team", owner): above}, {
        ("team", owner): keep(LOOKED_UP[owner.api_version, owner.kind], document),
    }


def torch_job(workers: int = 2) -> dict[str, Any]:
    roles = {"Master": {"replicas": 1, "template": CPU}, "Worker": {"replicas": workers, "template": EIGHT}}
    owners, documents = known(TORCH, {"pytorchReplicaSpecs": roles})
    return {"owners": owners, "documents": documents}


def minimum(*pods: WaitingPod, **more: Any) -> JSON:
    [made] = plan(world(*pods, **more), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    spec: JSON = made.document["spec"]["schedulingPolicy"]
    return spec


@pytest.mark.parametrize("noted", [{}, {"size": "3"}, {"size": "3", "accelerated": "2"}])
def test_an_owner_says_how_many_have_gpus_whatever_admission_knew(noted: dict[str, str]) -> None:
    assert minimum(of_torch(**noted), **torch_job()) == {"gang": {"minCount": 2}}


def test_without_its_templates_the_pods_say_it() -> None:
    owners = {("team", TORCH): None}
    assert minimum(of_torch(size="3", accelerated="2"), owners=owners) == {"gang": {"minCount": 2}}
    assert minimum(of_torch(size="3"), owners=owners) == {"gang": {"minCount": 3}}


@pytest.mark.parametrize("accelerated", ["0", "3", "4", "x"])
def test_a_number_that_cannot_be_is_passed_over(accelerated: str) -> None:
    owners = {("team", TORCH): None}
    assert minimum(of_torch(size="3", accelerated=accelerated), owners=owners) == {"gang": {"minCount": 3}}


def test_another_size_than_the_owners_is_the_users_word_on_all_its_pods() -> None:
    assert minimum(of_torch(size="5"), **torch_job()) == {"gang": {"minCount": 5}}


def test_a_group_follows_the_number_of_members_with_gpus() -> None:
    place = {("team", "pytorchjob-u-1"): ours(owners=(TORCH,), minimum=2)}
    [change] = plan(world(of_torch(), known={NATIVE: place}, **torch_job(workers=3))).actions
    assert isinstance(change, GroupChange)
    assert change.patch["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


@pytest.mark.parametrize(("driver", "expected"), [(CPU, {"gang": {"minCount": 2}}), (EIGHT, {"basic": {}})])
def test_stages_between_roles_do_not_matter_where_one_alone_has_gpus(driver: JSON, expected: JSON) -> None:
    jobs = [
        {"name": "initializer", "template": {"spec": {"template": driver}}},
        {
            "name": "node",
            "dependsOn": [{"name": "initializer", "status": "Complete"}],
            "template": {"spec": {"parallelism": 2, "template": EIGHT}},
        },
    ]
    owners, documents = known(SET, {"replicatedJobs": jobs})
    more, other = known(JOB, {"parallelism": 2}, above=SET)
    labels = {"jobset.sigs.k8s.io/jobset-name": SET.name, "jobset.sigs.k8s.io/jobset-uid": "s-1"}
    found = minimum(
        waiting(JOB, "jobset-s-1", labels, size="3"), owners={**owners, **more}, documents={**documents, **other}
    )
    assert found == expected
