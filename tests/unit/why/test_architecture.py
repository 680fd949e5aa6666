"""Containers whose program the kernel of their node cannot execute."""

import pytest

from builders import gpu_pod
from podberth.why.diagnosis import Diagnosis
from why_pictures import Document, node, placed, why

RUNC = 'exec: "/app": exec format error: unknown'
ARM = {"kubernetes.io/arch": "arm64"}


def crashed(phase: str = "Running", nodes: tuple[Document, ...] = (), **status: Document) -> Diagnosis:
    found = {"name": "main", "image": "train:1", "restartCount": 2, **status}
    return why(placed(gpu_pod(1), "a", phase=phase, containerStatuses=[found]), *nodes).diagnosis


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        ("Pending", {"state": {"waiting": {"reason": "RunContainerError", "message": RUNC}}}),
        (
            "Running",
            {
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 128, "reason": "StartError", "message": RUNC}},
            },
        ),
        ("Failed", {"state": {"terminated": {"exitCode": 128, "reason": "StartError", "message": RUNC}}}),
    ],
)
def test_a_program_for_another_architecture_is_named_with_that_of_the_node(phase: str, status: Document) -> None:
    found = crashed(phase, (node("a", labels=ARM), node("b")), **status)
    assert found.cause == "architecture"
    assert found.title == (
        "container main cannot run on node a, which is arm64: "
        "its program is for another architecture, or a script without #!"
    )
    assert found.evidence == (RUNC, "its image is train:1", "other nodes are amd64 (1 node) (kubernetes.io/arch)")
    assert found.do == (
        "use an image that is built for arm64 as well",
        "or, if the image is for amd64, add to spec.nodeSelector: {kubernetes.io/arch: amd64}",
    )


def test_the_architecture_of_a_node_that_was_not_read_is_left_out() -> None:
    found = crashed(state={"waiting": {"reason": "CrashLoopBackOff", "message": RUNC}})
    assert found.title.startswith("container main cannot run on node a: ")
    assert found.do == ("use an image that is built for the architecture of the node as well",)


@pytest.mark.parametrize("state", [{"running": {}}, {"terminated": {"exitCode": 0}}])
def test_a_container_that_runs_or_is_done_is_not_blamed_for_its_past(state: Document) -> None:
    found = crashed(state=state, lastState={"terminated": {"exitCode": 128, "message": RUNC}})
    assert found.cause == "running"
