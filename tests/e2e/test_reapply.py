"""The same file again: `kubectl apply` twice simply works, however it applies and whatever the pod holds of its own."""

import json
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.wait import wait_for

from .fleet import ZONE
from .manifest import GPU_TOLERATION, SKU_TOLERATION, annotation, copy_of, example, placement, record, tolerations
from .space import SECONDS, Space

Document = dict[str, Any]

TEAM = {"key": "team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
_ZONES = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}
OWN_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_ZONES]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": _ZONES}],
    }
}
MANIFESTS = {
    "no-tolerations": gpu_pod(name="again"),
    "own-tolerations": gpu_pod(name="again", tolerations=[TEAM]),
    "own-affinity": gpu_pod(4, name="again", affinity=OWN_AFFINITY),
    "both": gpu_pod(4, name="again", affinity=OWN_AFFINITY, tolerations=[TEAM]),
    "rewritten-resource": {**example("notebook-memory"), "metadata": {
        **example("notebook-memory")["metadata"], "name": "again"}},
    "gang": gpu_pod(8, name="again", labels={"podberth.io/gang": "llama"}, annotations={"podberth.io/gang-size": "4"}),
}  # fmt: skip
WAYS = {"client-side": (), "server-side": ("--server-side",)}


@pytest.fixture(params=MANIFESTS.values(), ids=list(MANIFESTS))
def manifest(request: pytest.FixtureRequest) -> Document:
    chosen: Document = request.param
    return chosen


@pytest.fixture(params=WAYS.values(), ids=list(WAYS))
def flags(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


def test_the_same_file_twice_changes_nothing(space: Space, manifest: Document, flags: tuple[str, ...]) -> None:
    assert space.must_apply(manifest, flags=flags).ours
    before = space.pod("again")
    assert record(before)
    again = space.must_apply(manifest, flags=flags)
    after = space.pod("again")
    assert again.warnings == ()
    # The scheduler may bind it in between.
    assert after["spec"] | {"nodeName": ""} == before["spec"] | {"nodeName": ""}
    assert record(after) == record(before)


def test_a_new_label_in_the_file_is_taken_and_the_rest_stays(
    space: Space, manifest: Document, flags: tuple[str, ...]
) -> None:
    space.must_apply(manifest, flags=flags)
    before = placement(space.pod("again"))
    labels = {**manifest["metadata"].get("labels", {}), "stage": "two"}
    space.must_apply({**manifest, "metadata": {**manifest["metadata"], "labels": labels}}, flags=flags)
    after = space.pod("again")
    assert after["metadata"]["labels"]["stage"] == "two"
    assert placement(after) == before


def at_rest(pod: Document) -> bool:
    """Return whether nobody has anything more to say about a pod."""
    status = pod["status"]
    waits = any(each.get("reason") == "Unschedulable" for each in status.get("conditions", ()))
    return waits or status.get("phase") == "Running"


def test_a_diff_of_what_was_applied_is_empty(space: Space, manifest: Document, flags: tuple[str, ...]) -> None:
    space.must_apply(manifest, flags=flags)
    # kubectl looks at it twice: what scheduler and kubelet write in between is a difference, too.
    wait_for(lambda: at_rest(space.pod("again")), timeout_seconds=SECONDS, what="the pod to run, or to have no place")
    said = space.kubectl("diff", *flags, manifest=[manifest])
    assert (said.status, said.output, said.errors) == (0, "", "")


def test_a_diff_shows_what_a_first_apply_would_bring(space: Space) -> None:
    said = space.kubectl("diff", manifest=[gpu_pod(name="again")])
    assert said.status == 1
    assert "+    key: nvidia.com/gpu" in said.output
    assert space.pods() == []


@pytest.mark.parametrize("verb", ["apply", "create"])
def test_a_server_side_dry_run_says_all_and_does_nothing(space: Space, verb: str) -> None:
    said = space.kubectl(verb, "--dry-run=server", "-o", "json", manifest=[example("notebook-memory")])
    assert said.status == 0
    [changed] = said.ours
    assert changed.startswith("podberth: nvidia.com/mig-3g.20gb instead of nvidia.com/gpu: ")
    assert changed.endswith("; tolerates nvidia.com/gpu:NoSchedule")
    assert "nvidia.com/mig-3g.20gb" in said.output
    assert space.pods() == []


def test_two_managers_each_keep_their_own_fields(space: Space) -> None:
    pod = gpu_pod(name="again", tolerations=[TEAM])
    team, platform = (("--server-side", f"--field-manager={name}") for name in ("team", "platform"))
    space.must_apply(pod, flags=team)
    before = placement(space.pod("again"))
    theirs = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "again", "labels": {"cost": "42"}}}
    space.must_apply(theirs, flags=platform)
    labelled = {**pod, "metadata": {**pod["metadata"], "labels": {"stage": "two"}}}
    space.must_apply(labelled, flags=team)
    after = space.pod("again")
    assert after["metadata"]["labels"].items() >= {"cost": "42", "stage": "two"}.items()
    assert placement(after) == before


def test_who_applies_client_side_first_may_go_on_server_side(space: Space) -> None:
    pod = gpu_pod(name="again", tolerations=[TEAM])
    space.must_apply(pod)
    before = placement(space.pod("again"))
    space.must_apply(pod, flags=("--server-side", "--force-conflicts"))
    assert placement(space.pod("again")) == before


def test_pods_made_by_generate_name_are_mutated_each(space: Space) -> None:
    pod = gpu_pod()
    pod["metadata"] = {"generateName": "again-"}
    for _ in range(2):
        assert space.kubectl("create", manifest=[pod]).ours
    made = space.wait_for_pods(2, "Running")
    assert all(each["metadata"]["name"].startswith("again-") for each in made)
    assert len({record(each) for each in made}) == 1
    assert record(made[0])


def test_a_copy_of_a_mutated_pod_is_complete_already(space: Space) -> None:
    space.must_apply(example("notebook-memory"))
    original = space.pod("notebook")
    said = space.kubectl("create", manifest=[copy_of(original, "copy")])
    assert (said.status, said.warnings) == (0, ())
    copied = space.pod("copy")
    assert placement(copied) == placement(original)
    # The original's record is no record of this pod, and there is nothing left to write.
    assert not record(copied)


def test_a_record_of_ones_own_is_not_believed(space: Space) -> None:
    own = [{"key": "dedicated", "operator": "Exists"}]
    forged = json.dumps({"gpu-tolerations": {"tolerations": own}})
    made = space.dry_run(gpu_pod(tolerations=own, annotations={"podberth.io/applied": forged}))
    assert "dedicated" not in record(made)
    assert [each["key"] for each in tolerations(made)] == ["dedicated", "nvidia.com/gpu", "sku"]


def test_a_record_that_is_sent_again_with_a_pod_of_its_name_changes_nothing(space: Space) -> None:
    """The API server says in managedFields that the request has it: it is not podberth's of this request."""
    small = gpu_pod(1, name="again")
    space.must_apply(small)
    kept = annotation(space.pod("again"))
    space.kubectl("delete", "pod", "again", "--now")
    larger = gpu_pod(4, name="again")
    replayed = gpu_pod(4, name="again", annotations={"podberth.io/applied": kept})
    assert placement(space.dry_run(replayed)) == placement(space.dry_run(larger))
    made = space.dry_run(replayed)
    assert record(made) == record(space.dry_run(larger))
    # It is podberth's now: so it counts where another webhook makes the API server ask again.
    assert "f:podberth.io/applied" not in json.dumps(made["metadata"]["managedFields"])


def test_a_forged_record_on_a_pod_gives_nothing_back(space: Space) -> None:
    """The API server refuses to take a toleration away, as it does without podberth."""
    space.must_apply(gpu_pod(name="again", tolerations=[TEAM]))
    pod = space.pod("again")
    forged = json.dumps({"gpu-tolerations": {"tolerations": [each for each in tolerations(pod) if each != TEAM]}})
    space.kubectl("annotate", "pod", "again", "--overwrite", f"podberth.io/applied={forged}")
    said = space.kubectl("apply", manifest=[gpu_pod(name="again", tolerations=[TEAM])])
    assert said.status != 0
    assert "Forbidden" in said.errors


def test_a_record_that_was_copied_from_a_sibling_gives_nothing_back(space: Space) -> None:
    """Its seal holds, but the API server notes in managedFields who put it there."""
    siblings: list[str] = []
    for own in ([], [GPU_TOLERATION, SKU_TOLERATION]):
        pod = gpu_pod(tolerations=own)
        pod["metadata"] = {"generateName": "train-"}
        said = space.kubectl("create", "-o", "name", manifest=[pod])
        siblings.append(said.output.strip().removeprefix("pod/"))
    theirs, ours = (space.pod(name) for name in siblings)
    assert "tolerations" in str(record(theirs))
    assert "tolerations" not in str(record(ours))
    dropping = ("patch", "pod", siblings[1], "--type=merge", '-p={"spec":{"tolerations":[]}}')
    without = space.kubectl(*dropping)
    space.kubectl("annotate", "pod", siblings[1], "--overwrite", f"podberth.io/applied={annotation(theirs)}")
    said = space.kubectl(*dropping)
    assert (said.status, "Forbidden" in said.errors) == (without.status, True)
