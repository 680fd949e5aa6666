"""The floor on a real API server: what pods get while podberth is away, and that podberth decides as without it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest

from builders import deployment, gpu_container, gpu_pod, job, pod, stateful_set, workload
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from floors import COMPONENT, mark, policies

from .access import enter, grant
from .controller_process import Controller
from .manifest import GPU_TOLERATION, read, record, tolerations
from .podberth_process import POLICIES, Podberth
from .registration import pointed, shipped

Document = dict[str, Any]
SECONDS = 60.0
PARAMS = "/api/v1/namespaces/podberth-system/configmaps/podberth-floor"
BINDINGS = [each for each in policies() if each["kind"].endswith("Binding")]
ALONE, GUARDED = "alone", "guarded"
_NOT_SENT = "podberth.test/not-sent"
AMD_TOLERATION = {"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
GPU_MARK = "nvidia.com/gpu:NoSchedule"
pytestmark = pytest.mark.since(36)  # MutatingAdmissionPolicy v1


@dataclass(frozen=True, slots=True)
class Stage:
    """A control plane with a tainted GPU node and a plain one, the floor, its controller, and podberth.

    Pods of the namespace GUARDED are sent to podberth, those of ALONE are not, as in an outage.
    """

    plane: ControlPlane
    controller: Controller
    podberth: Podberth

    def make(self, document: Document, namespace: str, *, dry_run: bool = False) -> tuple[int, Document]:
        placed = {**document, "metadata": {**document["metadata"], "namespace": namespace}}
        query = "?dryRun=All" if dry_run else ""
        status, body = self.plane.raw("POST", f"/api/v1/namespaces/{namespace}/pods{query}", placed)
        return status, json.loads(body)

    def tried(self, document: Document, namespace: str = ALONE) -> Document:
        """Return what a creation would make of a pod, which the API server must take."""
        status, made = self.make(document, namespace, dry_run=True)
        assert status == HTTPStatus.CREATED, made
        return made

    def data(self) -> dict[str, str]:
        found: dict[str, str] = self.plane.api.read(PARAMS).get("data") or {}
        return found

    def wait_for_data(self, key: str, value: str) -> None:
        wait_for(lambda: self.data().get(key) == value, timeout_seconds=SECONDS, what=lambda: f"{key}; {self.data()}")

    def wait_for_mark(self, document: Document, wanted: str | None) -> None:
        """Return once the API server knows the policies and their params as they are now."""

        def marked() -> bool:
            return mark(self.tried(document)) == wanted

        wait_for(marked, timeout_seconds=SECONDS, what=lambda: f"{wanted!r}; {mark(self.tried(document))!r}")

    def pods(self, namespace: str) -> list[Document]:
        found: list[Document] = self.plane.api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return found

    def clean(self) -> None:
        for namespace in (ALONE, GUARDED):
            kinds = "deployments,jobs,statefulsets,daemonsets,pods"
            self.plane.kubectl("delete", kinds, "--all", "-n", namespace, "--wait=false", "--grace-period=0", "--force")
        wait_for(lambda: not (self.pods(ALONE) or self.pods(GUARDED)), timeout_seconds=SECONDS, what="no pod")


def tainted(name: str, resource: str, key: str) -> Document:
    node = gpu_node(name, gpus=0)
    node["status"]["capacity"] = {resource: "8"}
    return {**node, "spec": {"taints": [{"key": key, "value": "present", "effect": "NoSchedule"}]}}


def registered(podberth: Podberth) -> list[Document]:
    """Return the shipped configurations, failing open, for all namespaces that are not ALONE."""
    found = [pointed(each, podberth.endpoint) for each in shipped(fail_closed=False)]
    for webhook in (webhook for each in found for webhook in each["webhooks"]):
        selector = webhook.setdefault("namespaceSelector", {"matchExpressions": []})
        selector["matchExpressions"].append({"key": _NOT_SENT, "operator": "DoesNotExist"})
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("floor")
    with ControlPlane.start(directory / "plane") as plane:
        grant(plane, "controller", "floor")
        plane.add_namespace(ALONE, {_NOT_SENT: ""})
        plane.add_namespace(GUARDED)
        # The DaemonSet controller makes no pod for a node whose taints the template does not tolerate.
        plane.add_nodes([tainted("gpu-0", "nvidia.com/gpu", "nvidia.com/gpu"), gpu_node("gpu-1")])
        plane.apply(*read(COMPONENT / "params.yaml"), *policies())
        kubeconfig = enter(plane, directory)
        with (
            Controller(plane, directory / "controller", flags=["--floor"]) as controller,
            Podberth(directory / "podberth", None, POLICIES, kubeconfig=kubeconfig) as podberth,
        ):
            stage = Stage(plane, controller, podberth)
            plane.apply(*registered(podberth))
            wait_for(
                lambda: record(stage.tried(gpu_pod(), GUARDED)), timeout_seconds=SECONDS, what="podberth to be asked"
            )
            stage.wait_for_mark(gpu_pod(), GPU_MARK)
            yield stage
        plane.check()


@pytest.fixture
def stage(whole: Stage) -> Iterator[Stage]:
    yield whole
    whole.podberth.start()
    whole.clean()


# ---- podberth is away -----------------------------------------------------------------------------------------------


def test_with_every_replica_killed_the_pods_of_four_controllers_have_the_floor_and_run(stage: Stage) -> None:
    stage.podberth.stop(crash=True)
    template = gpu_pod()
    daemon_set = workload("apps/v1", "DaemonSet", deployment(template, name="each")["spec"], name="each")
    daemon_set["spec"].pop("replicas")
    workloads = [unplaced(each) for each in (deployment(template), job(template), stateful_set(template), daemon_set)]
    made = json.dumps({"apiVersion": "v1", "kind": "List", "items": workloads})
    stage.plane.kubectl("apply", "-n", GUARDED, "-f", "-", input=made)

    def running() -> list[Document] | None:
        pods = stage.pods(GUARDED)
        return pods if [each["status"].get("phase") for each in pods] == ["Running"] * 4 else None

    found = wait_for(running, timeout_seconds=SECONDS, what=lambda: f"four pods to run; {stage.pods(GUARDED)}")
    kinds = {each["metadata"]["ownerReferences"][0]["kind"] for each in found}
    assert kinds == {"ReplicaSet", "Job", "StatefulSet", "DaemonSet"}
    for each in found:
        assert GPU_TOLERATION in tolerations(each)
        assert mark(each) == GPU_MARK
        assert each["metadata"]["labels"]["podberth.io/floor"] == "wrote"
        assert not record(each)


def unplaced(document: Document) -> Document:
    document["metadata"].pop("namespace", None)
    return document


def test_a_manifest_that_is_applied_again_keeps_what_the_floor_wrote(stage: Stage) -> None:
    """The pod has tolerations of its own, so the manifest's list takes the place of the pod's."""
    own = {"key": "team", "operator": "Exists"}
    manifest = json.dumps(unplaced(gpu_pod(name="again", tolerations=[own])))
    for flags in ([], [], ["--server-side", "--force-conflicts"], ["--server-side"]):
        stage.plane.kubectl("apply", "-n", ALONE, *flags, "-f", "-", input=manifest)
        [made] = stage.pods(ALONE)
        assert tolerations(made) == [own, GPU_TOLERATION]
        assert mark(made) == GPU_MARK
    [made] = stage.pods(ALONE)
    made["spec"]["tolerations"].remove(GPU_TOLERATION)
    del made["metadata"]["annotations"]["podberth.io/floor"], made["metadata"]["labels"]["podberth.io/floor"]
    updated = stage.plane.api.request("PUT", f"/api/v1/namespaces/{ALONE}/pods/again", made)
    assert (tolerations(updated), mark(updated)) == ([own, GPU_TOLERATION], GPU_MARK)


def test_what_a_user_says_in_the_annotation_does_not_count(stage: Stage) -> None:
    forged = gpu_pod(annotations={"podberth.io/floor": "gang a:NoSchedule"}, labels={"podberth.io/floor": "x"})
    made = stage.tried(forged)
    assert mark(made) == GPU_MARK
    assert tolerations(made) == [GPU_TOLERATION]
    made = stage.tried(pod(annotations={"podberth.io/floor": "gang a:NoSchedule"}))
    assert tolerations(made) == []


def test_a_name_that_nobody_serves_is_denied_with_the_right_one(stage: Stage) -> None:
    status, answer = stage.make(gpu_pod(resource="nvidia.com/gpus"), ALONE, dry_run=True)
    assert status == HTTPStatus.UNPROCESSABLE_ENTITY
    want = "resources.limits[nvidia.com/gpus]: nobody serves a device of this name; want nvidia.com/gpu"
    assert "ValidatingAdmissionPolicy 'podberth-floor-names'" in answer["message"]
    assert answer["message"].endswith(want)


# ---- podberth is there ----------------------------------------------------------------------------------------------


def odd_pods() -> list[Document]:
    """Return pods that the floor and podberth write on, in several ways."""
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/jobset-uid": "5f0c"}
    return [
        gpu_pod(),
        gpu_pod(tolerations=[{"operator": "Exists"}]),
        gpu_pod(tolerations=[{"key": "nvidia.com/gpu", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]),
        gpu_pod(labels=labels),
        gpu_pod(labels={"kueue.x-k8s.io/queue-name": "q"}),
        gpu_pod(nodeSelector={"kubernetes.io/hostname": "none"}),
        gpu_pod(16),
        gpu_pod(annotations={"podberth.io/floor": "gang x:NoSchedule"}, tolerations=[GPU_TOLERATION]),
        pod(gpu_container(), init=[gpu_container("first", 8)]),
        pod(),
    ]


def test_with_podberth_there_is_no_difference(stage: Stage) -> None:
    def made() -> list[Document]:
        return [stable(stage.tried(each, GUARDED)) for each in odd_pods()]

    assert mark(stage.tried(gpu_pod(labels={"jobset.sigs.k8s.io/jobset-name": "a"}))) == f"{GPU_MARK} gang"
    having = made()
    try:
        stage.plane.apply(*map(idle, BINDINGS))
        stage.wait_for_mark(gpu_pod(), None)
        without = made()
    finally:
        stage.plane.apply(*BINDINGS)
        stage.wait_for_mark(gpu_pod(), GPU_MARK)
    # The last but two says itself that the floor wrote its toleration, and is decided on as if it had not.
    assert [each["spec"] for each in having] == [each["spec"] for each in without]
    assert having == without
    assert all(mark(each) is None for each in having)
    assert not any("podberth.io/floor" in each["metadata"].get("labels", {}) for each in having)
    assert having[0]["spec"]["tolerations"][-1] == GPU_TOLERATION
    assert "podberth.io/applied" in having[0]["metadata"]["annotations"]


def idle(binding: Document) -> Document:
    """Return a binding that matches nothing.

    Without any binding the API server would stop to follow params, and never start again (docs/native-differences.md).
    """
    return {
        **binding,
        "spec": {**binding["spec"], "matchResources": {"namespaceSelector": {"matchLabels": {"no": "x"}}}},
    }


def stable(made: Document) -> Document:
    """Return a pod of a dry run without what differs between two of them."""
    metadata = {key: each for key, each in made["metadata"].items() if key not in ("uid", "creationTimestamp")}
    metadata.pop("managedFields", None)
    spec = json.loads(json.dumps(made["spec"]))
    for each in spec.get("volumes", ()):
        each.pop("name")
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        for mount in each.get("volumeMounts", ()):
            mount.pop("name")
    return {**made, "metadata": metadata, "spec": spec}


def test_with_podberth_a_denial_is_podberths(stage: Stage) -> None:
    status, answer = stage.make(gpu_pod(resource="nvidia.com/gpus"), GUARDED, dry_run=True)
    assert status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "podberth vendor-names" in answer["message"]
    assert "ValidatingAdmissionPolicy" not in answer["message"]


# ---- the params -----------------------------------------------------------------------------------------------------


def test_a_node_with_another_taint_changes_the_params_and_the_pods(stage: Stage) -> None:
    asked = gpu_pod(resource="amd.com/gpu")
    assert "amd.com_gpu" not in stage.data()
    stage.plane.add_nodes([tainted("amd-0", "amd.com/gpu", "amd.com/gpu")])
    stage.wait_for_data("amd.com_gpu", "whole amd.com/gpu:NoSchedule")
    stage.wait_for_mark(asked, "amd.com/gpu:NoSchedule")
    assert tolerations(stage.tried(asked)) == [AMD_TOLERATION]
    assert tolerations(stage.tried(gpu_pod())) == [GPU_TOLERATION]
    stage.plane.api.request("DELETE", "/api/v1/nodes/amd-0")
    wait_for(lambda: "amd.com_gpu" not in stage.data(), timeout_seconds=SECONDS, what="the resource to be gone")


def test_the_params_are_written_back_and_only_if_they_differ(stage: Stage) -> None:
    before = stage.plane.api.read(PARAMS)
    wrong = {"data": {"nvidia.com_gpu": "whole", "another": "x"}}
    stage.plane.raw("PATCH", PARAMS, wrong, "application/merge-patch+json")
    stage.wait_for_data("nvidia.com_gpu", "whole nvidia.com/gpu:NoSchedule")
    # A key of another manager stays the other's, and is no reason to write.
    found = stage.plane.api.read(PARAMS)
    managers = {each["manager"] for each in found["metadata"]["managedFields"]}
    assert "podberth-floor" in managers
    assert before["data"].items() <= found["data"].items()
    stage.plane.raw("PATCH", PARAMS, {"data": {"another": None}}, "application/merge-patch+json")
    stage.wait_for_data("nodes", "known")


def test_the_service_account_writes_this_config_map_and_no_other(stage: Stage) -> None:
    def may(verb: str, what: str) -> bool:
        account = "system:serviceaccount:podberth-system:podberth-controller"
        asked = ("auth", "can-i", verb, what, "-n", "podberth-system", f"--as={account}")
        return stage.plane.kubectl(*asked, check=False).stdout.strip() == "yes"

    own, other = "configmaps/podberth-floor", "configmaps/podberth-policies"
    assert {verb for verb in ("get", "list", "watch", "patch", "update", "delete", "create") if may(verb, own)} == {
        "list",
        "watch",
        "patch",
    }
    assert not any(may(verb, other) for verb in ("get", "list", "watch", "patch", "update", "delete", "create"))
    assert {verb for verb in ("get", "list", "watch", "patch", "update", "delete") if may(verb, "nodes")} == {
        "list",
        "watch",
    }


def test_podberth_makes_no_params_where_there_are_none(stage: Stage) -> None:
    stage.plane.api.request("DELETE", PARAMS)
    stage.wait_for_mark(gpu_pod(), None)
    assert stage.plane.raw("GET", PARAMS)[0] == HTTPStatus.NOT_FOUND
    stage.plane.apply(*read(COMPONENT / "params.yaml"))
    stage.wait_for_data("nvidia.com_gpu", "whole nvidia.com/gpu:NoSchedule")
    stage.wait_for_mark(gpu_pod(), GPU_MARK)
