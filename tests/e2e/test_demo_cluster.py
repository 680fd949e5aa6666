"""`make demo-cluster` as its first user meets it: on a control plane of its own, to the last act.

The seconds that it prints are measured by the demonstration itself, which says beside them what they should be.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.build import assets, minor
from controlplane.client import Cluster
from demonstrations import ROOT, environ, leftovers

from .overlay import OVERLAY

SCRIPT = ROOT / "demo" / "cluster.py"

# A quarter of a minute here; the bound is for a CI machine under load.
SECONDS = 300.0
NODE = "gpu-a100-mig-1"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def finished(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        # Not the repository: it must run from anywhere.
        cwd=directory,
        # It looks for the control plane, or builds it, as the tests do.
        env={**os.environ, **environ(directory)},
        encoding="utf-8",
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.fixture(scope="module")
def act(finished: subprocess.CompletedProcess[str]) -> str:
    """Return the last act."""
    assert finished.returncode == 0, finished.stderr
    [_, act] = re.split(r"^── the cluster changes, and podberth follows ─+$", finished.stdout, flags=re.MULTILINE)
    return act.partition("── in all ─")[0]


@pytest.fixture(scope="module")
def said(act: str) -> dict[str, str]:
    """Return what is shown from each apply of the act to the next command, by the pod, unwrapped."""
    commands = re.split(r"^\$ kubectl (.+)$", act, flags=re.MULTILINE)
    applies = re.compile(r"apply -n changes -f (\S+)\.yaml")
    parts = zip(commands[1::2], commands[2::2], strict=True)
    return {found[1]: " ".join(text.split()) for command, text in parts if (found := applies.fullmatch(command))}


def test_no_apply_prints_more_than_three_lines_of_podberths(finished: subprocess.CompletedProcess[str]) -> None:
    shown = re.split(r"^\$ kubectl (.+)$", finished.stdout, flags=re.MULTILINE)
    counts = [text.count("Warning: podberth") for text in shown[2::2]]
    assert 0 < max(counts) <= 3


def test_it_succeeds_and_leaves_nothing(finished: subprocess.CompletedProcess[str], directory: Path) -> None:
    assert finished.returncode == 0, finished.stderr
    assert leftovers(directory) == []


def test_piped_output_is_plain(finished: subprocess.CompletedProcess[str]) -> None:
    assert "\x1b" not in finished.stdout + finished.stderr
    assert str(ROOT) not in finished.stdout


def test_the_examples_wait_without_podberth_and_run_with_it(finished: subprocess.CompletedProcess[str]) -> None:
    end = " ".join(finished.stdout.partition("── in all ─")[2].split())
    assert "Without podberth 0 of them run and 18 wait for ever; with podberth 17 run, and 1 is denied" in end
    assert re.search(r"followed a new MIG layout within \d+\.\d\d s and a lost GPU within \d+\.\d\d s\.", end)


def test_before_the_change_four_gpus_come_to_a_pcie_machine_that_the_pod_chose(said: dict[str, str]) -> None:
    assert "NVLink domain" not in said["finetune-1"]
    assert re.search(r"=> finetune-1 runs on gpu-a100-pcie-\d: 4 whole GPUs", said["finetune-1"])


def test_while_the_layout_is_set_the_next_pod_is_warned_and_goes_elsewhere(said: dict[str, str]) -> None:
    assert f"nodes that this pod can run on is out for now: MIG reconfiguring ({NODE})" in said["notebook"]
    place = re.search(r"=> notebook runs on (\S+):", said["notebook"])
    assert place is not None
    assert place[1] != NODE


def test_it_installs_what_the_manifests_hold_and_says_so(
    finished: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    said = finished.stdout.partition("── podberth is installed ─")[2].partition("── with podberth ─")[0]
    assert "manifests/overlays/self-signed" in said
    assert "$ kubectl apply -k .\n" in said
    made = dict(line.split(": ", 1) for line in said.splitlines() if re.match(r"[a-z]+: ", line))
    rendered = Cluster(assets() / "kubectl", tmp_path / "none", tmp_path).kubectl("kustomize", str(OVERLAY)).stdout
    assert made.keys() == {kind.lower() for kind in re.findall(r"^kind: (\w+)$", rendered, flags=re.MULTILINE)}
    unwrapped = " ".join(said.split())
    guards = (
        "podberth-agent, podberth-configurations, podberth-controller, podberth-controller-lease, podberth-events, "
        "podberth-exemption, podberth-shared-ca"
    )
    assert f" validatingadmissionpolicy: {guards} " in unwrapped
    assert "the 35 pods of the DaemonSet podberth-agent" in unwrapped
    assert re.search(r"`podberth serve` of podberth-[0-9a-z]+-[0-9a-z]+ as a process", unwrapped)
    assert "`podberth controller` of podberth-controller as another" in unwrapped


def test_the_act_of_groups_is_left_out_and_says_why_exactly_where_the_release_serves_none(
    finished: subprocess.CompletedProcess[str],
) -> None:
    shown = " ".join(finished.stdout.split())
    assert ("Left out: this API server serves no podgroups.scheduling.k8s.io" in shown) == (minor() < 36)


@pytest.mark.since(36)
def test_of_two_gangs_that_would_block_each_other_one_starts_and_one_waits_whole(
    finished: subprocess.CompletedProcess[str],
) -> None:
    """Which of the two is the scheduler's business."""
    assert finished.returncode == 0, finished.stderr
    table = finished.stdout.partition("── which of two gangs for the same machines starts ─")[2].partition("── ")[0]
    assert re.search(r"^  gang +without podberth +with podberth$", table, flags=re.MULTILINE)
    found = re.findall(r"^  ring-([ab]) +(\S.*?)  +(\S.*)$", table, flags=re.MULTILINE)
    assert [gang for gang, _, _ in found] == ["a", "b"]
    assert {without for _, without, _ in found} == {"does not start: 2 of 3 hold a machine"}
    assert sorted(grouped for _, _, grouped in found) == ["starts: all 3 run", "waits: none of 3 holds a machine"]


@pytest.mark.since(36)
def test_their_groups_are_made_by_the_controller_and_by_nobody_else(
    finished: subprocess.CompletedProcess[str],
) -> None:
    said = finished.stdout.partition("── two gangs for the same machines, with podberth ─")[2].partition("── ")[0]
    assert "\n$ kubectl label namespace two-gangs-with podberth.io/gang-system=native\n" in said
    assert "Warning: podberth: joins the native group of its gang of 3; requires one domain of" in said
    _, _, made = said.partition(" -l app.kubernetes.io/managed-by=podberth")
    groups = re.findall(r"^(ring-\w) +(\d) +(\S+)$", made, flags=re.MULTILINE)
    assert groups == [("ring-a", "3", "nvidia.com/gpu.clique"), ("ring-b", "3", "nvidia.com/gpu.clique")]


def test_the_time_of_each_stage_is_printed(finished: subprocess.CompletedProcess[str]) -> None:
    said = finished.stdout.partition("── how long each stage took ─")[2].partition("── in all ─")[0]
    stages = re.findall(r"^  (\S.*?)  +(\d+\.\d) s$", said, flags=re.MULTILINE)
    assert [name for name, _ in stages] == [
        "executables of the control plane: built, or found",
        "start of the control plane, with its nodes",
        "the examples without podberth",
        "install, until podberth answers",
        "the examples with podberth",
        "the cluster changes",
    ]
    whole = re.search(r"(\d+\.\d) s in all", " ".join(finished.stdout.split()))
    assert whole is not None
    # Each is rounded by itself.
    assert sum(float(seconds) for _, seconds in stages) <= float(whole[1]) + 0.1 * len(stages)


@pytest.mark.parametrize(
    "row",
    [
        r"label +nvidia\.com/mig\.config\.state +success +pending +-",
        r"allocatable +nvidia\.com/gpu +2 +0 +8",
        r"allocatable +nvidia\.com/mig-3g\.20gb +6 +0 +-",
        r"ConfigMap +MIG instances +24 +24 +0",
        r"ConfigMap +GPUs that wait for a reset +0 +6 +0",
        r"allocatable +nvidia\.com/gpu +8 +7",
        r"ConfigMap +GPU 5 +healthy +GPU is lost",
    ],
)
def test_labels_allocatable_and_config_map_change_together(act: str, row: str) -> None:
    assert re.search(rf"^  {row}$", act, flags=re.MULTILINE)


def test_after_the_change_the_same_pod_has_other_terms_and_another_place(act: str, said: dict[str, str]) -> None:
    assert "4 GPUs in one NVLink domain: prefers 1 of 5 nodes" in said["finetune-2"]
    assert f"=> finetune-2 runs on {NODE}: 8 whole GPUs, NVLink full-mesh of 8" in said["finetune-2"]
    difference = act.partition("What podberth wrote into finetune-2, and not into finetune-1:\n")[2]
    assert difference.startswith("    spec:\n  +   affinity:\n  +     nodeAffinity:\n")
    assert "  +           - key: nvidia.com/mig.strategy\n  +             operator: DoesNotExist\n" in difference


def test_a_lost_gpu_is_warned_of_and_the_place_follows_what_is_allocatable(said: dict[str, str]) -> None:
    assert "node-health" not in said["train-1"]
    assert f"=> train-1 runs on {NODE}: 8 whole GPUs" in said["train-1"]
    for pod in ("train-2", "train-3"):
        assert f"nodes that this pod can run on is out for now: unhealthy GPU ({NODE})" in said[pod]
    assert re.search(r"=> train-2 waits: 0/38 nodes are available: .*Insufficient nvidia\.com/gpu", said["train-2"])
    assert f"=> train-3 runs on {NODE}: 7 whole GPUs" in said["train-3"]


@pytest.mark.parametrize(
    "line",
    [
        f"{NODE}: unhealthy GPU",
        "health:   GPU 5: GPU is lost",
        "  nvidia.com/gpu  7            8",
        "38 nodes, 35 with a topology document; 1 unhealthy",
        f"  {NODE}  unhealthy GPU",
        f"  {NODE}  5    GPU is lost",
    ],
)
def test_topology_show_marks_the_lost_gpu(act: str, line: str) -> None:
    assert line in act.splitlines()
