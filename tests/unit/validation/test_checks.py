"""Every wrong group is told in one line that names the fix, by the webhook and by check; what is right is not."""

import json
from dataclasses import replace
from typing import Any

import pytest

import group_scenes as scenes
from checking import ROOT, checked, shipped
from group_scenes import CPU, GPU, QUEUES, SCENES, Scene, job, known, kubeflow, role, told
from podberth.admission.messages import MAX_LINE
from podberth.validation.checks import CHECKS
from snapshots import cluster, snapshot

JSON = dict[str, Any]


def name_of(scene: Scene) -> str:
    return f"{scene.check}: {scene.line[:60]}"


@pytest.mark.parametrize("scene", SCENES, ids=name_of)
def test_a_wrong_group_is_told_where_what_and_what_to_write(scene: Scene) -> None:
    lines = told(scene.document, known(scene))
    assert lines == (f"podberth: {scene.line}",)
    assert len(lines[0]) <= MAX_LINE


@pytest.mark.parametrize("scene", SCENES, ids=name_of)
def test_check_says_the_same_at_its_field(scene: Scene) -> None:
    [*results] = checked(scene.manifest, by=known(scene)).results
    [warning] = [warning for result in results for warning in result.warnings]
    assert scene.line.endswith(warning.message)
    assert warning.line > 0
    assert not any(result.denials or result.errors for result in results)


@pytest.mark.parametrize("scene", [each for each in SCENES if not each.objects], ids=name_of)
def test_what_the_shipped_policies_write_hides_nothing(scene: Scene) -> None:
    if scene.check != scenes.DOMAIN:
        assert f"podberth: {scene.line}" in told(scene.document, shipped(nodes=False))


def test_every_check_has_its_scenes() -> None:
    assert {scene.check for scene in SCENES} == {check.name for check in CHECKS}


@pytest.mark.parametrize("scene", SCENES, ids=name_of)
def test_of_a_cluster_that_nobody_knows_only_the_document_speaks(scene: Scene) -> None:
    lines = told(scene.document, snapshot())
    alone = not scene.objects and scene.check != scenes.DOMAIN
    assert lines == ((f"podberth: {scene.line}",) if alone else ())


@pytest.mark.parametrize("scene", SCENES, ids=name_of)
def test_a_group_without_gpus_is_not_ours(scene: Scene) -> None:
    assert told(json.loads(json.dumps(scene.document).replace("nvidia.com/gpu", "example.com/nic")), known(scene)) == ()


RIGHT = {
    "a queue of another kind of which none is known": (job(", labels: {kueue.x-k8s.io/queue-name: x}"), ""),
    "a queue that is there": (job(", labels: {kueue.x-k8s.io/queue-name: research}"), QUEUES),
    "a leaf queue": (job(", labels: {kai.scheduler/queue: vision}"), QUEUES),
    "a Kubeflow queue of who knows which scheduler": (
        kubeflow("PyTorchJob", role("Worker", 2), ", runPolicy: {schedulingPolicy: {queue: other}}"),
        QUEUES,
    ),
    "two plain schedulers": (
        kubeflow(
            "PyTorchJob", f"{role('Master', 1)}, {role('Worker', 1, GPU.replace('{c', '{schedulerName: own, c', 1))}"
        ),
        "",
    ),
    "the launcher counted": (
        kubeflow("MPIJob", f"{role('Launcher', 1, CPU)}, {role('Worker', 2)}", scenes.MINIMUM % 3, version="v2beta1"),
        "",
    ),
    "workers first, and they alone are counted": (
        kubeflow(
            "MPIJob",
            f"{role('Launcher', 1, CPU)}, {role('Worker', 2)}",
            f"{scenes.MINIMUM % 2}, launcherCreationPolicy: WaitForWorkersReady",
            "v2beta1",
        ),
        "",
    ),
    "an elastic minimum": (
        kubeflow(
            "PyTorchJob",
            f"{role('Master', 1)}, {role('Worker', 2)}",
            f"{scenes.MINIMUM % 2}, elasticPolicy: {{minReplicas: 1, maxReplicas: 4}}",
        ),
        "",
    ),
    "a group of the same name here and elsewhere": (
        job(template="labels: {scheduling.x-k8s.io/pod-group: ring}"),
        "\n---\n".join(
            "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, "
            f"metadata: {{name: ring, namespace: {space}}}, spec: {{minMember: 2}}}}"
            for space in ("ml", "prod")
        ),
    ),
    "a wider level": (
        job(template=f"annotations: {{kueue.x-k8s.io/podset-required-topology: {scenes.RACK}}}"),
        "",
    ),
    "exclusive topology and Kueue's of one level": (
        scenes.job_set(scenes.RACK, f"annotations: {{kueue.x-k8s.io/podset-required-topology: {scenes.RACK}}}"),
        "",
    ),
    "affinity to somebody else": (scenes.job_set(scenes.RACK, pod=scenes.together(scenes.HOST)), ""),
}


@pytest.mark.parametrize("which", RIGHT)
def test_what_is_right_or_nobodys_to_say_is_not_told(which: str) -> None:
    manifest, objects = RIGHT[which]
    scene = Scene("", manifest, "", objects)
    assert told(scene.document, known(scene)) == ()


@pytest.mark.parametrize("folder", ["examples", "tests/manifests", "demo"])
def test_no_manifest_of_ours_is_told_of_but_for_what_a_small_cluster_does_not_hold(folder: str) -> None:
    for file in sorted((ROOT / folder).rglob("*.yaml")):
        for result in checked(file.read_text(encoding="utf-8")).results:
            wrong = [each.message for each in result.warnings if not each.policy]
            assert not [each for each in wrong if "start together" not in each and "no object of" not in each], file


def test_a_transient_node_is_room_all_the_same() -> None:
    scene = Scene("", job(), "")
    nodes = [
        {**node, "spec": {"unschedulable": True}} if node["kind"] == "Node" else node for node in cluster(hgx_h100_8=2)
    ]
    assert told(scene.document, snapshot(objects=nodes)) == ()


@pytest.mark.parametrize(
    "spoiled",
    [
        {"spec": {"runPolicy": 3, "elasticPolicy": {"minReplicas": "many", "maxReplicas": [1]}}},
        {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": {}}}, "elasticPolicy": []}},
        {"metadata": {"name": "x", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": 7}}},
        {"metadata": {"name": "x", "namespace": "ml", "annotations": {"kai.scheduler/batch-min-member": 9}}},
    ],
)
def test_a_document_of_a_wrong_shape_raises_nothing(spoiled: JSON) -> None:
    document = Scene("", kubeflow("PyTorchJob", role("Worker", 2)), "").document
    for key, value in spoiled.items():
        document[key] |= value
    assert told(document, known(Scene("", "", "", QUEUES))) == ()


@pytest.mark.parametrize(
    ("named", "namespace", "said"),
    [
        ("reserch", "ml", "got reserch, no LocalQueue of ml in the snapshot; have astray, held, idle, …"),
        ("reserch", "other", ""),
        ("astray", "ml", "got astray, a LocalQueue of ClusterQueue gone, which is not in the snapshot; make it, or"),
    ],
)
def test_of_queues_in_files_it_is_said_what_is_true(named: str, namespace: str, said: str) -> None:
    """Nobody knows whether a snapshot has all, and of a namespace that has none there nothing is said."""
    scene = Scene("", job(f", labels: {{kueue.x-k8s.io/queue-name: {named}}}"), "", QUEUES)
    document = {**scene.document, "metadata": {**scene.document["metadata"], "namespace": namespace}}
    of_files = replace(known(scene), queues=replace(known(scene).queues, listed=False))
    lines = [line for line in told(document, of_files) if "queue-name" in line]
    assert [said in line for line in lines] == ([True] if said else [])
