"""One domain for a gang that a policy has joined to a group: the group gets the level, and its pods get no affinity."""

import json
from typing import Any

import pytest

from builders import gpu_pod, job, workload_review
from podberth.admission.review import decode_review
from podberth.admission.workload import validate_workload
from podberth.kube.patch import apply
from podberth.wellknown import APPLIED_ANNOTATION
from podberth.workload.systems import JOINED
from snapshots import cluster, snapshot

from .test_gang_system import LABELS, OWNER, RACK, SERVED, chooses, draws, made, member, mutate

JSON = dict[str, Any]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("objects", [[OWNER, *SERVED], SERVED], ids=["its size", "its owner's size"])
def test_a_native_group_to_be_made_gets_its_level(*, together: bool, objects: list[JSON]) -> None:
    mode = "required"
    leaves = json.dumps({"level": f"'{RACK}'", "mode": mode})
    one = [chooses("'native'", more=f"  - topology: {leaves}")]
    policies = one if together else [chooses("'native'"), draws(mode=mode)]
    final = made(member(), snapshot(*policies, objects=objects))

    annotations = final["metadata"]["annotations"]
    assert annotations["podberth.io/gang-level"] == RACK
    assert annotations["podberth.io/gang-level-mode"] == mode
    assert "affinity" not in final["spec"]
    writer = "chooses" if together else "draws"
    assert json.loads(annotations[APPLIED_ANNOTATION])[writer]["topology"] == {"level": RACK, "mode": mode}


def test_a_native_group_has_no_preferred_level_and_that_is_said() -> None:
    outcome = mutate(member(), snapshot(chooses("'native'"), draws(), objects=[OWNER, *SERVED]))

    final = apply(member(), outcome.patch)
    assert "podberth.io/gang-level" not in final["metadata"]["annotations"]
    assert "affinity" not in final["spec"]
    said = "topology left as it is: a native PodGroup has no preferred topology; use mode: required"
    assert f"podberth draws: {said}" in outcome.warnings


def test_somebody_elses_native_group_gets_nothing_and_its_field_is_named() -> None:
    document = gpu_pod(8, schedulingGroup={"podGroupName": "theirs"})
    outcome = mutate(document, snapshot(draws(mode="required"), objects=SERVED))

    assert outcome.patch == []
    assert "set spec.schedulingConstraints.topology[].key of its PodGroup" in outcome.warnings[0]


@pytest.mark.parametrize("system", LABELS)
def test_of_the_others_the_field_is_named(system: str) -> None:
    together = chooses(f"'{system}'", more=f"  - topology: {{level: \"'{RACK}'\", mode: required}}")
    outcome = mutate(member(), snapshot(together, objects=[OWNER, *SERVED]))

    assert "affinity" not in apply(member(), outcome.patch)["spec"]
    assert any(JOINED[system].topology in line for line in outcome.warnings)


@pytest.mark.parametrize("mode", ["required", "preferred"])
def test_a_native_group_has_no_slices_and_that_is_said(mode: str) -> None:
    outcome = mutate(member(), snapshot(chooses("'native'"), draws(mode=mode, every="2"), objects=[OWNER, *SERVED]))

    final = apply(member(), outcome.patch)
    assert "podberth.io/gang-level" not in final["metadata"]["annotations"]
    assert "affinity" not in final["spec"]
    assert any("a native PodGroup has no field for slices" in line for line in outcome.warnings)


def test_a_warning_shows_the_author_of_a_workload_what_happens_to_its_pods() -> None:
    known = snapshot(chooses("'native'"), draws(mode="required"), objects=[*SERVED, *cluster(hgx_h100_8=1)])
    template = job(gpu_pod(8, annotations={"podberth.io/gang-size": "4"}), indexed=True, parallelism=4)
    outcome = validate_workload(decode_review(workload_review(template, "jobs")), known)

    assert any("joins native PodGroup job-" in line for line in outcome.warnings)
    assert any(f"gang required in one domain of {RACK}" in line for line in outcome.warnings)
