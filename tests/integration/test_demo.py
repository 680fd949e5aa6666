"""`make demo`: its output, and that it leaves nothing behind."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from controlplane.process import interruptible
from controlplane.wait import wait_for
from demonstrations import ROOT, environ, leftovers

SCRIPT = ROOT / "demo" / "offline.py"

# Seconds here; the bound is for a CI machine under load.
SECONDS = 300.0


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def finished(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT)]
    return subprocess.run(
        command,
        # Not the repository: it must run from anywhere.
        cwd=directory,
        env=environ(directory),
        encoding="utf-8",
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.fixture(scope="module")
def sections(finished: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return the output about each example, by its file's name."""
    parts = re.split(r"^── \d+ of \d+: examples/(\S+) ─+$", finished.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_it_succeeds_and_reports_progress_on_stderr(finished: subprocess.CompletedProcess[str]) -> None:
    assert finished.returncode == 0, finished.stderr
    steps = finished.stderr.splitlines()
    assert all(re.match(r" *\d+\.\d s  \w", step) for step in steps)
    assert any("podberth answers at https://127.0.0.1:" in step for step in steps)


def test_it_leaves_neither_files_nor_processes(directory: Path, finished: subprocess.CompletedProcess[str]) -> None:
    assert leftovers(directory) == []
    port = re.search(r"https://127\.0\.0\.1:(\d+)", finished.stderr)
    assert port is not None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port[1]))) != 0


def test_piped_output_is_plain(finished: subprocess.CompletedProcess[str]) -> None:
    assert "\x1b" not in finished.stdout + finished.stderr
    assert str(ROOT) not in finished.stdout


# By example: texts that its output must have.
SHOWN = {
    "cuda-pod.yaml": (
        "Pod cuda-vectoradd: changed",
        "  +   - key: nvidia.com/gpu\n  +     operator: Exists\n  +     effect: NoSchedule\n",
        "  why     tolerates nvidia.com/gpu:NoSchedule, sku=gpu:NoSchedule\n",
        "  before  runs on none of 38 nodes",
        "  now     runs on 31 of 38 nodes: 16 h100, ",
    ),
    "llm-deployment.yaml": (
        "each of the 2 pods of Deployment llm: changed",
        "; 4 GPUs in one NVLink domain",
        "prefers 16 h100",
    ),
    "training-indexed-job.yaml": (
        "  +     podberth.io/gang: job-",
        "; prefers one domain of",
    ),
    "notebook-memory.yaml": (
        "  -         nvidia.com/gpu: '1'\n  +         nvidia.com/mig-3g.20gb: '1'",
        "  why     nvidia.com/mig-3g.20gb instead of nvidia.com/gpu",
        "  now     runs on 2 of 38 nodes: 2 a100-mig",
    ),
    "unknown-mig-profile.yaml": (
        "Pod mig-typo: denied",
        "  denied  mig-right-size: container infer: resources.limits[nvidia.com/mig-4g.5gb]",
    ),
    "own-affinity.yaml": ("Pod finetune: changed", "  now     runs on 16 of 38 nodes: 16 h100\n"),
    "launcher-and-workers.yaml": (
        "the pod of Job allreduce-launcher: left as it is",
        "each of the 4 pods of Job allreduce-worker: changed",
    ),
    "gpu-daemonset.yaml": ("the pods of DaemonSet gpu-metrics-exporter: left as it is", "  now     the same"),
    "cpu-pod.yaml": ("Pod web: left as it is", "  before  runs on 3 of 38 nodes: 3 cpu\n  now     the same"),
}


def test_it_shows_every_example(sections: Mapping[str, str]) -> None:
    assert sections.keys() == SHOWN.keys() == {file.name for file in (ROOT / "examples").glob("*.yaml")}


@pytest.mark.parametrize("example", SHOWN)
def test_an_example_shows_its_change_the_reason_and_the_nodes(sections: Mapping[str, str], example: str) -> None:
    for text in SHOWN[example]:
        assert text in sections[example]


def test_it_ends_with_the_count_and_the_time(finished: subprocess.CompletedProcess[str]) -> None:
    end = " ".join(finished.stdout.partition("── in all ─")[2].split())
    assert "10 kinds of pods: 6 changed, 1 denied, 3 left as they were. 25 reviews over HTTPS" in end
    assert re.search(r"\d+\.\d s in all", end)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM], ids=lambda kind: kind.name)
def test_a_signal_stops_it_and_leaves_nothing(tmp_path: Path, kind: signal.Signals) -> None:
    with interruptible():
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            env=environ(tmp_path),
            encoding="utf-8",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    with process:
        assert process.stderr is not None
        assert "starting podberth" in process.stderr.readline()
        wait_for(
            lambda: any("podberth serve" in each for each in leftovers(tmp_path)),
            timeout_seconds=SECONDS,
            what="podberth to be started",
        )
        process.send_signal(kind)
        assert "interrupted" in process.communicate(timeout=SECONDS)[1]
    assert process.returncode == 130
    # A signal between the fork and its registration leaves the process to the guard, which ends it a moment later.
    wait_for(
        lambda: leftovers(tmp_path) == [], timeout_seconds=SECONDS, what=lambda: f"nothing left; {leftovers(tmp_path)}"
    )
