"""/validate-workload on objects of several templates: each is decided on, and is named."""

from typing import Any

import pytest

from builders import gpu_pod, template, workload, workload_review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.errors import ReviewError
from snapshots import policy, snapshot

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
    outcome = decide.validate_workload(decode_review(review), snapshot(_DENY))
    assert outcome.response["response"]["allowed"]
    assert outcome.patch == []
    return outcome.warnings


def test_one_template_needs_no_name() -> None:
    assert warned(job_set(8)) == ("podberth no-eights: pods of this workload would be denied: too many GPUs",)


def test_of_several_the_warning_names_the_one() -> None:
    assert warned(job_set(1, 8)) == ("podberth no-eights: j1 pods of this workload would be denied: too many GPUs",)
    assert len(warned(job_set(8, 8))) == 2


def test_a_template_of_a_wrong_shape_is_named_by_its_place() -> None:
    document = job_set(1, 8)
    document["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"] = {}
    with pytest.raises(ReviewError, match=r"^j1: spec\.containers: got object, want list$"):
        warned(document)
    document["spec"]["replicatedJobs"] = 3
    with pytest.raises(ReviewError, match=r"^template: spec\.replicatedJobs: got integer, want a list or an object$"):
        warned(document)
