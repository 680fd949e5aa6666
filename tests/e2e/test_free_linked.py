"""The optional policy free-linked before the real scheduler: a label that is absent or stale keeps no pod waiting."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from podberth.wellknown import FREE_LINKED_LABEL

from .podberth_process import ROOT, Podberth
from .registration import Registration
from .space import Space

# By the state of the labels: the label of a machine with many processors, and of one with few.
_LABELS: Mapping[str, Mapping[str, str]] = {
    "absent": {},
    "stale": {"roomy": "0", "tight": "0"},
    "full": {"roomy": "0", "tight": "8"},
    "current": {"roomy": "0", "tight": "8"},
}
_CPU = {"roomy": "192", "tight": "8"}


def _node(state: str, machine: str) -> dict[str, Any]:
    said = _LABELS[state].get(machine)
    node = gpu_node(f"{state}-{machine}", labels={"labels": state} | ({FREE_LINKED_LABEL: said} if said else {}))
    node["status"]["capacity"]["cpu"] = _CPU[machine]
    return node


def _pod(gpus: int, name: str, **selector: str) -> dict[str, Any]:
    pod = gpu_pod(gpus, name=name, nodeSelector=selector)
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "2"}
    return pod


@pytest.fixture(scope="module")
def machines(
    control_plane: ControlPlane, snapshot: Path, registration: Registration, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Add two machines for each state of the labels, and have a podberth called that has this policy alone."""
    control_plane.add_nodes([_node(state, machine) for state in _LABELS for machine in _CPU])
    policies = ROOT / "optional-policies" / "free-linked"
    with (
        Podberth(tmp_path_factory.mktemp("free-linked"), snapshot, policies) as podberth,
        registration.instead(podberth, _pod(2, "probe")),
    ):
        yield
    control_plane.kubectl("delete", "nodes", "-l", "labels")


@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize(
    ("state", "machine"), [("absent", "roomy"), ("stale", "roomy"), ("full", "roomy"), ("current", "tight")]
)
def test_a_label_that_is_absent_or_stale_moves_no_pod_and_a_true_one_does(
    space: Space, state: str, machine: str
) -> None:
    if state == "full":
        space.must_apply(_pod(8, "holder", **{"kubernetes.io/hostname": "full-tight"}))
        space.wait_for_pods(1, "Running")
    # One GPU has no links, so the policy leaves that pod to the scheduler alone.
    space.must_apply(_pod(1, "before", labels=state), _pod(2, "after", labels=state))
    space.wait_for_pods(2 + (state == "full"), "Running")
    before, after = space.pod("before"), space.pod("after")
    assert [each["spec"]["nodeName"] for each in (before, after)] == [f"{state}-roomy", f"{state}-{machine}"]
    [preferred] = after["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["preference"]["matchExpressions"][0]["key"] == FREE_LINKED_LABEL
