"""The optional policy cuda-fits-driver before the real scheduler: pods go where the driver knows their CUDA version."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node

from .podberth_process import ROOT, Podberth
from .registration import Registration
from .space import Space

_LABEL = "nvidia.com/cuda.runtime-version"
# By the CUDA version that the driver supports.
_DRIVERS = {"old": ("12", "2"), "middle": ("12", "8"), "new": ("13", "0")}


def _pod(name: str, image: str) -> dict[str, Any]:
    pod = gpu_pod(1, name=name, nodeSelector={"drivers": "mixed"})
    pod["spec"]["containers"][0]["image"] = image
    return pod


@pytest.fixture(scope="module")
def mixed(
    control_plane: ControlPlane, snapshot: Path, registration: Registration, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Add a machine for each driver, and have a podberth called that has this policy alone."""
    nodes = [
        gpu_node(f"driver-{name}", labels={"drivers": "mixed", f"{_LABEL}.major": major, f"{_LABEL}.minor": minor})
        for name, (major, minor) in _DRIVERS.items()
    ]
    control_plane.add_nodes(nodes)
    policies = ROOT / "optional-policies" / "cuda-fits-driver"
    with (
        Podberth(tmp_path_factory.mktemp("cuda"), snapshot, policies) as podberth,
        registration.instead(podberth, _pod("probe", "nvidia/cuda:12.0.1-base")),
    ):
        yield
    control_plane.kubectl("delete", "nodes", "-l", "drivers=mixed")


@pytest.mark.usefixtures("mixed")
def test_pods_go_where_the_driver_supports_their_cuda_version(space: Space) -> None:
    images = {
        "newest": "example.com/train:2.9-cu130",
        "minor": "nvidia/cuda:12.6.3-runtime",
        "newer-than-all": "nvidia/cuda:13.1.0-runtime",
    }
    space.must_apply(*(_pod(f"{name}-{number}", image) for name, image in images.items() for number in range(4)))
    # All run: a preference that no node meets keeps no pod waiting.
    placed: dict[str, set[str]] = {name: set() for name in images}
    for pod in space.wait_for_pods(12, "Running"):
        placed[pod["metadata"]["name"].rpartition("-")[0]].add(pod["spec"]["nodeName"])
    assert placed["newest"] == {"driver-new"}
    assert placed["minor"] <= {"driver-middle", "driver-new"}
