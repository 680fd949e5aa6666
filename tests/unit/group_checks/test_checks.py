"""Every wrong group is reported in one line that names the fix, by the webhook and by check; what is right is not."""

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

import group_scenes as scenes
from checking import ROOT, checked, shipped
from group_scenes import CPU, GPU, QUEUES, Scene, job, known, kubeflow, role, warned
from podberth.admission.messages import MAX_LINE
from podberth.errors import ReviewError
from podberth.group_checks.case import MOST_ROLES
from podberth.group_checks.checks import CHECKS
from podberth.kinds.dossiers import DOSSIERS
from podberth.workload.templates import templates
from properties import thinned
from right_groups import RIGHT
from snapshots import cluster, snapshot
from wrong_groups import WRONG, job_set, replicated

JSON = dict[str, Any]


def name_of(scene: Scene) -> str:
    return f"{scene.check}: {scene.line[:60]}"


@pytest.mark.parametrize("scene", WRONG, ids=name_of)
def test_a_wrong_group_is_reported_where_what_and_what_to_write(scene: Scene) -> None:
    lines = warned(scene.document, known(scene))
    assert lines == (f"podberth: {scene.line}",)
    assert len(lines[0]) <= MAX_LINE


@pytest.mark.parametrize("scene", WRONG, ids=name_of)
def test_check_says_the_same_at_its_field(scene: Scene) -> None:
    [*results] = checked(scene.manifest, by=known(scene)).results
    [warning] = [warning for result in results for warning in result.warnings]
    assert scene.line.endswith(warning.message)
    assert warning.line > 0
    assert not any(result.denials or result.errors for result in results)


@pytest.mark.parametrize("scene", [each for each in WRONG if not each.objects], ids=name_of)
def test_what_the_shipped_policies_write_hides_nothing(scene: Scene) -> None:
    if scene.check != scenes.DOMAIN:
        assert f"podberth: {scene.line}" in warned(scene.document, shipped(nodes=False))


def test_every_check_has_its_scenes() -> None:
    assert {scene.check for scene in WRONG} == {check.name for check in CHECKS}


@pytest.mark.parametrize("scene", WRONG, ids=name_of)
def test_of_a_cluster_that_nobody_knows_only_the_document_speaks(scene: Scene) -> None:
    lines = warned(scene.document, snapshot())
    alone = not scene.objects and scene.check != scenes.DOMAIN
    assert lines == ((f"podberth: {scene.line}",) if alone else ())


@pytest.mark.parametrize("scene", WRONG, ids=name_of)
def test_a_group_without_gpus_is_not_ours(scene: Scene) -> None:
    assert (
        warned(json.loads(json.dumps(scene.document).replace("nvidia.com/gpu", "example.com/nic")), known(scene)) == ()
    )


@pytest.mark.parametrize("which", RIGHT)
def test_what_is_right_or_nobodys_to_say_is_not_reported(which: str) -> None:
    scene = _scene(which)
    assert warned(scene.document, known(scene)) == ()


@pytest.mark.parametrize("which", RIGHT)
def test_what_is_right_is_a_workload_with_gpus(which: str) -> None:
    [document] = scenes.documents(RIGHT[which][0])
    made = templates(document, namespace="ml")
    assert made
    assert not any(each.problems for each in made)
    assert any('"nvidia.com/gpu": ' in json.dumps(each.pod) for each in made)


def test_right_ones_are_of_all_kinds_that_make_gangs() -> None:
    documents = [_scene(which).document for which in RIGHT]
    kinds = {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in documents}
    assert kinds >= {each.kind for row in DOSSIERS for each in row.group_rules if each.starts is not None}


def _scene(which: str) -> Scene:
    manifest, objects = RIGHT[which]
    return Scene("", manifest, "", objects)


@pytest.mark.parametrize("folder", ["examples", "tests/manifests", "demo"])
def test_no_manifest_of_ours_is_reported_but_for_what_a_small_cluster_does_not_hold(folder: str) -> None:
    for file in sorted((ROOT / folder).rglob("*.yaml")):
        for result in checked(file.read_text(encoding="utf-8")).results:
            wrong = [each.message for each in result.warnings if not each.policy and each.field != "apiVersion"]
            small = ("start together", "no object of", "no known node")
            assert not [each for each in wrong if not any(part in each for part in small)], file


def test_a_transient_node_is_room_all_the_same() -> None:
    scene = Scene("", job(), "")
    nodes = [
        {**node, "spec": {"unschedulable": True}} if node["kind"] == "Node" else node for node in cluster(hgx_h100_8=2)
    ]
    assert warned(scene.document, snapshot(objects=nodes)) == ()


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
    assert warned(document, known(Scene("", "", "", QUEUES))) == ()


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
    of_files = replace(known(scene), facts=replace(known(scene).facts, listed=False))
    lines = [line for line in warned(document, of_files) if "queue-name" in line]
    assert [said in line for line in lines] == ([True] if said else [])


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path to everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*path, key)
        yield from places(below, (*path, key))


@pytest.mark.parametrize("value", [3, [1], {"a": 1}])
def test_whatever_stands_in_the_place_of_something_raises_nothing(value: Any) -> None:
    by = known(Scene("", "", "", QUEUES))
    manifests = [*(scene.manifest for scene in WRONG), *(manifest for manifest, _ in RIGHT.values())]
    spoiled_at = [
        (document, path)
        for manifest in manifests
        for document in scenes.documents(manifest)
        for path in places(document)
        if path[0] in ("spec", "metadata") and path not in (("metadata",), ("metadata", "namespace"))
    ]
    for document, path in thinned(spoiled_at):
        spoiled = copy.deepcopy(document)
        holder: Any = spoiled
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
        with suppress(ReviewError):  # a template of a wrong shape, which the API server lets nobody make
            warned(spoiled, by)


def test_objects_of_more_roles_than_anybody_has_are_not_compared() -> None:
    def lines(roles: int) -> Sequence[str]:
        manifest = job_set(*(replicated(f"a{number}", 1) for number in range(roles)))
        return warned(Scene("", manifest, "").document, known(Scene("", "", "")))

    assert len(lines(MOST_ROLES)) == 1
    [line] = lines(MOST_ROLES + 1)
    assert line.startswith(f"podberth: got more than {MOST_ROLES} pod templates: only the first {MOST_ROLES} are")


ELASTIC = kubeflow("PyTorchJob", role("Worker", 2), ", elasticPolicy: {minReplicas: 1, maxReplicas: 2}")
UNDER_VOLCANO = GPU.replace("{containers", "{schedulerName: volcano, containers", 1)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (job(), "spec.schedulerName: got default-scheduler, and nothing on this cluster starts the 2 pods of this"),
        (
            kubeflow("PyTorchJob", role("Master", 1) + ", " + role("Worker", 2)),
            "starts the 3 pods of this gang together",
        ),
        (kubeflow("PyTorchJob", role("Master", 1, CPU) + ", " + role("Worker", 1)), ""),  # one pod with GPUs
        (job(", labels: {kueue.x-k8s.io/queue-name: q}"), ""),
        (job(pod=GPU.replace("{containers", "{schedulerName: packing, containers", 1)), ""),
        (ELASTIC, ""),
    ],
)
def test_where_nothing_starts_gangs_whole_their_author_gets_one_warning(manifest: str, said: str) -> None:
    scene = Scene("", manifest, "")
    by = known(scene)
    lonely = replace(by, facts=replace(by.facts, is_groupless=True))
    lines = [line for line in warned(scene.document, lonely) if "nothing on this cluster" in line]
    assert [said in line for line in lines] == ([True] if said else [])
    assert not [line for line in warned(scene.document, by) if "nothing on this cluster" in line]


@pytest.mark.parametrize("least", ["1", "2"])
def test_a_minimum_that_is_stated_is_the_users(least: str) -> None:
    said = f", annotations: {{scheduling.volcano.sh/group-min-member: '{least}'}}"
    scene = Scene("", job(said, pod=UNDER_VOLCANO), "")
    assert warned(scene.document, known(scene)) == ()
