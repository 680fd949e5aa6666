"""Whoever applies a wrong group reads what is wrong with it: on the real API server, and of real queues."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from builders import workload_review
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from crds import FOLDER, read
from group_scenes import DOMAIN, QUEUE, QUEUES, SCENES, Scene, documents, job
from snapshots import policy

from .access import grant
from .following import Following
from .operator_crds import install
from .space import Space

pytestmark = pytest.mark.shared("crds")

Document = dict[str, Any]

# Of the kinds that the API server of these tests serves by itself, or by a CRD at hand.
SHOWN = [scene for scene in SCENES if not scene.objects and scene.check != DOMAIN]


def test_whoever_applies_a_wrong_group_reads_it(space: Space, served: set[tuple[str, str]]) -> None:
    built_in = {("batch/v1", "Job")}
    kinds = set()
    for scene in SHOWN:
        document = scene.document
        if (document["apiVersion"], document["kind"]) not in served | built_in:
            continue
        kinds.add(document["kind"])
        said = space.kubectl("apply", "--dry-run=server", manifest=[document])
        assert said.status == 0, (scene.line, said)
        wanted = f"podberth: {scene.line}".replace(" in ml", f" in {space.name}").replace(
            "write ml", f"write {space.name}"
        )
        assert wanted in said.ours, (scene.line, said)
    assert kinds >= {"Job", "PyTorchJob", "MPIJob", "RayCluster", "LeaderWorkerSet", "JobSet"}


# ---- queues ---------------------------------------------------------------------------------------------------------
TEAM = "ml"
_SECONDS = 60.0
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
        install(plane, found)
        served = tmp_path_factory.mktemp("policies")
        (served / "quiet.yaml").write_text(policy("quiet", "  mutations: [{labels: {quiet.example/x: \"'y'\"}}]"))
        with Following(plane, tmp_path_factory.mktemp("following"), served=served) as following:
            yield following
        plane.check()


def warned(following: Following, document: Document) -> list[str]:
    asked = workload_review(document, f"{document['kind'].lower()}s", namespace=TEAM)
    answer = following.post("/validate-workload", asked)
    assert answer["allowed"]
    return list(answer.get("warnings") or ())


def test_queues_of_the_cluster_are_known_by_podberths_own_rights(following: Following) -> None:
    nameless = Scene(QUEUE, job(", labels: {kueue.x-k8s.io/queue-name: reserch}"), "").document
    assert warned(following, nameless) == []  # served, and none is known: somebody may be about to make them
    for queue in documents(QUEUES):
        following.control_plane.apply(queue)
        if "status" in queue:
            _set_status(following.control_plane, queue)
    for scene in SCENES:
        if scene.objects != QUEUES or scene.document["kind"] == "Pod":
            continue
        document, line = scene.document, f"podberth: {scene.line}"

        def reached(document: Document = document, line: str = line) -> bool:
            return line in warned(following, document)

        def seen(document: Document = document) -> str:
            return str(warned(following, document))

        wait_for(reached, timeout_seconds=_SECONDS, what=seen)


def _set_status(plane: ControlPlane, queue: Document) -> None:
    status = queue["status"]
    for condition in status.get("conditions", ()):
        condition |= {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": "a flavor is missing"}
    kind = f"{queue['kind'].lower()}s.{queue['apiVersion'].partition('/')[0]}"
    patch = json.dumps({"status": status})
    plane.kubectl("patch", kind, queue["metadata"]["name"], "--subresource=status", "--type=merge", "-p", patch)
