"""``--pod-schema`` and ``--conventions`` mean the same to every command that decides."""

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

from builders import gpu_pod
from lint_findings import spec
from newer_schema import newer_schema
from podberth import cli
from podberth.cli.main import COMMANDS as COMMANDS_OF_PODBERTH
from podberth.cli.main import Command, CommandModule, main
from podberth.topology.shapes import simulate
from snapshots import policy

NEWER = """
  scope: All
  validations: [{expression: "object.spec.?berth.orValue('') == ''", message: no berth}]
  validationActions: [Deny]
"""
CASE = {"name": "one", "pod": gpu_pod(), "expect": {"verdict": "admitted"}}
COMMANDS = {
    "lint": ["lint", "policies", "--fail-on", "error"],
    "test": ["test", "policies"],
    "check": ["check", "pod.json", "--policies", "policies"],
    "explain": ["explain", "pod.json", "--policies", "policies"],
    "convert": ["convert", "policies/p.yaml"],
}
DECIDING = ("serve", "check", "test", "lint", "lsp", "explain", "playground")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a policy that reads a field of a newer cluster, its suite and a pod."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.yaml").write_text(policy("p", NEWER), encoding="utf-8")
    (tmp_path / "policies" / "tests.yaml").write_text(json.dumps({"cases": [CASE]}), encoding="utf-8")
    (tmp_path / "pod.json").write_text(json.dumps(gpu_pod()), encoding="utf-8")
    newer_schema(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_policy_may_read_the_fields_of_the_given_schema(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.is_dir()
    assert main(COMMANDS[command]) in (1, 2)
    printed = capsys.readouterr()
    assert "undefined field 'berth'" in printed.out + printed.err
    assert main([*COMMANDS[command], "--pod-schema", "openapi.json"]) == 0


def test_every_command_that_decides_has_both_flags() -> None:
    def deciding(command: Command) -> bool:
        parser = argparse.ArgumentParser()
        cast("CommandModule", import_module(command.module, cli.__name__)).configure(parser)
        return {"--pod-schema", "--conventions"} <= {flag for each in parser._actions for flag in each.option_strings}

    assert tuple(each.name for each in COMMANDS_OF_PODBERTH if deciding(each)) == DECIDING


@pytest.mark.parametrize("flag", ["--pod-schema", "--conventions"])
@pytest.mark.parametrize("command", ["lint", "test", "check", "explain", "playground"])
def test_a_file_that_is_not_there_is_named(
    command: str, flag: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMANDS.get(command, [command]), flag, str(folder / "nowhere")]) == 2
    assert f"{flag}: {folder / 'nowhere'}: cannot be read" in capsys.readouterr().err


def test_a_suite_is_run_with_the_clusters_own_names(folder: Path) -> None:
    (folder / "policies" / "p.yaml").write_text(
        policy("p", "  mutations: [{tolerations: topology.nodes(gpu).tolerations}]"), encoding="utf-8"
    )
    tainted = {"shape": "l4-1", "taints": [{"key": "example.com/accelerated", "effect": "NoSchedule"}]}
    case = {**CASE, "topology": [tainted], "expect": {"verdict": "mutated"}}
    (folder / "policies" / "tests.yaml").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    (folder / "names.yaml").write_text("tolerableTaints: [{key: example.com/accelerated}]\n", encoding="utf-8")

    assert main(COMMANDS["test"]) == 1
    assert main([*COMMANDS["test"], "--conventions", "names.yaml"]) == 0


def test_lint_knows_the_clusters_own_levels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = spec("mutations:\n- topology: {level: \"'example.com/rack'\", mode: preferred}\n")
    (folder / "policies" / "p.yaml").write_text(text, encoding="utf-8")
    nodes = {"apiVersion": "v1", "kind": "List", "items": list(simulate("l4-1", "a"))}
    (folder / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
    (folder / "names.yaml").write_text("levels: [example.com/rack]\n", encoding="utf-8")
    command = ["lint", "policies", "--topology", "nodes.json"]

    assert main(command) == 1
    assert "unknown-level" in capsys.readouterr().out
    assert main([*command, "--conventions", "names.yaml"]) == 0
