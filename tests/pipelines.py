"""Runs what CI systems run: the steps of a composite action and of a workflow, and the jobs of a GitLab pipeline.

Of their languages just what our files use; anything else is an error.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "ci" / "github" / "action.yml"
WORKFLOW = ROOT / "ci" / "github" / "workflow.yml"
GITLAB = ROOT / "ci" / "gitlab" / "podberth.gitlab-ci.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"

_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")


@dataclass(frozen=True, slots=True)
class Ran:
    """A step or a job that ran: its exit code, and what it wrote, both streams together."""

    name: str
    code: int
    output: str


def read(file: Path) -> Any:
    """Return a file as YAML 1.2, in which `on` is a word."""
    return YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))


def run_action(folder: Path, environment: Mapping[str, str], **given: str) -> list[Ran]:
    """Run the action's steps in a folder as GitHub does; inputs are named with _ for -.

    ``RUNNER_TEMP`` of the environment is the folder in which the action installs podberth.
    """
    action = read(ACTION)
    inputs = {name: str(row["default"]) for name, row in action["inputs"].items()}
    inputs |= {name.replace("_", "-"): value for name, value in given.items()}
    ran: list[Ran] = []
    outcomes: dict[str, str] = {}
    with tempfile.NamedTemporaryFile() as path_file:
        for step in action["runs"]["steps"]:
            if not _wanted(step.get("if", ""), inputs, outcomes, failed=any(each.code for each in ran)):
                continue
            added = Path(path_file.name).read_text(encoding="utf-8").splitlines()
            own = {
                **environment,
                **{name: _filled(value, inputs) for name, value in step["env"].items()},
                "GITHUB_PATH": path_file.name,
                "GITHUB_ACTION_PATH": str(ACTION.parent),
                "PATH": os.pathsep.join([*reversed(added), environment["PATH"]]),
            }
            # https://docs.github.com/actions/reference/workflow-syntax-for-github-actions#defaultsrunshell
            assert step["shell"] == "bash"
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            ran.append(_run(step["name"], command, folder, own))
            outcomes[step.get("id", step["name"])] = "failure" if ran[-1].code else "success"
    return ran


def run_workflow(file: Path, repository: Path, environment: Mapping[str, str]) -> list[Ran]:
    """Run a workflow's steps on a clone of what is committed. The upload to GitHub at its end has no place here."""
    [job] = read(file)["jobs"].values()
    ran: list[Ran] = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as runner:
        for step in job["steps"]:
            match step["uses"].partition("@")[0]:
                case "actions/checkout":
                    ran.append(
                        _run("checkout", ["git", "clone", "-q", str(repository), folder], repository, environment)
                    )
                case "YOUR-ORG/podberth/ci/github":
                    ran += run_action(Path(folder), {**environment, "RUNNER_TEMP": runner}, **step["with"])
                case other:
                    assert other == "github/codeql-action/upload-sarif"
                    assert list(Path(folder, step["with"]["sarif_file"]).glob("*.sarif"))
    return ran


def run_job(name: str, folder: Path, environment: Mapping[str, str], **variables: str) -> Ran:
    """Run a job of the GitLab template in a folder, with its variables' defaults and these."""
    template = read(GITLAB)
    job = template[name]
    known = {key: row["value"] for key, row in template["variables"].items()}
    lines = [*template[job["extends"]]["before_script"], *job["script"]]
    return run_script(name, lines, folder, {**environment, **known, **variables})


def run_script(name: str, lines: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run the lines of a job's script in a folder as GitLab's runner does: https://docs.gitlab.com/runner/shells/."""
    return _run(name, ["bash", "-eo", "pipefail", "-c", "\n".join(lines)], folder, environment)


def _run(name: str, command: list[str], folder: Path, environment: Mapping[str, str]) -> Ran:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Ran(name, done.returncode, done.stdout)


def _filled(text: str, inputs: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: inputs[found[1].removeprefix("inputs.")], text)


def _wanted(condition: str, inputs: Mapping[str, str], outcomes: Mapping[str, str], *, failed: bool) -> bool:
    if not condition:
        return not failed
    found = _EXPRESSION.fullmatch(condition)
    assert found, condition
    values = {"!cancelled()": True}
    values |= {f"inputs.{name} != ''": bool(value) for name, value in inputs.items()}
    values |= {f"steps.{name}.outcome == 'success'": value == "success" for name, value in outcomes.items()}
    return all(values[term] for term in found[1].split(" && "))


def main() -> None:
    """Print what the workflow of this folder does with its last commit."""
    for ran in run_workflow(Path(".github/workflows/podberth.yml"), Path.cwd(), os.environ):
        sys.stdout.write(f"{'failed' if ran.code else 'passed'}: {ran.name}\n{ran.output}")


if __name__ == "__main__":
    main()
