"""The policies with `mode: required`, one parameter away: the real scheduler would rather wait than break them."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest

from builders import gpu_pod, pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for

from . import fleet
from .manifest import placement, record
from .podberth_process import Podberth
from .registration import Registration
from .space import SECONDS, Space
from .test_gangs import domains, gang
from .test_reapply import OWN_AFFINITY, WAYS

Document = dict[str, Any]

_LINKED = f"{fleet.PRODUCT} in ({fleet.H100},NVIDIA-GB200)"


def parameters(policy: str) -> Document:
    metadata = {"name": f"podberth-{policy}", "namespace": "podberth-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"mode": "required"}}


@pytest.fixture(scope="module")
def strict(
    control_plane: ControlPlane, registration: Registration, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registration]:
    """Yield the registration of a podberth whose snapshot holds the parameters, as ConfigMaps of the cluster."""
    stored = [parameters("multi-gpu-nvlink"), parameters("gang-topology")]
    control_plane.apply(*stored)
    folder = tmp_path_factory.mktemp("strict")
    snapshot = fleet.snapshot(control_plane, folder / "cluster.yaml")
    with (
        Podberth(folder, snapshot) as podberth,
        registration.instead(podberth, gpu_pod(4)),
    ):
        yield registration
    for each in stored:
        control_plane.kubectl("delete", "configmap", each["metadata"]["name"], "-n", "podberth-system")


def required(pod: Document) -> list[Document]:
    """Return the node selector terms that a pod insists on."""
    node_affinity = pod.get("spec", {}).get("affinity", {}).get("nodeAffinity", {})
    terms = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return list(terms)


@contextmanager
def cordoned(control_plane: ControlPlane, *selection: str) -> Iterator[None]:
    """Keep new pods off some nodes, of which podberth's snapshot knows nothing."""
    control_plane.kubectl("cordon", *selection)
    try:
        nodes = control_plane.get("nodes", *selection)
        names = [each["metadata"]["name"] for each in nodes.get("items", [nodes])]
        # The scheduler hears of nodes and of pods each by itself.
        wait_for(lambda: no_place(control_plane, names), timeout_seconds=SECONDS, what=f"{names} to be out of use")
        yield
    finally:
        control_plane.kubectl("uncordon", *selection)


def no_place(control_plane: ControlPlane, names: list[str]) -> bool:
    """Return whether the scheduler finds no place on these nodes for a pod that fits on each."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    terms = [{"matchFields": [each]} for each in fields]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    tolerations = [{"operator": "Exists", "effect": effect} for effect in ("NoExecute", "PreferNoSchedule")]
    taints = [each for name in names for each in control_plane.get("node", name)["spec"].get("taints", ())]
    tolerations += [
        {"key": each["key"], "operator": "Exists"}
        for each in taints
        if not each["key"].startswith("node.kubernetes.io/")
    ]
    path = "/api/v1/namespaces/default/pods"
    probe = pod(name="no-place", affinity=affinity, tolerations=tolerations)
    control_plane.api.request("POST", path, probe)
    try:
        return wait_for(lambda: judged(control_plane.api.read(f"{path}/no-place")), what="a verdict") == "Unschedulable"
    finally:
        control_plane.api.request("DELETE", f"{path}/no-place?gracePeriodSeconds=0")
        wait_for(lambda: control_plane.raw("GET", f"{path}/no-place")[0] == HTTPStatus.NOT_FOUND, what="it to be gone")


def judged(made: Document) -> str:
    """Return what the scheduler says about a pod: where it runs, or that it has no place; empty so far."""
    conditions = made["status"].get("conditions", ())
    reasons = [each.get("reason", "") for each in conditions if each["type"] == "PodScheduled"]
    return str(made["spec"].get("nodeName") or "".join(reasons))


def wait_for_unschedulable(space: Space, count: int) -> None:
    def reasons() -> list[str]:
        conditions = [one for pod in space.pods() for one in pod["status"].get("conditions", ())]
        return [each["reason"] for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False"]

    wait_for(
        lambda: reasons() == ["Unschedulable"] * count,
        timeout_seconds=SECONDS,
        what=lambda: f"{count} pods that no node suits; got {reasons()}",
    )


@pytest.mark.usefixtures("strict")
def test_several_gpus_wait_for_nvlink(space: Space) -> None:
    with cordoned(space.control_plane, "-l", _LINKED):
        said = space.must_apply(gpu_pod(4))
        assert "4 GPUs in one NVLink domain: 16 nodes fit (was 20)" in str(said.ours)
        wait_for_unschedulable(space, 1)
        # One GPU has nobody to talk to, and runs on what is free.
        space.must_apply(gpu_pod(1, name="single"))
        wait_for(
            lambda: space.pod("single")["status"]["phase"] == "Running", timeout_seconds=SECONDS, what="single to run"
        )
    [pod, _] = space.wait_for_pods(2, "Running")
    assert space.label_of_node(pod, fleet.PRODUCT) in {fleet.H100, "NVIDIA-GB200"}


@pytest.mark.usefixtures("strict")
def test_a_gang_waits_for_room_in_one_rack(space: Space) -> None:
    racks = [f"h100-{rack}-0" for rack in ("a1", "a2", "b1", "b2")]
    with cordoned(space.control_plane, *racks):
        said = space.must_apply(gang("tight", 4))
        wanted = f"requires one domain of {fleet.RACK} for the 4 pods of the gang"
        assert wanted in str(said.ours)
        wait_for_unschedulable(space, 1)

        def three() -> list[Document] | None:
            bound = [pod for pod in space.pods() if pod["spec"].get("nodeName")]
            return bound if len(bound) == 3 else None

        # They are bound behind the scheduler's back, as it were: it has gone on to the fourth.
        bound = wait_for(three, timeout_seconds=SECONDS, what="three to be bound")
        assert len(domains(space, bound, fleet.RACK)) == 1
    members = space.wait_for_pods(4, "Running")
    assert len(domains(space, members, fleet.RACK)) == 1


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("flags", WAYS.values(), ids=WAYS)
def test_a_requirement_joins_the_users_terms_and_survives_the_same_file(space: Space, flags: tuple[str, ...]) -> None:
    manifest = gpu_pod(4, name="again", affinity=OWN_AFFINITY)
    space.must_apply(manifest, flags=flags)
    before = space.pod("again")
    [term] = required(before)
    keys = [each["key"] for each in term["matchExpressions"]]
    assert keys == [fleet.ZONE, fleet.PRODUCT]
    assert space.must_apply(manifest, flags=flags).warnings == ()
    after = space.pod("again")
    assert placement(after) == placement(before)
    assert record(after) == record(before)


@pytest.mark.usefixtures("strict")
def test_a_member_of_a_required_gang_survives_the_same_file(space: Space) -> None:
    manifest = gpu_pod(
        8, name="again", labels={"podberth.io/gang": "llama"}, annotations={"podberth.io/gang-size": "4"}
    )
    space.must_apply(manifest)
    before = placement(space.pod("again"))
    assert "podAffinity" in before["affinity"]
    assert space.must_apply(manifest).warnings == ()
    assert placement(space.pod("again")) == before
    assert isinstance(before["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"], list)


@pytest.mark.usefixtures("strict")
def test_a_launcher_on_another_node_keeps_no_required_gang_waiting(space: Space) -> None:
    label, size = {"podberth.io/gang": "mixed"}, {"podberth.io/gang-size": "4"}
    space.must_apply(pod(name="launcher", labels=label, annotations=size))
    space.wait_for_pods(1, "Running")
    space.must_apply(*(gpu_pod(8, name=f"worker-{n}", labels=label, annotations=size) for n in range(4)))
    members = space.wait_for_pods(5, "Running")
    workers = [member for member in members if member["metadata"]["name"] != "launcher"]
    assert len(domains(space, workers, fleet.RACK)) == 1
