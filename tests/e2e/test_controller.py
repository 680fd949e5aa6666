"""`podberth controller` on a real control plane with its own token: groups made, resized and cleaned up, and Events."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from builders import gpu_pod, job
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from crds import FOLDER, read

from .access import grant
from .controller_process import Controller

Document = dict[str, Any]

# Milliseconds here, seconds for an Event; the bound is for a CI machine under load. A crashed leader's Lease is 15 s.
SECONDS = 60.0
RACK = "example.com/rack"
NATIVE = "/apis/scheduling.k8s.io/v1alpha2"
COSCHEDULING = "/apis/scheduling.x-k8s.io/v1alpha1"
KOORDINATOR = "/apis/scheduling.sigs.k8s.io/v1alpha1"
CRDS = ("scheduler-plugins/scheduling.x-k8s.io_podgroups.yaml", "koordinator/scheduling.sigs.k8s.io_podgroups.yaml")
pytestmark = pytest.mark.shared("crds")


@dataclass(frozen=True, slots=True)
class Stage:
    """A control plane with two racks of two machines, and two replicas of the controller."""

    plane: ControlPlane
    replicas: tuple[Controller, Controller]

    def apply(self, namespace: str, *documents: Document) -> None:
        placed = [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in documents]
        self.plane.apply(*placed)

    def group(self, api: str, namespace: str, name: str) -> Document | None:
        found = self.plane.api.read(f"{api}/namespaces/{namespace}/podgroups")["items"]
        return next((each for each in found if each["metadata"]["name"] == name), None)

    def wait_for_group(self, api: str, namespace: str, name: str) -> Document:
        return wait_for(lambda: self.group(api, namespace, name), timeout_seconds=SECONDS, what=f"group {name}")

    def pods(self, namespace: str, **labels: str) -> list[Document]:
        found = self.plane.api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return [each for each in found if labels.items() <= each["metadata"].get("labels", {}).items()]

    def wait_for_pods(self, count: int, namespace: str, **labels: str) -> list[Document]:
        """Return the pods once there are so many and all run."""

        def running() -> list[Document] | None:
            pods = self.pods(namespace, **labels)
            return pods if [each["status"]["phase"] for each in pods] == ["Running"] * count else None

        return wait_for(running, timeout_seconds=SECONDS, what=lambda: f"{count} to run; {self.pods(namespace)}")

    def events(self, namespace: str, reason: str) -> list[Document]:
        found = self.plane.api.read(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
        return [each for each in found if each["reason"] == reason]

    def wait_for_event(self, namespace: str, reason: str) -> Document:
        found = wait_for(
            lambda: self.events(namespace, reason), timeout_seconds=SECONDS, what=f"an Event {reason} in {namespace}"
        )
        return found[0]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("controller")
    with ControlPlane.start(directory / "plane") as plane:
        grant(plane, "controller")
        for file in CRDS:
            plane.apply(*read(FOLDER / file))
        plane.await_crds()
        plane.add_nodes([gpu_node(f"{rack}-{number}", labels={RACK: rack}) for rack in "ab" for number in range(2)])
        with Controller(plane, directory / "one") as one, Controller(plane, directory / "other") as other:
            yield Stage(plane, (one, other))
        plane.check()


@pytest.fixture
def space(stage: Stage, request: pytest.FixtureRequest) -> str:
    """Return a namespace of the test's own."""
    name = request.node.name.removeprefix("test_").replace("_", "-")[:60].strip("-")
    stage.plane.add_namespace(name)
    return str(name)


def member(gang: str, size: int, system: str = "native", level: str = "") -> Document:
    """Return a pod as admission writes a member of a group that is to be made."""
    annotations = {"podberth.io/gang-size": str(size)}
    if level:
        annotations |= {"podberth.io/gang-level": level, "podberth.io/gang-level-mode": "required"}
    labels = {"podberth.io/gang": gang}
    fields: Document = {}
    if system == "native":
        fields["schedulingGroup"] = {"podGroupName": gang}
    else:
        keys = {"coscheduling": "scheduling.x-k8s.io/pod-group", "koordinator": "pod-group.scheduling.sigs.k8s.io"}
        # Nobody schedules for it here, so that its pods wait.
        labels[keys[system]], fields["schedulerName"] = gang, system
    return gpu_pod(8, labels=labels, annotations=annotations, **fields)


def owner_names(group: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return [(each["kind"], each["name"]) for each in group["metadata"]["ownerReferences"]]


def test_a_job_that_names_a_missing_group_starts_in_one_domain_and_takes_the_group_with_it(
    stage: Stage, space: str
) -> None:
    stage.apply(space, job(member("train", 2, level=RACK), parallelism=2))
    pods = stage.wait_for_pods(2, space)
    nodes = {each["spec"]["nodeName"] for each in pods}
    assert len(nodes) == 2
    assert len({node[0] for node in nodes}) == 1
    group = stage.wait_for_group(NATIVE, space, "train")
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert group["spec"]["schedulingConstraints"] == {"topology": [{"key": RACK}]}
    assert group["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "podberth"
    assert owner_names(group) == [("Job", "train")]
    stage.plane.kubectl("delete", "job", "train", "-n", space)
    wait_for(lambda: stage.group(NATIVE, space, "train") is None, timeout_seconds=SECONDS, what="the group to be gone")
