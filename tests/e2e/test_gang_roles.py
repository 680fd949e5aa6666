"""Gangs whose roles ask for different things, under mode required: all start in one domain, and nobody waits for ever.

Real scheduler, and podberth with gang-topology and gang-system, which follows the cluster. RayClusters are made by the
test, and their pods as KubeRay makes them (ray-operator/controllers/ray/common/pod.go).
"""

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from builders import gpu_pod, pod, template
from controlplane.build import pod_groups_version
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from crds import FOLDER, read

from .access import enter, grant
from .controller_process import Controller
from .fleet import RACK
from .podberth_process import POLICIES, ROOT, Podberth
from .registration import Registration
from .space import SECONDS, Space

Document = dict[str, Any]

pytestmark = pytest.mark.shared("crds")

_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
_WORKERS = 2
_GROUPS = f"/apis/{pod_groups_version()}/namespaces/{{}}/podgroups"
_REQUIRED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: podberth-gang-topology, namespace: podberth-system}
data: {mode: required}
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a cluster of two racks of three machines, and a node without GPUs, with podberth in force."""
    directory = tmp_path_factory.mktemp("roles")
    with ControlPlane.start(directory / "plane") as plane:
        grant(plane, "controller")
        plane.apply(*read(FOLDER / "kuberay" / "ray.io_rayclusters.yaml"))
        plane.await_crds()
        racks = [gpu_node(f"{rack}-{number}", labels={RACK: rack}) for rack in "ab" for number in range(3)]
        plane.add_nodes([*({**each, "spec": {"taints": [_TAINT]}} for each in racks), gpu_node("cpu", gpus=0)])
        policies = directory / "policies"
        shutil.copytree(POLICIES, policies)
        shutil.copytree(ROOT / "optional-policies" / "gang-system", policies / "gang-system")
        (policies / "gang-topology" / "params.yaml").write_text(_REQUIRED)
        (directory / "podberth").mkdir()
        kubeconfig = enter(plane, directory / "podberth")
        with (
            Podberth(directory / "podberth", None, policies, kubeconfig=kubeconfig) as podberth,
            Controller(plane, directory / "controller") as controller,
        ):
            wait_for(controller.leads, timeout_seconds=SECONDS, what="the controller to lead")
            registration = Registration(plane)
            registration.put(podberth.endpoint)
            yield plane
            registration.remove()
        plane.check()


@pytest.fixture
def space(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Space]:
    """Yield a namespace of the test's own; afterwards no pod of it holds a machine."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-50:].strip("-")
    made = Space(plane, name)
    yield made
    made.remove()


def cluster(space: Space, head: Document) -> list[Document]:
    """Make a RayCluster; return its head and workers, not made yet."""
    worker = gpu_pod(8)
    spec = {
        "headGroupSpec": {"rayStartParams": {}, "template": template(head)},
        "workerGroupSpecs": [
            {
                "groupName": "w",
                **dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), _WORKERS),
                "rayStartParams": {},
                "template": template(worker),
            }
        ],
    }
    document = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "rc"}, "spec": spec}
    space.must_apply(document)
    uid = space.read("ray.io/v1/rayclusters", "rc")["metadata"]["uid"]
    reference = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "rc", "uid": uid, "controller": True}

    def made(name: str, kind: str, group: str, given: Document) -> Document:
        labels = {"ray.io/cluster": "rc", "ray.io/node-type": kind, "ray.io/group": group}
        metadata = {"name": name, "labels": labels, "ownerReferences": [reference]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": given["spec"]}

    # Its pods come a moment behind it, as its controller's do: podberth has heard of it, or hears of it meanwhile.
    wait_for(
        lambda: space.dry_run(made("probe", "worker", "w", worker))["metadata"]["annotations"].get(
            "podberth.io/gang-size"
        ),
        timeout_seconds=SECONDS,
        what="podberth to hear of the RayCluster",
    )
    workers = [made(f"rc-w-{number}", "worker", "w", worker) for number in range(_WORKERS)]
    return [made("rc-head", "head", "headgroup", head), *workers]


@pytest.mark.parametrize("first", ["head", "workers"])
def test_a_head_of_one_gpu_and_workers_of_eight_start_in_one_rack(space: Space, first: str) -> None:
    members = cluster(space, gpu_pod(1))
    for number, each in enumerate(members if first == "head" else reversed(members)):
        space.must_apply(each)
        space.wait_for_pods(number + 1, "Running")
    pods = space.pods()
    assert len({space.label_of_node(each, RACK) for each in pods}) == 1
    for each in pods:
        [term] = each["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == RACK


@pytest.mark.parametrize("first", ["head", "workers"])
def test_beside_a_native_group_of_the_workers_a_head_without_gpus_runs_where_it_can(space: Space, first: str) -> None:
    space.kubectl("label", "namespace", space.name, "podberth.io/gang-system=native")
    probe = gpu_pod(8, labels={"podberth.io/gang": "probe"}, annotations={"podberth.io/gang-size": "2"})
    wait_for(
        lambda: "schedulingGroup" in space.dry_run(probe)["spec"],
        timeout_seconds=SECONDS,
        what="podberth to choose native groups",
    )
    members = cluster(space, pod())
    for each in members if first == "head" else reversed(members):
        space.must_apply(each)
    head, *workers = space.wait_for_pods(1 + _WORKERS, "Running")
    assert "schedulingGroup" not in head["spec"]
    assert head["spec"]["nodeName"] == "cpu"
    assert len({space.label_of_node(each, RACK) for each in workers}) == 1
    [group] = space.control_plane.api.read(_GROUPS.format(space.name))["items"]
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": _WORKERS}}
    assert group["spec"]["schedulingConstraints"] == {"topology": [{"key": RACK}]}
    assert {each["spec"]["schedulingGroup"]["podGroupName"] for each in workers} == {group["metadata"]["name"]}
    for each in (head, *workers):
        annotations = each["metadata"]["annotations"]
        assert (annotations["podberth.io/gang-size"], annotations["podberth.io/gang-accelerated"]) == ("3", "2")
