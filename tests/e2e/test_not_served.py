"""An API server that serves no PodGroups, and before 1.34 no claims: podberth says so, and pods run as without these.

No release before 1.36 serves PodGroups, and 1.36 does not by default. 1.34 is the first with resource.k8s.io/v1.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import gpu_pod, job
from controlplane.build import minor
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for

from .access import grant
from .controller_process import Controller
from .manifest import GPU_TOLERATION
from .podberth_process import ROOT, Podberth
from .registration import pointed, shipped
from .space import SECONDS, Said, Space

POLICIES = ("gang-system", "aligned-devices")
GROUPLESS = "gang left as it is: no native group: PodGroups of scheduling.k8s.io are not known to be served"

CLAIMLESS = "resourceClaims left as it is: the API server serves no resourceclaimtemplates.resource.k8s.io"
NOT_SERVED = 'podberth_watch_kinds{resource="podgroups.scheduling.k8s.io",state="not served"}'


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane"), pod_groups=False) as plane:
        grant(plane, "controller")
        plane.add_nodes([gpu_node(f"gpu-{number}") for number in range(2)])
        yield plane
        plane.check()


@pytest.fixture(scope="module")
def chosen(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """Yield a namespace that chooses native groups, with podberth and the optional policies in force."""
    folder = tmp_path_factory.mktemp("podberth")
    for name in POLICIES:
        shutil.copytree(ROOT / "optional-policies" / name, folder / "policies" / name)
    with Podberth(folder / "serve", None, folder / "policies", kubeconfig=plane.kubeconfig) as podberth:
        plane.apply(*(pointed(each, podberth.endpoint) for each in shipped()))
        space = Space(plane, "chosen")
        space.kubectl("label", "namespace", space.name, "podberth.io/gang-system=native")
        yield space


def test_a_gang_that_asks_for_a_native_group_is_warned_and_starts_as_a_plain_one(chosen: Space) -> None:
    size = {"podberth.io/gang-size": "2"}
    pod = gpu_pod(8, labels={"podberth.io/gang": "ring"}, annotations=size, tolerations=[GPU_TOLERATION])

    def heard() -> bool:
        return any(GROUPLESS in line for line in chosen.apply(pod, flags=["--dry-run=server"]).ours)

    wait_for(heard, timeout_seconds=SECONDS, what="podberth to know what the namespace chooses")
    chosen.must_apply(job(pod, name="ring", indexed=True, parallelism=2))
    members = chosen.wait_for_pods(2, "Running")
    assert all("schedulingGroup" not in each["spec"] for each in members)


def test_a_pod_for_which_a_policy_has_a_claim_keeps_its_gpus_exactly_where_no_claims_are_served(chosen: Space) -> None:
    pod = gpu_pod(2, name="aligned", annotations={"podberth.io/align": "pcie-root"})

    def answered() -> Said | None:
        said = chosen.apply(pod, flags=["--dry-run=server", "--output=json"])
        return said if said.ours else None

    said = wait_for(answered, timeout_seconds=SECONDS, what="podberth to be called")
    made = json.loads(said.output)["spec"]
    has_gpus = "nvidia.com/gpu" in made["containers"][0]["resources"].get("limits", {})
    assert (has_gpus, "resourceClaims" in made) == (minor() < 34, minor() >= 34)
    assert any(CLAIMLESS in line for line in said.ours) == has_gpus


def test_the_controller_runs_and_says_that_they_are_not_served(plane: ControlPlane, tmp_path: Path) -> None:
    with Controller(plane, tmp_path) as controller:
        wait_for(controller.leads, timeout_seconds=SECONDS, what="the controller to lead")
        wait_for(
            lambda: controller.metrics()[NOT_SERVED] == 1.0,
            timeout_seconds=SECONDS,
            what=lambda: f"{NOT_SERVED} to be 1; got {controller.metrics()}",
        )
