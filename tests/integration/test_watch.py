"""`podberth lint --watch` and `podberth test --watch`: again after each change, until ctrl-c."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from integration.serving import environment

POLICY = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: named}
spec:
  description: Wants a name.
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
  validations:
  - {expression: "object.metadata.name != 'wrong'", message: another name is wanted}
  validationActions: [Deny]
"""
SUITE = """\
cases:
- name: a GPU
  pod:
    metadata: {name: train}
    spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
  expect: {verdict: unchanged}
"""
# A message that never comes fails the test after this time; a busy machine starts a process in a few seconds.
SECONDS = 60.0


async def watching(process: Process) -> str:
    """Return what the command has written to stderr and stdout when it waits for the next change."""
    assert process.stdout is not None
    assert process.stderr is not None
    messages = ""
    async with asyncio.timeout(SECONDS):
        while not (line := (await process.stderr.readline()).decode()).startswith("podberth: watching "):
            assert line, f"the command has ended: {messages}"
            messages += line
        # A run that ends with an error writes nothing to stdout.
        return messages or (await process.stdout.read(1 << 16)).decode()


async def changed(folder: Path, command: str, change: Callable[[], object]) -> tuple[str, str, int]:
    """Return (the first output, the output after ``change``, the exit code after ctrl-c)."""
    arguments = [sys.executable, "-m", "podberth", command, "--watch", str(folder)]
    process = await asyncio.create_subprocess_exec(*arguments, stdout=PIPE, stderr=PIPE, env=environment())
    try:
        first = await watching(process)
        change()
        second = await watching(process)
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(SECONDS):
            return first, second, await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a policy and its tests."""
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "file", "text", "before", "after"),
    [
        ("lint", "policy.yaml", POLICY.replace("description", "descriptoin"), "1 policy: 1 note", "did you mean"),
        ("test", "tests.yaml", SUITE.replace("unchanged", "denied"), "ok ", "got unchanged, want denied"),
    ],
)
def test_a_change_runs_the_command_again_until_ctrl_c(
    folder: Path, command: str, file: str, text: str, before: str, after: str
) -> None:
    first, second, code = asyncio.run(changed(folder, command, partial((folder / file).write_text, text)))
    assert first.startswith(before)
    assert after in second
    assert code == 130


def test_an_error_is_reported_and_does_not_end_the_command(folder: Path) -> None:
    _, second, code = asyncio.run(changed(folder, "lint", (folder / "policy.yaml").unlink))
    assert second.startswith(f"podberth: {folder}: got no policy file")
    assert code == 130
