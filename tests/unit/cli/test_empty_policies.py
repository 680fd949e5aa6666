"""A policy file that holds nothing: a finding where policies are looked at, a fault where they judge something."""

import os
from pathlib import Path

import pytest

from podberth.cli.exitcodes import ExitCode
from podberth.cli.main import main

_SAID = "empty.yaml: got no document, want a GPUPolicy, or params; delete the file to remove its policies"
_POLICY = "apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {name: a}\nspec: {scope: All}\n"
_TESTS = """
cases:
- name: a pod
  pod: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  expect: {verdict: unchanged}
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """Return a folder with a policy, its tests, and a file that was cut off."""
    (tmp_path / "policies").mkdir()
    for name, text in (("policy", _POLICY), ("tests", _TESTS), ("empty", "# gone\n")):
        (tmp_path / "policies" / f"{name}.yaml").write_text(text)
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n")
    return tmp_path / "policies"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["lint", "-o", "github", "@"], ExitCode.FINDINGS),
        (["lint", "-o", "github", "@/empty.yaml"], ExitCode.FINDINGS),
        (["test", "@"], ExitCode.FINDINGS),
        (["check", "@/../pod.yaml", "--policies", "@"], ExitCode.USAGE),
        (["explain", "@/../pod.yaml", "--policies", "@"], ExitCode.USAGE),
    ],
)
def test_an_empty_policy_file_is_reported(
    policies: Path, command: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([each.replace("@", str(policies)) for each in command]) == code
    out, err = capsys.readouterr()
    assert _SAID.partition(": ")[2] in out + err
    assert "empty.yaml" in out + err


@pytest.mark.parametrize(
    "command",
    [
        ["lint", "@"],
        ["check", "@/pipe.yaml"],
        ["check", "@/../pod.yaml", "--policies", "@"],
        ["check", "@/../pod.yaml", "--topology", "@/pipe.yaml"],
        ["check", "@/../pod.yaml", "--conventions", "@/pipe.yaml"],
        ["explain", "@/pipe.yaml"],
        ["topology", "show", "--topology", "@/pipe.yaml"],
    ],
    ids=" ".join,
)
def test_a_named_pipe_is_reported_and_not_waited_for(
    policies: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (policies / "empty.yaml").unlink()
    os.mkfifo(policies / "pipe.yaml")
    assert main([each.replace("@", str(policies)) for each in command]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert "pipe.yaml" in out + err
    assert "got a named pipe, want a regular file" in out + err
