"""One domain for a gang that a policy has joined to a group: what the group is told, and what draws its pods."""

import json
from typing import Any

import pytest

from builders import gpu_pod, job, pod, workload_review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.kube.patch import apply
from podberth.wellknown import APPLIED_ANNOTATION, COLOCATED_LABEL, GANG_SLICE_LABEL
from podberth.workload.systems import JOINED
from snapshots import cluster, policy, snapshot

from .test_gang_system import LABELS, NAME, OWNER, RACK, SERVED, chooses, draws, group, made, member, mutate, reference

JSON = dict[str, Any]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("objects", [[OWNER, *SERVED], SERVED], ids=["its size", "its owner's size"])
def test_a_native_group_to_be_made_is_told_its_level(*, together: bool, objects: list[JSON]) -> None:
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


def drawn(key: str, *, slices: bool = False) -> JSON:
    selector = {"matchLabels": {COLOCATED_LABEL: NAME}}
    keys = {"matchLabelKeys": [GANG_SLICE_LABEL]} if slices else {}
    return {"weight": 100, "podAffinityTerm": {"labelSelector": selector, "topologyKey": key, **keys}}


def affinity_of(document: JSON) -> JSON:
    found: JSON = document["spec"].get("affinity", {}).get("podAffinity", {})
    return found


@pytest.mark.parametrize("there", [(), ("native",)])
def test_a_native_group_has_no_preferred_level_so_its_pods_are_drawn_as_those_of_a_plain_gang(
    there: tuple[str, ...],
) -> None:
    groups = [group(each) for each in there]
    known = snapshot(chooses("'native'"), draws(), objects=[OWNER, *SERVED, *groups])
    finals = [apply(member(index), mutate(member(index), known).patch) for index in range(4)]
    [first, *others] = finals

    assert reference(first) == {"native": NAME}
    assert affinity_of(first) == {"preferredDuringSchedulingIgnoredDuringExecution": [drawn(RACK)]}
    assert first["metadata"]["labels"][COLOCATED_LABEL] == NAME
    assert "podberth.io/gang-level" not in first["metadata"]["annotations"]
    assert all(each["spec"] == first["spec"] for each in others)
    record = json.loads(first["metadata"]["annotations"][APPLIED_ANNOTATION])
    assert record["draws"]["topology"] == {"level": RACK, "mode": "preferred"}
    assert f"podberth draws: gang preferred in one domain of {RACK}" in mutate(member(), known).warnings


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("every", ["", "2"])
def test_what_draws_a_groups_pods_is_not_written_twice(every: str, *, recorded: bool) -> None:
    known = snapshot(chooses("'native'"), draws(every=every), objects=[OWNER, *SERVED])
    final = made(member(), known)
    if not recorded:
        del final["metadata"]["annotations"][APPLIED_ANNOTATION]

    again = made(final, known)
    assert again["spec"] == final["spec"]
    assert again["metadata"]["labels"] == final["metadata"]["labels"]
    assert not recorded or mutate(final, known).patch == []


def test_a_launcher_without_a_gpu_is_not_drawn_where_the_policy_names_it_no_level() -> None:
    level = f"gpu.count > 0 ? '{RACK}' : ''"
    draws_gpus = policy("draws", f'  mutations:\n  - topology: {{level: "{level}", mode: preferred}}', order=400)
    known = snapshot(chooses("'native'"), draws_gpus, objects=SERVED)
    labels, annotations = {"podberth.io/gang": "g"}, {"podberth.io/gang-size": "3"}
    launcher = made(pod(labels=labels, annotations=annotations), known)
    worker = made(gpu_pod(8, labels=labels, annotations=annotations), known)

    assert reference(launcher) == reference(worker) == {"native": "g"}
    assert not affinity_of(launcher)
    assert COLOCATED_LABEL not in launcher["metadata"]["labels"]
    assert affinity_of(worker)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}, "pod affinity"),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": RACK, "labelSelector": {}}]
                    }
                }
            },
            "pod anti-affinity",
        ),
    ],
)
def test_what_a_groups_pod_says_itself_of_its_placement_stays(fields: JSON, said: str) -> None:
    labels, annotations = {"podberth.io/gang": "g"}, {"podberth.io/gang-size": "4"}
    document = gpu_pod(8, labels=labels, annotations=annotations, **fields)
    outcome = mutate(document, snapshot(chooses("'native'"), draws(), objects=SERVED))
    final = apply(document, outcome.patch)

    assert reference(final) == {"native": "g"}
    assert final["spec"]["affinity"] == document["spec"]["affinity"]
    assert f"podberth draws: topology left as it is: the pod has {said} of its own" in outcome.warnings


@pytest.mark.parametrize("first", ["required", "preferred"])
def test_what_a_group_requires_already_is_not_preferred_besides(first: str) -> None:
    then = "preferred" if first == "required" else "required"
    later = draws(mode=then).replace("name: draws", "name: later").replace("order: 400", "order: 500")
    outcome = mutate(member(), snapshot(chooses("'native'"), draws(mode=first), later, objects=[OWNER, *SERVED]))
    final = apply(member(), outcome.patch)

    level = {"podberth.io/gang-level", "podberth.io/gang-level-mode"}.intersection(final["metadata"]["annotations"])
    assert bool(level) == (first == "required")
    assert bool(affinity_of(final)) == (first == "preferred")
    conflict = any("podberth later: conflict with policy draws" in line for line in outcome.warnings)
    assert conflict == (first == "preferred")


def test_somebody_elses_native_group_is_told_nothing_and_its_field_is_named() -> None:
    document = gpu_pod(8, schedulingGroup={"podGroupName": "theirs"})
    outcome = mutate(document, snapshot(draws(), objects=SERVED))

    assert outcome.patch == []
    assert "set spec.schedulingConstraints.topology[].key of its PodGroup" in outcome.warnings[0]


@pytest.mark.parametrize("system", LABELS)
def test_of_the_others_the_field_is_named(system: str) -> None:
    together = chooses(f"'{system}'", more=f"  - topology: {{level: \"'{RACK}'\", mode: required}}")
    outcome = mutate(member(), snapshot(together, objects=[OWNER, *SERVED]))

    assert "affinity" not in apply(member(), outcome.patch)["spec"]
    assert any(JOINED[system].topology in line for line in outcome.warnings)


def test_preferred_slices_of_a_native_group_are_drawn_and_the_group_has_its_own_level() -> None:
    wider = draws("zone", "required").replace("name: draws", "name: wider").replace("order: 400", "order: 500")
    known = snapshot(chooses("'native'"), draws(every="2"), wider, objects=[OWNER, *SERVED])
    finals = [made(member(index), known) for index in range(4)]

    assert [each["metadata"]["labels"][GANG_SLICE_LABEL] for each in finals] == ["0", "0", "1", "1"]
    assert all(each["spec"] == finals[0]["spec"] for each in finals)
    assert affinity_of(finals[0]) == {"preferredDuringSchedulingIgnoredDuringExecution": [drawn(RACK, slices=True)]}
    assert {each["metadata"]["annotations"]["podberth.io/gang-level"] for each in finals} == {"zone"}
    assert mutate(finals[0], known).patch == []


def test_slices_of_a_native_group_cannot_be_required_and_that_is_said() -> None:
    known = snapshot(chooses("'native'"), draws(mode="required", every="2"), objects=[OWNER, *SERVED])
    outcome = mutate(member(), known)
    final = apply(member(), outcome.patch)

    assert "podberth.io/gang-level" not in final["metadata"]["annotations"]
    assert "affinity" not in final["spec"]
    said = "topology left as it is: a native PodGroup has no field for slices; use mode: preferred"
    assert f"podberth draws: {said}" in outcome.warnings


def test_the_author_of_a_workload_is_told_what_becomes_of_its_pods() -> None:
    known = snapshot(chooses("'native'"), draws(mode="required"), objects=[*SERVED, *cluster(hgx_h100_8=1)])
    template = job(gpu_pod(8, annotations={"podberth.io/gang-size": "4"}), indexed=True, parallelism=4)
    outcome = decide.validate_workload(decode_review(workload_review(template, "jobs")), known)

    assert any("joins native PodGroup job-" in line for line in outcome.warnings)
    assert any(f"gang required in one domain of {RACK}" in line for line in outcome.warnings)
