"""/validate-workload on objects of several templates: each is decided on, and is named."""

from typing import Any

import pytest

from builders import gpu_pod, template, workload, workload_review
from podberth.admission.review import decode_review
from podberth.admission.workload import validate_workload
from podberth.errors import ReviewError
from podberth.workload.systems import SYSTEMS
from snapshots import cluster, policy, snapshot

JSON = dict[str, Any]

_DENY = policy(
    "no-eights",
    "  validations:\n  - {expression: gpu.count < 8, message: too many GPUs}\n  validationActions: [Deny]",
)


def job_set(*gpus: int) -> JSON:
    jobs = [
        {"name": f"j{number}", "template": {"spec": {"template": template(gpu_pod(each))}}}
        for number, each in enumerate(gpus)
    ]
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})


def warned(document: JSON) -> tuple[str, ...]:
    review = workload_review(document, "jobsets")
    outcome = validate_workload(decode_review(review), snapshot(_DENY))
    assert outcome.response["response"]["allowed"]
    assert outcome.patch == []
    return outcome.warnings


def test_one_template_needs_no_name() -> None:
    assert warned(job_set(8)) == ("podberth no-eights: pods of this workload would be denied: too many GPUs",)


def test_of_several_the_warning_names_the_one() -> None:
    assert warned(job_set(1, 8)) == ("podberth no-eights: j1 pods of this workload would be denied: too many GPUs",)


def test_what_several_templates_share_is_one_line() -> None:
    would = "pods of this workload would be denied: too many GPUs"
    assert warned(job_set(8, 8)) == (f"podberth no-eights: {would}",)
    assert warned(job_set(8, 1, 8)) == (f"podberth no-eights: j0 and j2 {would}",)
    many = job_set(1, *[8] * 11)
    for each in many["spec"]["replicatedJobs"]:
        each["name"] = f"evaluate-{each['name']}"
    assert warned(many) == (f"podberth no-eights: evaluate-j1 and 10 more {would}",)


def test_what_would_be_changed_is_the_last_line() -> None:
    label = policy(
        "p", "  mutations:\n  - {labels: {seen: \"'1'\"}, reason: \"'seen'\"}\n  - annotations: {of: string(gpu.count)}"
    )
    outcome = validate_workload(decode_review(workload_review(job_set(1, 8, 1), "jobsets")), snapshot(label, _DENY))

    assert outcome.warnings == (
        "podberth no-eights: j1 pods of this workload would be denied: too many GPUs",
        "podberth: j0 and j2: seen; annotation of=1",
        "podberth: j1: seen; annotation of=8",
    )


def test_its_pods_are_asked_about_as_pods_in_every_word_of_the_request() -> None:
    words = ("kind.kind", "resource.resource", "requestKind.kind", "requestResource.resource", "operation")
    said = " + ' ' + ".join(f"request.{word}" for word in words)
    text = f"  validations:\n  - {{expression: 'false', messageExpression: \"{said}\"}}\n  validationActions: [Warn]"
    review = decode_review(workload_review(job_set(8), "jobsets", "UPDATE", old=job_set(1)))
    outcome = validate_workload(review, snapshot(policy("p", text)))

    assert outcome.warnings == ("podberth p: Pod pods Pod pods CREATE",)


def test_a_template_of_a_wrong_shape_is_named_by_its_place() -> None:
    document = job_set(1, 8)
    document["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"] = {}
    with pytest.raises(ReviewError, match=r"^j1: spec\.containers: got object, want list$"):
        warned(document)
    document["spec"]["replicatedJobs"] = 3
    with pytest.raises(ReviewError, match=r"^template: spec\.replicatedJobs: got integer, want a list or an object$"):
        warned(document)


# ---- what a group system is asked for elsewhere (docs/rules.md, rule 2) ----------------------------------------------

_LEVEL = policy("near", "  mutations:\n  - topology: {level: \"'topology.kubernetes.io/zone'\", mode: required}")
_OF_SYSTEM: dict[str, JSON] = {
    "native": gpu_pod(8, schedulingGroup={"podGroupName": "g"}),
    "volcano": gpu_pod(8, schedulerName="volcano"),
    "kai": gpu_pod(8, schedulerName="kai-scheduler"),
    "koordinator": gpu_pod(8, schedulerName="koord-scheduler"),
    "slurm-bridge": gpu_pod(8, schedulerName="slurm-bridge-scheduler"),
    "coscheduling": gpu_pod(8, labels={"scheduling.x-k8s.io/pod-group": "g"}),
    "yunikorn": gpu_pod(8, schedulerName="yunikorn"),
}
_NAMES = {
    "native": ("spec.schedulingConstraints.topology[].key", "PodGroup"),
    "volcano": ("volcano.sh/network-topology-mode", "pod template"),
    "kai": ("kai.scheduler/topology-preferred-placement", "workload"),
    "koordinator": ("gang.scheduling.koordinator.sh/network-topology-spec", "PodGroup"),
    "slurm-bridge": ("slurmjob.slinky.slurm.net/constraints", "workload"),
    "coscheduling": ("affinity", "pod template"),
    "yunikorn": ("yunikorn.apache.org/task-groups", "pod template"),
}


@pytest.mark.parametrize("system", [row.name for row in SYSTEMS if row.topology])
def test_a_warning_names_the_field_and_the_object_of_a_workloads_group_system(system: str) -> None:
    job = {"name": "j", "template": {"spec": {"template": template(_OF_SYSTEM[system])}}}
    document = workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [job]})
    known = snapshot(_LEVEL, objects=cluster(hgx_h100_8=1))
    outcome = validate_workload(decode_review(workload_review(document, "jobsets")), known)
    [line] = outcome.warnings
    assert line.startswith(f"podberth near: {system} places this pod's group; for topology ")
    assert all(word in line for word in _NAMES[system])
    assert len(line) <= 256
