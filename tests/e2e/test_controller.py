"""`podberth controller` on a real control plane with its own token: groups made, resized and cleaned up, and Events."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from builders import gpu_pod, job
from controlplane.build import minor, pod_groups_version
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from crds import FOLDER, GROUP_CRDS, read

from .access import grant
from .controller_process import Controller, holder

Document = dict[str, Any]

# Milliseconds here, seconds for an Event; the bound is for a CI machine under load. A crashed leader's Lease is 15 s.
SECONDS = 60.0
RACK = "example.com/rack"
NATIVE = f"/apis/{pod_groups_version()}"
COSCHEDULING = "/apis/scheduling.x-k8s.io/v1alpha1"
KOORDINATOR = "/apis/scheduling.sigs.k8s.io/v1alpha1"
# 1.31 refuses a rule of JobSet's CRD.
CRDS = (*GROUP_CRDS, *(["jobset/jobset.x-k8s.io_jobsets.yaml"] if minor() >= 33 else []))
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

    def remove(self, kind: str, name: str, namespace: str) -> None:
        """Delete something; what it owns goes with it."""
        self.plane.kubectl("delete", kind, name, "-n", namespace, "--wait=false")

    def wait_for_leader(self) -> Controller:
        def leader() -> Controller | None:
            return next((each for each in self.replicas if each.leads()), None)

        return wait_for(leader, timeout_seconds=SECONDS, what="a leader")

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
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:60].strip("-")
    stage.plane.add_namespace(name)
    return name


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


def bare(name: str, document: Document, owner: Document | None = None) -> Document:
    """Return a pod by itself, or one with a controller that is left alone."""
    metadata = {**document["metadata"], "name": name}
    if owner is not None:
        metadata["ownerReferences"] = [controlled(owner)]
    return {**document, "metadata": metadata}


def controlled(owner: Document) -> Document:
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **named, "controller": True}


def owner_names(group: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return sorted((each["kind"], each["name"]) for each in group["metadata"]["ownerReferences"])


@pytest.fixture
def owner(stage: Stage, space: str) -> Document:
    """Return an object that owns pods and does nothing with them."""
    stage.apply(space, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}})
    found: Document = stage.plane.api.read(f"/api/v1/namespaces/{space}/configmaps/owner")
    return {"apiVersion": "v1", "kind": "ConfigMap", **found}


def minimum(group: Document | None) -> int:
    return 0 if group is None else int(group["spec"]["minMember"])


@pytest.mark.since(36)
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
    stage.remove("job", "train", space)
    wait_for(lambda: stage.group(NATIVE, space, "train") is None, timeout_seconds=SECONDS, what="the group to be gone")


@pytest.mark.since(36)
def test_of_two_gangs_that_do_not_fit_together_one_starts_whole_and_the_other_waits(stage: Stage, space: str) -> None:
    """Three machines each of four: pod by pod they would hold two and wait for each other for ever."""
    for gang in ("one", "two"):
        stage.apply(space, job(member(gang, 3), name=gang, parallelism=3))
    for gang in ("one", "two"):
        stage.wait_for_group(NATIVE, space, gang)

    def placed() -> dict[str, int]:
        gangs = {gang: stage.pods(space, **{"podberth.io/gang": gang}) for gang in ("one", "two")}
        return {gang: sum("nodeName" in pod["spec"] for pod in pods) for gang, pods in gangs.items()}

    wait_for(lambda: max(placed().values()) == 3, timeout_seconds=SECONDS, what=lambda: f"one to start: {placed()}")
    assert sorted(placed().values()) == [0, 3]
    first, second = sorted(placed(), key=placed().__getitem__, reverse=True)
    stage.remove("job", first, space)
    stage.wait_for_pods(3, space, **{"podberth.io/gang": second})
    stage.remove("job", second, space)


@pytest.mark.parametrize(("system", "api"), [("coscheduling", COSCHEDULING), ("koordinator", KOORDINATOR)])
def test_a_group_of_(stage: Stage, space: str, owner: Document, system: str, api: str) -> None:
    """... another system is made, owned by the gang's owner, and grows and shrinks with the gang."""
    stage.apply(space, *(bare(f"first-{rank}", member("gang", 2, system), owner) for rank in range(2)))
    group = stage.wait_for_group(api, space, "gang")
    assert (minimum(group), owner_names(group)) == (2, [("ConfigMap", "owner")])
    stage.apply(space, bare("third", member("gang", 3, system), owner))
    wait_for(lambda: minimum(stage.group(api, space, "gang")) == 3, timeout_seconds=SECONDS, what="three members")
    stage.remove("pod", "third", space)
    wait_for(lambda: minimum(stage.group(api, space, "gang")) == 2, timeout_seconds=SECONDS, what="two members")
    stage.remove("configmap", "owner", space)
    wait_for(lambda: stage.group(api, space, "gang") is None, timeout_seconds=SECONDS, what="the group to be gone")


@pytest.mark.since(36)
def test_a_native_group_grows_or_gives_an_event_on_the_owner(stage: Stage, space: str, owner: Document) -> None:
    # Of more machines than there are, so that all of it waits.
    stage.apply(space, bare("first", member("gang", 9), owner))
    stage.wait_for_group(NATIVE, space, "gang")
    stage.apply(space, bare("later", member("gang", 10), owner))
    if minor() >= 37:  # the API server lets it grow

        def grown() -> bool:
            group = stage.group(NATIVE, space, "gang") or {}
            return bool(group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 10)

        wait_for(grown, timeout_seconds=SECONDS, what="a group of ten")
        stage.remove("configmap", "owner", space)
        return
    event = stage.wait_for_event(space, "PodGroupNotResized")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("ConfigMap", "owner")
    assert event["note"].startswith(f"PodGroup {space}/gang: got a gang of 10 pods, and minCount stays 9")
    assert "delete the PodGroup and the gang's pods" in event["note"]
    assert event["reportingController"] == "podberth.io/controller"
    stage.remove("configmap", "owner", space)


def test_a_pod_gets_an_event_that_its_group_does_not_come(stage: Stage, space: str) -> None:
    volcano = gpu_pod(1, name="volcano", annotations={"scheduling.k8s.io/group-name": "v"}, schedulerName="volcano")
    sizeless = member("sizeless", 2, "coscheduling")
    del sizeless["metadata"]["annotations"]["podberth.io/gang-size"]
    stage.apply(space, volcano, bare("sizeless", sizeless))

    def noted() -> dict[str, str]:
        return {each["regarding"]["name"]: each["note"] for each in stage.events(space, "PodGroupMissing")}

    wait_for(lambda: len(noted()) == 2, timeout_seconds=SECONDS, what=lambda: f"two Events; got {noted()}")
    assert "serves no podgroups.scheduling.volcano.sh: install it" in noted()["volcano"]
    assert "set annotation podberth.io/gang-size and podberth makes it" in noted()["sizeless"]
    assert {each["regarding"]["kind"] for each in stage.events(space, "PodGroupMissing")} == {"Pod"}
    stage.remove("pods", "--all", space)


@pytest.mark.since(36)
def test_a_pod_whose_native_group_does_not_come_gets_one_event_and_starts_when_it_comes(
    stage: Stage, space: str
) -> None:
    stage.apply(space, gpu_pod(1, name="native", schedulingGroup={"podGroupName": "nobodys"}))
    event = stage.wait_for_event(space, "PodGroupMissing")
    assert event["regarding"]["name"] == "native"
    assert event["note"] == (
        f"PodGroup {space}/nobodys: got none after 1 s, and spec.schedulingGroup.podGroupName of this pod names it; "
        "make one of podgroups.scheduling.k8s.io in that namespace, or the pod without "
        "spec.schedulingGroup.podGroupName"
    )
    basic = {"metadata": {"name": "nobodys"}, "spec": {"schedulingPolicy": {"basic": {}}}}
    stage.apply(space, {"apiVersion": pod_groups_version(), "kind": "PodGroup", **basic})
    wait_for(
        lambda: [each for each in stage.pods(space) if each["status"]["phase"] == "Running"],
        timeout_seconds=SECONDS,
        what="the pod whose group came to run",
    )
    stage.remove("pods", "--all", space)
    # Once for as long as it stands.
    assert all("series" not in each for each in stage.events(space, "PodGroupMissing"))


def test_a_group_of_somebody_elses_is_left_alone(stage: Stage, space: str) -> None:
    own = {"metadata": {"name": "theirs"}, "spec": {"minMember": 7}}
    stage.apply(space, {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", **own})
    before = stage.group(COSCHEDULING, space, "theirs")
    # In order of their names: who cares for the second has looked at the first.
    stage.apply(space, bare("a", member("theirs", 2, "coscheduling")))
    stage.apply(space, bare("b", member("ours", 2, "coscheduling")))
    ours = stage.wait_for_group(COSCHEDULING, space, "ours")
    assert owner_names(ours) == [("Pod", "b")]
    stage.apply(space, bare("c", member("ours", 3, "coscheduling")))
    wait_for(
        lambda: minimum(stage.group(COSCHEDULING, space, "ours")) == 3, timeout_seconds=SECONDS, what="ours to grow"
    )
    changed = stage.group(COSCHEDULING, space, "ours")
    assert changed is not None
    assert owner_names(changed) == [("Pod", "b"), ("Pod", "c")]
    assert stage.group(COSCHEDULING, space, "theirs") == before
    stage.remove("pods", "--all", space)
    wait_for(lambda: stage.group(COSCHEDULING, space, "ours") is None, timeout_seconds=SECONDS, what="ours to be gone")
    assert stage.group(COSCHEDULING, space, "theirs") == before


@pytest.mark.since(33)
def test_the_group_of_a_job_of_a_job_set_is_the_job_sets(stage: Stage, space: str) -> None:
    replicated = {"name": "workers", "replicas": 1, "template": {"spec": {"template": {"spec": {"containers": []}}}}}
    document = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set"}}
    stage.apply(space, {**document, "spec": {"replicatedJobs": [replicated]}})
    found = stage.plane.api.read(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{space}/jobsets/set")
    inner = job(member("gang", 2, "coscheduling"), parallelism=2)
    inner["metadata"]["ownerReferences"] = [controlled(found)]
    stage.apply(space, inner)
    group = stage.wait_for_group(COSCHEDULING, space, "gang")
    assert owner_names(group) == [("JobSet", "set")]
    stage.remove("jobset", "set", space)
    wait_for(
        lambda: stage.group(COSCHEDULING, space, "gang") is None, timeout_seconds=SECONDS, what="the group to be gone"
    )


@pytest.mark.parametrize("crash", [False, True], ids=["ended", "killed"])
def test_when_the_leader_is_gone_the_other_takes_over(stage: Stage, space: str, crash: bool) -> None:
    leader, before = stage.wait_for_leader(), holder(stage.plane)
    [other] = [each for each in stage.replicas if each is not leader]
    leader.stop(crash=crash)
    stage.apply(space, bare("pod", member("gang", 2, "coscheduling")))
    stage.wait_for_group(COSCHEDULING, space, "gang")
    assert holder(stage.plane) != before
    wait_for(other.leads, timeout_seconds=SECONDS, what="the other to say that it leads")
    leader.start()
    stage.remove("pods", "--all", space)
