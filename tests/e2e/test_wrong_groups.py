"""Whoever applies a wrong group reads what is wrong with it: kubectl on a real API server, of real CRDs and queues."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from builders import workload_review
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from crds import FOLDER, read
from group_scenes import DOMAIN, QUEUE, QUEUES, Scene, documents, job
from right_groups import RIGHT
from wrong_groups import WRONG

from .access import grant
from .following import Following
from .operator_crds import install, operator_crds
from .registration import Registration
from .space import Said

pytestmark = pytest.mark.shared("crds")

Document = dict[str, Any]

TEAM = "ml"
# How fast is not asked here: on a busy machine an API server gives a review of a workload up after 2 s, and asks again
# with the next try.
_SECONDS = 120.0
_SERVED = {("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("kubeflow.org/v1", "PyTorchJob")}
_QUEUES = (
    *(FOLDER / "kueue" / f"kueue.x-k8s.io_{plural}.yaml" for plural in ("localqueues", "clusterqueues")),
    FOLDER / "volcano" / "scheduling.volcano.sh_queues.yaml",
    FOLDER / "kai-scheduler" / "scheduling.run.ai_queues.yaml",
)


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        plane.add_namespace(TEAM)
        found = {crd["metadata"]["name"]: crd for file in _QUEUES for crd in read(file)}
        for crd in found.values():
            crd["spec"].pop("conversion", None)  # it leads to an operator that does not run here
        install(plane, operator_crds() | found)
        with Following(plane, tmp_path_factory.mktemp("following")) as following:
            Registration(plane).put(following.podberth.endpoint)
            yield following
        plane.check()


def applied(following: Following, document: Document) -> tuple[str, ...]:
    """Return the warnings for the user who applies a document."""
    text = json.dumps(document)
    done = following.control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=text, check=False)
    said = Said.of(done)
    assert said.status == 0, said
    return said.ours


def _kind(scene: Scene) -> tuple[str, str]:
    return scene.document["apiVersion"], scene.document["kind"]


def until_warned(following: Following, scene: Scene) -> None:
    document, line = scene.document, f"podberth: {scene.line}"
    wait_for(
        lambda: line in applied(following, document),
        timeout_seconds=_SECONDS,
        what=lambda: f"{line!r}; got {applied(following, document)}",
    )


def test_whoever_applies_a_wrong_group_reads_it(following: Following) -> None:
    shown = [scene for scene in WRONG if not scene.objects and scene.check != DOMAIN]
    shown = [scene for scene in shown if _kind(scene) in _SERVED]
    assert set(map(_kind, shown)) == _SERVED
    for scene in shown:
        until_warned(following, scene)


def test_whoever_applies_a_right_workload_reads_nothing_of_groups(following: Following) -> None:
    # The native gang's field is not served everywhere.
    shown = [manifest for manifest, objects in RIGHT.values() if not objects and "scheduling: {" not in manifest]
    shown = [manifest for manifest in shown if _kind(Scene("", manifest, "")) in _SERVED]
    for manifest in shown:
        lines = applied(following, Scene("", manifest, "").document)
        # What the test's own policy changes is a line without a policy's name, too.
        assert not [line for line in lines if line.startswith("podberth: ") and "seen.example/" not in line], manifest


def test_queues_of_the_cluster_are_known_by_podberths_own_rights(following: Following) -> None:
    # Served, and none is known: somebody may be about to make them.
    nameless = Scene(QUEUE, job(", labels: {kueue.x-k8s.io/queue-name: reserch}"), "").document
    assert not [line for line in applied(following, nameless) if "LocalQueue" in line]
    for queue in documents(QUEUES):
        following.control_plane.apply({key: each for key, each in queue.items() if key != "status"})
        if "status" in queue:
            _set_status(following.control_plane, queue)
    for scene in WRONG:
        if scene.objects == QUEUES and scene.document["kind"] == "Job":
            if _kind(scene) in _SERVED:
                until_warned(following, scene)
            else:  # Volcano's own kind is not served here
                _until_answered(following, scene)


def _until_answered(following: Following, scene: Scene) -> None:
    asked = workload_review(scene.document, "jobs", namespace=TEAM)

    def answer() -> list[str]:
        return list(following.post("/validate-workload", asked)["warnings"])

    wait_for(lambda: f"podberth: {scene.line}" in answer(), timeout_seconds=_SECONDS, what=lambda: str(answer()))


def _set_status(plane: ControlPlane, queue: Document) -> None:
    status = queue["status"]
    for condition in status.get("conditions", ()):
        condition |= {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": "a flavor is missing"}
    kind = f"{queue['kind'].lower()}s.{queue['apiVersion'].partition('/')[0]}"
    patch = json.dumps({"status": status})
    plane.kubectl("patch", kind, queue["metadata"]["name"], "--subresource=status", "--type=merge", "-p", patch)
