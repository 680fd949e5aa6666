"""Every case of every suite beside a shipped policy, by a real apiserver: what `podberth test` said is what it says."""

from collections.abc import Iterator
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

import pytest

from builders import container, gpu_pod, pod
from controlplane.cluster import ControlPlane
from podberth.cel.engine import Environment
from podberth.files.loading import find_suites
from podberth.kube.quantity import canonical_quantity
from podberth.kube.schema import PodSchema
from podberth.policy.parse import parse_policies

from .podberth_process import POLICIES, ROOT
from .registration import Registration, for_every_pod, shipped
from .suite_stage import Stage, Trial, created, differences, staged, trials, without_podberth

SUITES = {
    Path(files.suite[0]).parent: files
    for directory in ("policies", "optional-policies")
    for files in find_suites(ROOT / directory)
}


def needs_every_pod(folder: Path) -> bool:
    """Return whether a policy needs more than the shipped webhook entries (docs/policy.md, "Scope")."""
    policies = parse_policies(SUITES[folder].policies).policies
    return folder.parent.name == "optional-policies" and any(each.policy.spec.scope == "All" for each in policies)


_INVALID = "the apiserver refuses the pod in words of its own, after /mutate and before /validate is asked"
# What no apiserver with podberth in front of it can answer as the suite does, and why.
NOT_TRIED = {
    ("requests-equal-limits", "a request that differs from the limit"): _INVALID,
    ("requests-equal-limits", "a request without a limit"): _INVALID,
    ("requests-equal-limits", "a request beside a limit of something else"): _INVALID,
    ("requests-equal-limits", "and so is one that no node has"): _INVALID,
    ("requests-equal-limits", "the resource that differs is named, not one that is equal"): _INVALID,
    ("requests-equal-limits", "on GKE's Autopilot the limit is made of the request"): _INVALID,
    ("requests-equal-limits", "but of two that differ neither is made equal"): _INVALID,
    ("requests-equal-limits", "Autopilot's machines can be chosen by affinity and by a class, too"): _INVALID,
    ("requests-equal-limits", "a node pool is chosen on GKE Standard alone, which makes no limits"): _INVALID,
    ("requests-equal-limits", "likewise for the chips of a TPU"): _INVALID,
    ("vendor-names", "a wrong name among the requests"): _INVALID,
}


@pytest.fixture(scope="module")
def runs() -> dict[Path, list[Trial]]:
    """Return every case of every suite, with what the runner said, by the policy's folder."""
    environment = Environment(PodSchema.packaged())
    return {folder: trials(files, environment) for folder, files in SUITES.items()}


@pytest.fixture(scope="module")
def surroundings(control_plane: ControlPlane, runs: dict[Path, list[Trial]]) -> Iterator[None]:
    """Have the namespaces that the cases name."""
    pods = [trial.pod for each in runs.values() for trial in each]
    there = {each["metadata"]["name"] for each in control_plane.api.read("/api/v1/namespaces")["items"]}
    namespaces = {each["metadata"]["namespace"] for each in pods} - there
    for name in namespaces:
        control_plane.add_namespace(name)
    yield
    for name in namespaces:
        control_plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def stage(
    request: pytest.FixtureRequest,
    registration: Registration,
    surroundings: None,  # noqa: ARG001 - it must be there before podberth is asked
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    """Have a podberth of this module's own called, for every pod if the parameter says so."""
    every_pod: bool = request.param
    configurations, probe = (for_every_pod(), pod()) if every_pod else (shipped(), gpu_pod())
    with (
        staged(tmp_path_factory.mktemp("stage"), POLICIES / "gpu-tolerations") as stage,
        registration.instead(stage.podberth, probe, configurations),
    ):
        yield stage


@pytest.mark.parametrize(
    ("stage", "folder"),
    [(needs_every_pod(folder), folder) for folder in SUITES],
    indirect=["stage"],
    ids=[folder.name for folder in SUITES],
    scope="module",
)
def test_the_apiserver_answers_as_the_suite_does(
    control_plane: ControlPlane, stage: Stage, runs: dict[Path, list[Trial]], folder: Path
) -> None:
    tried = [trial for trial in runs[folder] if (folder.name, trial.name) not in NOT_TRIED]
    rows = [name for policy, name in NOT_TRIED if policy == folder.name]
    assert len(tried) == len(runs[folder]) - len(rows)
    found = []
    for cluster, group in groupby(tried, key=lambda trial: trial.cluster):
        stage.show(folder, cluster)
        found += [line for trial in group for line in differences(control_plane.api, trial)]
    assert "\n".join(found) == ""


def test_what_is_not_tried_is_refused_by_the_apiserver_itself(
    control_plane: ControlPlane, runs: dict[Path, list[Trial]]
) -> None:
    cases = {(folder.name, trial.name): trial for folder, each in runs.items() for trial in each}
    assert NOT_TRIED.keys() <= cases.keys()
    for case in NOT_TRIED:
        answer = without_podberth(control_plane.api, cases[case].pod)
        assert answer.status == HTTPStatus.UNPROCESSABLE_ENTITY, case
        assert ".resources." in answer.document["message"]


def test_every_suite_is_tried(runs: dict[Path, list[Trial]]) -> None:
    folders = {
        file.parent for name in ("policies", "optional-policies") for file in (ROOT / name).glob("*/policy.yaml")
    }
    assert runs.keys() == folders
    assert all(runs.values())


def test_quantities_are_written_as_the_apiserver_writes_them(control_plane: ControlPlane) -> None:
    decimal = "8.0 1k 0.5 1000m 1500m 12e3 12e2 1e2 1e4 1.0e2 100e-3 1e-2 512 1024 0k 0e3 1E 5E"
    binary = "8192Mi 8500Mi 1023Ki 1000Ki 1Ki 1.5Gi 0.5Gi 1.1Ki 0.3Ki 0Gi 7Ei 10Ei"
    written: list[str | float] = [0, 8, 1000, 0.5, *decimal.split(), *binary.split()]
    volumes = [{"name": f"v{at}", "emptyDir": {"sizeLimit": amount}} for at, amount in enumerate(written)]
    containers = [container(f"c{at}", limits={"memory": amount}) for at, amount in enumerate(written)]
    made = created(control_plane.api, pod(*containers, volumes=volumes))["spec"]
    predicted = [canonical_quantity(each) for each in written]
    assert [each["resources"]["limits"]["memory"] for each in made["containers"]] == predicted
    assert [each["emptyDir"]["sizeLimit"] for each in made["volumes"] if "emptyDir" in each] == predicted
