"""Native PodGroups are served and chosen by a policy: a gang's author gets a warning while no controller makes groups.

Real API server and Job controller; podberth and its controller each with a token of their own.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import gpu_pod, job
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for

from .access import enter, grant
from .controller_process import Controller
from .manifest import GPU_TOLERATION
from .podberth_process import ROOT, Podberth
from .registration import pointed, shipped
from .space import SECONDS, Space

pytestmark = pytest.mark.since(36)

UNMADE = "nothing makes, for no podberth controller runs"
DRY = ("--dry-run=server",)


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """Yield a namespace that chooses native groups, in a cluster without a controller."""
    folder = tmp_path_factory.mktemp("no-maker")
    with ControlPlane.start(folder / "plane") as plane:
        grant(plane, "controller")
        plane.add_nodes([gpu_node(f"gpu-{number}") for number in range(2)])
        shutil.copytree(ROOT / "optional-policies" / "gang-system", folder / "policies" / "gang-system")
        (folder / "serve").mkdir()
        kubeconfig = enter(plane, folder / "serve")
        with Podberth(folder / "serve", None, folder / "policies", kubeconfig=kubeconfig) as podberth:
            plane.apply(*(pointed(each, podberth.endpoint) for each in shipped()))
            space = Space(plane, "chosen")
            space.kubectl("label", "namespace", space.name, "podberth.io/gang-system=native")
            yield space
        plane.check()


def said(space: Space) -> list[str]:
    """Return what is said about an Indexed Job of two machines besides what is written."""
    pod = gpu_pod(8, annotations={"podberth.io/gang-size": "2"}, tolerations=[GPU_TOLERATION])
    lines = space.apply(job(pod, name="ring", indexed=True, parallelism=2), flags=DRY).ours
    return [each for each in lines if UNMADE in each] if any("joins" in each for each in lines) else ["not heard"]


def test_the_author_gets_one_warning_until_a_controller_runs_and_again_when_it_has_ended(
    chosen: Space, tmp_path: Path
) -> None:
    def warned() -> bool:
        return [UNMADE in each for each in said(chosen)] == [True]

    wait_for(warned, timeout_seconds=SECONDS, what=lambda: f"the warning; got {said(chosen)}")
    with Controller(chosen.control_plane, tmp_path) as controller:
        wait_for(controller.leads, timeout_seconds=SECONDS, what="the controller to lead")
        wait_for(lambda: said(chosen) == [], timeout_seconds=SECONDS, what=lambda: f"no line; got {said(chosen)}")
    wait_for(warned, timeout_seconds=SECONDS, what=lambda: f"the warning; got {said(chosen)}")
