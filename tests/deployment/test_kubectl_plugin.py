"""`kubectl podberth`: the real kubectl finds what pip puts beside podberth, and it works in the user's context."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from podberth import __version__
from podberth.cli.main import COMMANDS


class Kubectl:
    """kubectl with the scripts of this environment on its path."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._program = str(control_plane.kubectl_path)
        scripts = str(Path(sys.executable).parent)
        self._environ = {**control_plane.environ(), "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it."""
        command = [self._program, *arguments]
        return subprocess.run(command, env=self._environ, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def kubectl(control_plane: ControlPlane) -> Kubectl:
    return Kubectl(control_plane)


def test_kubectl_finds_the_plugin(kubectl: Kubectl) -> None:
    found = [Path(line).name for line in kubectl("plugin", "list").stdout.splitlines()]
    assert found.count("kubectl-podberth") == 1
    done = kubectl("podberth", "version")
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n")


def test_help_and_mistakes_name_the_command_as_it_was_called(kubectl: Kubectl) -> None:
    assert kubectl("podberth", "--help").stdout.startswith("usage: kubectl podberth [-h] ")
    assert kubectl("podberth", "status", "--help").stdout.startswith("usage: kubectl podberth status [-h] ")
    wrong = kubectl("podberth", "statsu")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("usage: kubectl podberth ")
    assert wrong.stderr.endswith("; did you mean status?\n")


def test_it_speaks_to_the_cluster_that_kubectl_speaks_to(kubectl: Kubectl) -> None:
    """Nothing is installed where this module begins, or all of it by another: status answers in either case."""
    done = kubectl("podberth", "status")
    assert done.stdout.startswith("podberth on Kubernetes v1."), done.stderr
    assert "── certificates ─" in done.stdout
    assert done.returncode == 1  # nobody runs the containers here
    done = kubectl("podberth", "status", "--context", "nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("podberth: KUBECONFIG: ")
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sta",), ["status"]),
        (("",), [command.name for command in COMMANDS]),
        (("certs", ""), ["status", "rotate"]),
        (("certs", "status", "--server"), ["--server-name"]),
        (("status", "-o", ""), ["text", "json"]),
        (("policies", "show", "gpu-"), ["gpu-tolerations"]),
    ],
)
def test_kubectl_completes_its_words(kubectl: Kubectl, words: tuple[str, ...], offered: list[str]) -> None:
    *lines, directive = kubectl("__complete", "podberth", *words).stdout.splitlines()
    assert [line.partition("\t")[0] for line in lines] == offered
    assert directive == ":4"  # no files beside them


def test_where_a_file_is_wanted_the_shell_offers_files(kubectl: Kubectl) -> None:
    assert kubectl("__complete", "podberth", "status", "--kubeconfig", "").stdout.splitlines() == [":0"]
