"""The control plane itself: real processes, real scheduling, and nothing left behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders import pod_group

from .api import ApiError
from .build import BINARY_NAME, COMPONENTS, assets, kubernetes_version, pod_groups_version
from .client import EXISTING_VARIABLE, KubectlError, external
from .cluster import ControlPlane
from .components import ORDER
from .kubelet import RUN_SECONDS_ANNOTATION, gpu_node
from .ports import Ports
from .process import ComponentError
from .wait import PATIENCE_SECONDS as SECONDS
from .wait import wait_for

pytest_plugins = ("controlplane.fixtures",)


def pod(name: str, gpus: int = 8, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "registry.invalid/none", "resources": {"limits": limits}}
    metadata = {"name": name, "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


class Space:
    """A namespace with nodes of its own, which nothing but its pods select."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        self.control_plane = control_plane
        self.name = name
        self.rack_label = f"{name}.test/rack"
        self.nodes: list[str] = []
        control_plane.add_namespace(name)

    def add_nodes(self, count: int, *, rack_size: int = 2) -> None:
        labels = [{"space": self.name, self.rack_label: f"rack-{number // rack_size}"} for number in range(count)]
        self.nodes = [f"{self.name}-{number}" for number in range(count)]
        nodes = [gpu_node(name, labels=each) for name, each in zip(self.nodes, labels, strict=True)]
        self.control_plane.add_nodes(nodes)

    def create(self, *manifests: dict[str, Any]) -> None:
        for manifest in manifests:
            if manifest["kind"] == "Pod":
                manifest["spec"]["nodeSelector"] = {"space": self.name}
            manifest["metadata"]["namespace"] = self.name
        self.control_plane.create(*manifests)

    def pods(self) -> list[Any]:
        return list(self.control_plane.api.read(f"/api/v1/namespaces/{self.name}/pods")["items"])

    def wait_for_phase(self, phase: str, count: int = 1) -> list[Any]:
        def reached() -> list[Any] | None:
            pods = self.pods()
            found = [each for each in pods if each["status"].get("phase") == phase]
            return found if len(found) == count else None

        phases = lambda: f"{count} pods {phase}, got {[each['status'] for each in self.pods()]}"  # noqa: E731
        return wait_for(reached, timeout_seconds=SECONDS, what=phases)

    def remove(self) -> None:
        self.control_plane.kubectl("delete", "namespace", self.name, "--wait=false")
        for name in self.nodes:
            self.control_plane.api.request("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def space(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Space]:
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40].strip("-")
    space = Space(control_plane, name)
    yield space
    space.remove()


def alive(pid: int) -> bool:
    """Return whether the process exists and is more than an entry that nobody has read yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def command_line(process: Path) -> bytes:
    """Return how a process was started; empty where it has ended meanwhile, as those of others do at any time."""
    try:
        return (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_says_its_version(control_plane: ControlPlane) -> None:
    assert control_plane.api.read("/version")["gitVersion"] == kubernetes_version()
    assert control_plane.kubectl("version").stdout.count(kubernetes_version()) == 2


def test_the_binary_also_runs_what_its_first_argument_names(control_plane: ControlPlane) -> None:
    executable = control_plane.kubectl_path.resolve()
    if executable.name != BINARY_NAME:
        pytest.skip("KUBEBUILDER_ASSETS has other executables than ours")
    asked = subprocess.run([executable, "etcd", "--version"], text=True, capture_output=True, check=True)
    assert asked.stdout.startswith("etcd Version: 3.6.")
    wrong = subprocess.run([executable, "kubelet"], text=True, capture_output=True, check=False)
    assert (wrong.returncode, wrong.stderr.count("want one of etcd, kube-apiserver")) == (2, 1)


def test_a_pod_is_bound_to_a_simulated_gpu_node_runs_and_goes(space: Space) -> None:
    space.add_nodes(1)
    space.create(pod("worker", initContainers=[{"name": "fetch", "image": "registry.invalid/none"}]))
    [worker] = space.wait_for_phase("Running")
    assert worker["spec"]["nodeName"] == space.nodes[0]
    assert worker["status"]["podIP"].startswith("10.")
    space.create(pod("second"))
    wait_for(
        lambda: any(
            found.get("reason") == "Unschedulable"
            for each in space.pods()
            for found in each["status"].get("conditions", ())
        ),
        timeout_seconds=SECONDS,
        what="the second pod to find all 8 GPUs taken",
    )
    space.control_plane.kubectl("delete", "pod", "worker", "--namespace", space.name)
    [second] = space.wait_for_phase("Running")
    assert second["metadata"]["name"] == "second"


def test_pods_that_ask_for_it_succeed(space: Space) -> None:
    space.add_nodes(1)
    for name, seconds in (("at-once", "0"), ("short", "0.5")):
        space.create(pod(name, gpus=2, annotations={RUN_SECONDS_ANNOTATION: seconds}, restartPolicy="Never"))
    space.create(pod("later", gpus=2))
    space.wait_for_phase("Running")
    space.control_plane.kubectl("annotate", "pod", "later", "-n", space.name, f"{RUN_SECONDS_ANNOTATION}=0")
    for each in space.wait_for_phase("Succeeded", 3):
        assert each["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_hundred_nodes_stay_ready(space: Space) -> None:
    space.add_nodes(100)
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

    def renewed() -> bool:
        return {each["metadata"]["name"] for each in space.control_plane.api.read(leases)["items"]} >= set(space.nodes)

    assert wait_for(renewed, timeout_seconds=SECONDS, what="a lease for each of 100 nodes")


def test_a_gang_that_fits_no_rack_is_not_bound_at_all(space: Space) -> None:
    space.add_nodes(6)
    group = {"podGroupName": "three"}
    workers = [pod(f"worker-{rank}", schedulingGroup=group) for rank in range(3)]
    space.create(pod_group("three", 3, space.rack_label), *workers)

    def refused() -> Any:
        path = f"/apis/{pod_groups_version()}/namespaces/{space.name}/podgroups/three"
        conditions = space.control_plane.api.read(path).get("status", {}).get("conditions", ())
        return next((found for found in conditions if found["status"] == "False"), None)

    condition = wait_for(refused, timeout_seconds=SECONDS, what="the group of three to be refused")
    assert (condition["type"], condition["reason"]) == ("PodGroupScheduled", "Unschedulable")
    assert [each["spec"].get("nodeName") for each in space.pods()] == [None, None, None]


def test_a_gang_that_fits_a_rack_is_bound_there(space: Space) -> None:
    space.add_nodes(6)
    group = {"podGroupName": "two"}
    workers = [pod(f"worker-{rank}", schedulingGroup=group) for rank in range(2)]
    space.create(pod_group("two", 2, space.rack_label), *workers)
    bound = [space.nodes.index(each["spec"]["nodeName"]) for each in space.wait_for_phase("Running", 2)]
    assert bound[0] // 2 == bound[1] // 2
    assert bound[0] != bound[1]


def test_a_program_run_with_a_token_is_held_to_its_rbac(space: Space) -> None:
    token = space.control_plane.create_token(space.name, "default")
    asked = space.control_plane.kubectl(
        "auth", "whoami", f"--token={token}", "--kubeconfig=/dev/null", f"--server={space.control_plane.url}",
        f"--certificate-authority={space.control_plane.ca_file}", "-o", "jsonpath={.status.userInfo.username}",
    )  # fmt: skip
    assert asked.stdout == f"system:serviceaccount:{space.name}:default"


def test_a_failed_kubectl_says_what_it_was(control_plane: ControlPlane) -> None:
    with pytest.raises(KubectlError, match=r"kubectl get pod none -o json: status 1: Error from server \(NotFound\)"):
        control_plane.get("pod", "none")
    with pytest.raises(ApiError, match=r'GET /api/v1/nodes/none: 404: nodes "none" not found'):
        control_plane.api.read("/api/v1/nodes/none")


def test_an_existing_cluster_is_used_through_its_kubeconfig(
    control_plane: ControlPlane,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    existing = external(control_plane.kubeconfig, tmp_path)
    [stored] = existing.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}})
    assert existing.get("configmap", "seen")["metadata"]["uid"] == stored["metadata"]["uid"]
    monkeypatch.setenv(EXISTING_VARIABLE, str(control_plane.kubeconfig))
    assert request.getfixturevalue("cluster").kubeconfig == control_plane.kubeconfig


def test_two_side_by_side_from_given_executables_and_nothing_stays(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    for name in COMPONENTS:
        (given / name).symlink_to(assets() / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    with ControlPlane.start(tmp_path / "second", job_gangs=True) as second:
        pids = second.pids
        assert set(pids) == {"guard", *ORDER}
        assert Path(f"/proc/{pids['etcd']}/cmdline").read_bytes().startswith(str(given / "etcd").encode())
        second.add_nodes([gpu_node("only-here")])
        assert [each["metadata"]["name"] for each in second.get("nodes")["items"]] == ["only-here"]
        assert "only-here" not in control_plane.kubectl("get", "nodes").stdout
        job_gets_a_pod_group(second)
        restarts_are_survived(second)
        pids |= second.pids
    assert not [name for name, pid in pids.items() if alive(pid)]
    second.stop()
    assert all(alive(pid) for pid in control_plane.pids.values())


def job_gets_a_pod_group(control_plane: ControlPlane) -> None:
    template = {"spec": {**pod("", gpus=4)["spec"], "restartPolicy": "Never"}}
    spec = {"completionMode": "Indexed", "parallelism": 2, "completions": 2, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "default"}, "spec": spec}
    control_plane.apply(job)

    def worker() -> Any:
        pods = control_plane.api.read("/api/v1/namespaces/default/pods")["items"]
        return next((each for each in pods if each["status"].get("phase") == "Running"), None)

    found = wait_for(worker, timeout_seconds=SECONDS, what="the Job's pod to run")
    group = found["spec"]["schedulingGroup"]["podGroupName"]
    assert control_plane.get("podgroup", group)["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    control_plane.kubectl("delete", "job", "train", "--cascade=foreground", "--wait")


def restarts_are_survived(control_plane: ControlPlane) -> None:
    """Every component is stopped and started once; then a pod still comes to run."""
    for name in reversed(ORDER):
        control_plane.stop_component(name, crash=name == "etcd")
        assert name not in control_plane.pids
        control_plane.start_component(name)
    wait_for(
        lambda: control_plane.raw("GET", "/readyz")[0] == 200, timeout_seconds=SECONDS, what="the API server to recover"
    )
    pods = "/api/v1/namespaces/default/pods"
    # Admission reads its objects again too; a refusal of the first tries, and an answer that was lost, are no fault.
    wait_for(
        lambda: control_plane.raw("POST", pods, pod("after"))[0] in (201, 409),
        timeout_seconds=SECONDS,
        what="a pod to be taken",
    )
    path = "/api/v1/namespaces/default/pods/after"
    wait_for(
        lambda: control_plane.api.read(path)["status"].get("phase") == "Running",
        timeout_seconds=SECONDS,
        what="a pod to run after every component was restarted",
    )
    control_plane.check()


def test_a_component_that_does_not_start_shows_its_log_and_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match=r"kube-apiserver ended with status 1 before(.*\n)*.*--no-such-flag"):
        ControlPlane.start(tmp_path, extra_apiserver_args=["--no-such-flag"])
    assert str(tmp_path).encode() not in b"".join(map(command_line, Path("/proc").glob("[0-9]*")))


def test_a_port_that_a_stranger_took_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken = [stranger.getsockname()[1]]
        take = Ports.take
        monkeypatch.setattr(Ports, "take", lambda ports: taken.pop() if taken else take(ports))
        with ControlPlane.start(tmp_path) as started:
            assert started.raw("GET", "/readyz") == (200, b"ok")
        assert "address already in use" in (tmp_path / "logs" / "etcd.log").read_text()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_demonstration_stops_cleanly_however_it_ends(end: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "controlplane", "--nodes=4", f"--directory={tmp_path}"]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True) as demo:
        assert demo.stdout is not None
        kubeconfig = Path(demo.stdout.readline().strip())
        assert kubeconfig.is_file()
        children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
        assert len(children) == 1 + len(ORDER)
        demo.send_signal(end)
    assert demo.returncode == (-signal.SIGKILL if end == signal.SIGKILL else 0)
    wait_for(
        lambda: not [pid for pid in children if alive(int(pid))], timeout_seconds=SECONDS, what="its processes to end"
    )
