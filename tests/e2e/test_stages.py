"""No member of a gang waits for ever: pods that start in stages, and pods whose owner podberth did not know.

Real scheduler, real controllers of StatefulSets and Jobs, and podberth with the policy gang-system and the controller,
each with its own token. podberth may not list Jobs here: to it every pod of a Job is one whose owner is not known yet.
A LeaderWorkerSet's StatefulSets are made by the test, as its controller makes them.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod, job
from controlplane.build import pod_groups_version
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from crds import FOLDER, read
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE
from snapshots import policy

from .access import enter, grant
from .controller_process import Controller
from .podberth_process import POLICIES, ROOT, Podberth
from .registration import Registration
from .space import SECONDS, Space

Document = dict[str, Any]

pytestmark = pytest.mark.shared("crds")

_GROUPS = f"/apis/{pod_groups_version()}/namespaces/{{}}/podgroups"
_EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
_SIZE = "podberth.io/gang-size"
_LWS = "leaderworkerset.sigs.k8s.io"
_RACK = "example.com/rack"
_NEAR = policy(
    "near",
    f"""
  matchConditions:
  - {{name: asks, expression: "object.metadata.?annotations[?'example.com/near'].hasValue()"}}
  mutations:
  - topology: {{level: "'{_RACK}'", mode: required}}
""",
    order=60,
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster of two racks of two machines, each of which one member takes."""

    plane: ControlPlane
    namespaces: list[str]

    def space(self, name: str) -> Space:
        """Make a namespace that chooses native groups, and wait until podberth has heard of it."""
        space = Space(self.plane, name)
        self.namespaces.append(name)
        space.kubectl("label", "namespace", name, "podberth.io/gang-system=native")
        probe = gpu_pod(8, labels={"podberth.io/gang": "probe"}, annotations={_SIZE: "2"})
        wait_for(
            lambda: "schedulingGroup" in space.dry_run(probe)["spec"],
            timeout_seconds=SECONDS,
            what="podberth to choose native groups",
        )
        return space


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("stages")
    with ControlPlane.start(directory / "plane") as plane:
        grant(plane, "controller")
        _withhold_jobs(plane)
        plane.apply(*read(FOLDER / "lws" / "leaderworkerset.x-k8s.io_leaderworkersets.yaml"))
        plane.await_crds()
        plane.add_nodes([machine(f"{rack}-{number}", rack) for rack in "ab" for number in range(2)])
        policies = directory / "policies"
        shutil.copytree(POLICIES, policies)
        shutil.copytree(ROOT / "optional-policies" / "gang-system", policies / "gang-system")
        (policies / "near.yaml").write_text(_NEAR)
        kubeconfig = enter(plane, _made(directory / "podberth"))
        with (
            Podberth(directory / "podberth", None, policies, kubeconfig=kubeconfig) as podberth,
            Controller(plane, directory / "controller") as controller,
        ):
            wait_for(controller.leads, timeout_seconds=SECONDS, what="the controller to lead")
            registration = Registration(plane)
            registration.put(podberth.endpoint)
            yield Stage(plane, [])
            registration.remove()
        plane.check()


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory


def _withhold_jobs(plane: ControlPlane) -> None:
    """Take the right to Jobs from podberth; its controller keeps its own."""
    text = (ROOT / "manifests" / "base" / "rbac.yaml").read_text()
    for one in load_documents(text, "rbac.yaml")[0]:
        document = one.document
        if (document["kind"], document["metadata"]["name"]) == ("ClusterRole", "podberth"):
            rules = [each for each in document["rules"] if "jobs" not in each.get("resources", ())]
            assert len(rules) < len(document["rules"])
            plane.apply({**document, "rules": rules})
    account = f"system:serviceaccount:{NAMESPACE}:podberth"
    wait_for(
        lambda: (
            plane.kubectl("auth", "can-i", "list", "jobs.batch", "--as", account, "-A", check=False).stdout == "no\n"
        ),
        timeout_seconds=SECONDS,
        what="the right to be gone",
    )


@pytest.fixture
def space(stage: Stage, request: pytest.FixtureRequest) -> Iterator[Space]:
    """Yield a namespace of the test's own; afterwards no pod of it holds a machine."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:50].strip("-")
    made = stage.space(name)
    yield made
    made.remove()


def machine(name: str, rack: str = "c") -> Document:
    """Return a Node of eight GPUs with the taint of such nodes, which podberth has its pods tolerate."""
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    return {**gpu_node(name, labels={_RACK: rack}), "spec": {"taints": [taint]}}


def stateful_set(name: str, replicas: int, template: Document, **spec: Any) -> Document:
    selector = {"matchLabels": {"app": name}}
    template["metadata"].setdefault("labels", {})["app"] = name
    whole = {"replicas": replicas, "serviceName": name, "selector": selector, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": whole}


def template(size: int, **annotations: str) -> Document:
    """Return a pod template that declares a gang."""
    pod = gpu_pod(8, annotations={_SIZE: str(size), **annotations})
    return {"metadata": {"annotations": pod["metadata"]["annotations"]}, "spec": pod["spec"]}


def group_of(space: Space) -> Document:
    """Return the one PodGroup of the namespace, once it is there."""

    def found() -> Document | None:
        groups = space.control_plane.api.read(_GROUPS.format(space.name))["items"]
        return groups[0] if groups else None

    return wait_for(found, timeout_seconds=SECONDS, what="a PodGroup")


def owners(group: Document) -> list[tuple[str, str]]:
    return [(each["kind"], each["name"]) for each in group["metadata"]["ownerReferences"]]


def event_of(space: Space, reason: str) -> Document:
    """Return an Event of a reason, once it is there."""

    def found() -> Document | None:
        events = space.control_plane.api.read(_EVENTS.format(space.name))["items"]
        return next((each for each in events if each["reason"] == reason), None)

    return wait_for(found, timeout_seconds=SECONDS, what=f"an Event {reason}")


def wait_until_refused(space: Space, count: int) -> None:
    """Return once there are so many pods, and the scheduler has said about each that it does not fit."""

    def refused() -> bool:
        conditions = [
            {each["type"]: each["status"] for each in pod["status"].get("conditions", ())} for pod in space.pods()
        ]
        return [each.get("PodScheduled") for each in conditions] == ["False"] * count

    wait_for(refused, timeout_seconds=SECONDS, what=lambda: f"{count} pods to be refused: {space.pods()}")


def test_an_ordered_stateful_set_that_declares_a_gang_runs_all_its_pods_with_a_warning(
    space: Space,
) -> None:
    said = space.must_apply(stateful_set("ordered", 3, template(3)))
    assert any("start in stages (spec.podManagementPolicy OrderedReady; want Parallel)" in line for line in said.ours)
    pods = space.wait_for_pods(3, "Running")
    group = group_of(space)
    assert group["spec"]["schedulingPolicy"] == {"basic": {}}
    assert owners(group) == [("StatefulSet", "ordered")]
    name = group["metadata"]["name"]
    assert {each["spec"]["schedulingGroup"]["podGroupName"] for each in pods} == {name}
    event = event_of(space, "PodGroupWithoutMinimum")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("StatefulSet", "ordered")
    assert "spec.podManagementPolicy OrderedReady; want Parallel" in event["note"]


def test_an_ordered_stateful_set_is_in_the_domain_that_it_requires(space: Space) -> None:
    space.must_apply(stateful_set("near", 2, template(2, **{"example.com/near": "rack"})))
    pods = space.wait_for_pods(2, "Running")
    assert group_of(space)["spec"]["schedulingConstraints"] == {"topology": [{"key": _RACK}]}
    assert len({space.label_of_node(each, _RACK) for each in pods}) == 1


def test_a_parallel_stateful_set_starts_whole_or_not_at_all(stage: Stage, space: Space) -> None:
    said = space.must_apply(stateful_set("parallel", 5, template(5), podManagementPolicy="Parallel"))
    assert any("joins the native group of its gang of 5" in line for line in said.ours)
    assert group_of(space)["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}
    wait_until_refused(space, 5)
    assert [each["spec"].get("nodeName") for each in space.pods()] == [None] * 5
    stage.plane.add_nodes([machine("one-more")])
    space.wait_for_pods(5, "Running")
    stage.plane.kubectl("delete", "node", "one-more")


def test_a_job_that_podberth_did_not_know_has_a_gang_of_its_size(space: Space) -> None:
    space.must_apply(job(gpu_pod(8), name="fits", indexed=True, parallelism=3))
    pods = space.wait_for_pods(3, "Running")
    group = group_of(space)
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert owners(group) == [("Job", "fits")]
    name = group["metadata"]["name"]
    for each in pods:
        assert each["metadata"]["labels"]["podberth.io/gang"] == name
        assert _SIZE not in each["metadata"]["annotations"]


def test_a_job_that_podberth_did_not_know_starts_whole_or_not_at_all(space: Space) -> None:
    space.must_apply(job(gpu_pod(8), name="large", indexed=True, parallelism=5))
    assert group_of(space)["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}
    wait_until_refused(space, 5)
    assert [each["spec"].get("nodeName") for each in space.pods()] == [None] * 5


def test_a_queue_of_tasks_that_podberth_did_not_know_works_on_and_is_no_gang(space: Space) -> None:
    queue = job(gpu_pod(8), name="queue", indexed=True, parallelism=2)
    queue["spec"]["completions"] = 4
    space.must_apply(queue)
    running = space.wait_for_pods(2, "Running")
    group = group_of(space)
    assert group["spec"]["schedulingPolicy"] == {"basic": {}}
    assert "nobody says how many there are" in event_of(space, "PodGroupWithoutMinimum")["note"]
    # A user who says later how many there are gets an Event: the group stays as it is.
    name = group["metadata"]["name"]
    sized = gpu_pod(
        8,
        name="sized",
        labels={"podberth.io/gang": name},
        annotations={_SIZE: "4"},
        schedulingGroup={"podGroupName": name},
        nodeSelector={"example.com/none": "x"},
    )
    sized["metadata"]["ownerReferences"] = running[0]["metadata"]["ownerReferences"]
    space.must_apply(sized)
    assert "the group stays without minimum" in event_of(space, "PodGroupNotResized")["note"]
    assert group_of(space)["spec"] == group["spec"]


@pytest.mark.parametrize("startup", ["LeaderReady", "LeaderCreated"])
def test_the_pods_of_a_leader_worker_set(space: Space, startup: str) -> None:
    """... all run, be the workers made behind the leader or with it: without a minimum, or as a gang."""
    pod = gpu_pod(8)
    inner = {"size": 3, "workerTemplate": {"spec": pod["spec"]}}
    spec = {"replicas": 1, "startupPolicy": startup, "leaderWorkerTemplate": inner}
    serve = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "serve"}}
    said = space.must_apply({**serve, "spec": spec})
    stages = "start in stages (spec.startupPolicy LeaderReady; want LeaderCreated)"
    assert any(stages in line for line in said.ours) == (startup == "LeaderReady")

    space.must_apply(_of_set(space, "serve", 1, {f"{_LWS}/worker-index": "0"}, serve))
    leader = space.wait_for_pods(1, "Running" if startup == "LeaderReady" else "")[0]
    key = hashlib.sha1(f"{space.name}/serve-0".encode(), usedforsecurity=False).hexdigest()
    workers = _of_set(space, "serve-0", 2, {f"{_LWS}/group-key": key}, {**leader, "apiVersion": "v1", "kind": "Pod"})
    workers["spec"]["ordinals"] = {"start": 1}
    space.must_apply(workers)

    pods = space.wait_for_pods(3, "Running")
    assert [each["metadata"]["name"] for each in pods] == ["serve-0", "serve-0-1", "serve-0-2"]
    group = group_of(space)
    policies = {"LeaderReady": {"basic": {}}, "LeaderCreated": {"gang": {"minCount": 3}}}
    assert group["spec"]["schedulingPolicy"] == policies[startup]
    assert owners(group) == [("LeaderWorkerSet", "serve")]
    assert {each["spec"]["schedulingGroup"]["podGroupName"] for each in pods} == {group["metadata"]["name"]}


def _of_set(space: Space, name: str, replicas: int, labels: dict[str, str], owner: Document) -> Document:
    """Return a StatefulSet of a LeaderWorkerSet as its controller makes it (pkg/controllers/pod_controller.go)."""
    pod = gpu_pod(8)
    metadata = {"labels": {f"{_LWS}/name": "serve", **labels}, "annotations": {f"{_LWS}/size": "3"}}
    made = stateful_set(name, replicas, {"metadata": metadata, "spec": pod["spec"]}, podManagementPolicy="Parallel")
    if owner["kind"] != "Pod":
        owner = {**owner, **space.read("leaderworkerset.x-k8s.io/v1/leaderworkersets", "serve")}
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    made["metadata"]["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"], "controller": True}]
    return made
