"""The action, the GitLab template and the pre-commit hooks: their scripts run, with and without findings."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pages import page, rows
from pipelines import ACTION, GITLAB, HOOKS, ROOT, WORKFLOW, read, run_action, run_job, run_script, run_workflow

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: train:1
        resources: {limits: {nvidia.com/gpu: COUNT}}
"""
DENIAL = "got 9 GPUs, want at most 8"


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, which a first run of podberth compiles."""
    folder = tmp_path_factory.mktemp("unpacked")
    shutil.unpack_archive(wheel, folder, "zip")
    return folder


@pytest.fixture
def repository(tmp_path: Path, unpacked: Path, shell: dict[str, str]) -> Path:
    """A repository with a policy, as `podberth policies init` writes it, and a manifest; neither has a finding."""
    folder = tmp_path / "repository"
    (folder / "manifests").mkdir(parents=True)
    (folder / "manifests" / "job.yaml").write_text(JOB.replace("COUNT", "8"), encoding="utf-8")
    environment = {**shell, "PYTHONPATH": f"{unpacked}:{shell['PYTHONPATH']}"}
    subprocess.run(
        ["python3", "-m", "podberth", "policies", "init", "few"],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    git(folder, shell, "init", "-q", "-b", "main")
    commit(folder, shell)
    return folder


@pytest.fixture(scope="module")
def runner(shell: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A machine of GitHub's; it keeps what was installed, so that only the first test waits for it."""
    return {**shell, "RUNNER_TEMP": str(tmp_path_factory.mktemp("runner"))}


def git(folder: Path, shell: dict[str, str], *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, env=shell, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, shell: dict[str, str]) -> None:
    git(folder, shell, "add", "--all")
    git(folder, shell, "commit", "-q", "-m", "as it is now")


def spoil(folder: Path) -> None:
    """Add one finding each for lint, test and check."""
    policy, tests = (folder / "policies" / "few" / name for name in ("policy.yaml", "tests.yaml"))
    unused = "  variables:\n  - name: unused\n    expression: gpu.count\n"
    policy.write_text(policy.read_text(encoding="utf-8").replace("  variables:\n", unused), encoding="utf-8")
    tests.write_text(
        tests.read_text(encoding="utf-8").replace("verdict: unchanged", "verdict: denied"), encoding="utf-8"
    )
    (folder / "manifests" / "job.yaml").write_text(JOB.replace("COUNT", "9"), encoding="utf-8")


def failures(file: Path) -> list[str]:
    """Return the messages of a JUnit report's failures."""
    return [str(each.get("message")) for each in ET.parse(file).iter("failure")]  # noqa: S314 - our own report


# ---- GitHub ----------------------------------------------------------------------------------------------------------


def test_the_action_passes_where_all_is_well(repository: Path, wheel: Path, runner: dict[str, str]) -> None:
    ran = run_action(repository, runner, install=str(wheel))
    assert [(each.name, each.code) for each in ran] == [(step["name"], 0) for step in read(ACTION)["runs"]["steps"]]
    assert not [line for each in ran for line in each.output.splitlines() if line.startswith(("::error", "::warning"))]
    reports = repository / "podberth-reports"
    assert {each.name for each in reports.iterdir()} == {"lint.sarif", "test.xml", "check.xml", "check.sarif"}
    assert failures(reports / "test.xml") == failures(reports / "check.xml") == []


def test_the_action_reports_every_finding_at_its_line(repository: Path, wheel: Path, runner: dict[str, str]) -> None:
    spoil(repository)
    ran = run_action(repository, runner, install=str(wheel))
    assert [each.code for each in ran] == [0, 1, 1, 1]
    reported = [line for each in ran for line in each.output.splitlines() if line.startswith(("::error", "::warning"))]
    places = [line.split(",title=")[0] for line in reported]
    policy, tests, job = ("policies/few/policy.yaml", "policies/few/tests.yaml", "manifests/job.yaml")
    assert [place.split(",")[0] for place in places] == [
        f"::warning file={policy}",
        f"::error file={tests}",
        f"::error file={job}",
    ]
    for place in places:
        line = int(place.split(",")[1].removeprefix("line="))
        file = repository / place.split(",")[0].partition("file=")[2]
        wanted = {policy: "name: unused", tests: "verdict: denied}", job: "nvidia.com/gpu: 9"}
        text = file.read_text(encoding="utf-8").splitlines()[line - 1]
        assert wanted[str(file.relative_to(repository))] in text
    reports = repository / "podberth-reports"
    assert [DENIAL in each for each in failures(reports / "check.xml")] == [True]
    assert len(failures(reports / "test.xml")) == 1
    for name in ("lint.sarif", "check.sarif"):
        [run] = json.loads((reports / name).read_text(encoding="utf-8"))["runs"]
        assert run["results"], name


def test_the_inputs_name_the_manifests_and_the_policies(repository: Path, wheel: Path, runner: dict[str, str]) -> None:
    spoil(repository)
    (repository / "two words.yaml").write_text(JOB.replace("COUNT", "1"), encoding="utf-8")
    only = run_action(repository, runner, install=str(wheel), policies="", manifests="two words.yaml\n\n", reports="r")
    assert [(each.name, each.code) for each in only] == [("Install podberth", 0), ("Check the manifests", 0)]
    assert "policies that podberth ships" in only[-1].output
    none = run_action(repository, runner, install=str(wheel), manifests="", fail_on="warn")
    assert [each.name for each in none] == ["Install podberth", "Lint the policies", "Test the policies"]


def test_a_failed_installation_ends_the_action(repository: Path, tmp_path: Path, shell: dict[str, str]) -> None:
    [ran] = run_action(repository, {**shell, "RUNNER_TEMP": str(tmp_path)}, install="podberth==0.0.0")
    assert ran.code == 1


def test_the_workflow_installs_podberth_from_beside_the_action(repository: Path, shell: dict[str, str]) -> None:
    """From the committed state, with the locked versions; docs/guide.md has a run that is red."""
    assert [each.code for each in run_workflow(WORKFLOW, repository, shell)] == [0, 0, 0, 0, 0]


def test_no_input_is_pasted_into_a_script() -> None:
    """Otherwise a pull request could run commands."""
    assert not [step for step in read(ACTION)["runs"]["steps"] if "${{" in step["run"]]


# ---- GitLab ----------------------------------------------------------------------------------------------------------

JOBS = ("podberth-lint", "podberth-test", "podberth-check")


def test_the_gitlab_jobs_pass_or_fail_and_leave_the_reports_that_they_name(
    repository: Path, wheel: Path, shell: dict[str, str]
) -> None:
    artifacts = [read(GITLAB)[name].get("artifacts", {"reports": {}})["reports"] for name in JOBS]
    assert artifacts == [
        {},
        {"junit": "podberth-test.xml"},
        {"junit": "podberth-check.xml", "codequality": "podberth-check.json"},
    ]
    for red in (False, True):
        if red:
            spoil(repository)
        ran = [run_job(name, repository, shell, PODBERTH=str(wheel)) for name in JOBS]
        assert [each.code for each in ran] == [int(red)] * 3, ran
        assert len(failures(repository / "podberth-test.xml")) == int(red)
        assert [DENIAL in each for each in failures(repository / "podberth-check.xml")] == [True] * red
        quality: list[dict[str, Any]] = json.loads((repository / "podberth-check.json").read_text(encoding="utf-8"))
        major = [each["location"] for each in quality if each["severity"] == "major"]
        assert major == [{"path": "manifests/job.yaml", "lines": {"begin": 11}}] * red


def test_gitlab_requires_the_version_to_install(repository: Path, shell: dict[str, str]) -> None:
    ran = run_job("podberth-lint", repository, shell)
    assert ran.code != 0
    assert "PODBERTH: set it to what pip is to install" in ran.output


@pytest.fixture
def chart_runner(wheel: Path, helm: Path, shell: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of a runner with helm and an empty virtual environment; PODBERTH is what pip installs there."""
    subprocess.run(["python3", "-m", "venv", "venv"], cwd=tmp_path, env=shell, check=True)
    path = os.pathsep.join([str(tmp_path / "venv" / "bin"), str(helm.parent), shell["PATH"]])
    return {**shell, "PATH": path, "PODBERTH": str(wheel)}


@pytest.mark.parametrize(("example", "code"), [("llm-deployment", 0), ("unknown-mig-profile", 1)])
def test_the_jobs_of_the_page_check_a_rendered_chart_by_the_shipped_policies(
    example: str, code: int, chart_runner: dict[str, str], tmp_path: Path
) -> None:
    templates = tmp_path / "chart" / "templates"
    templates.mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("{apiVersion: v2, name: chart, version: 0.1.0}", encoding="utf-8")
    shutil.copy(ROOT / "examples" / f"{example}.yaml", templates)
    [block] = re.findall(r"^```yaml\n(render:.*?)^```$", page("docs/ci.md"), re.MULTILINE | re.DOTALL)
    (tmp_path / "jobs.yaml").write_text(block, encoding="utf-8")
    jobs = read(tmp_path / "jobs.yaml").items()
    ran = [run_script(name, job["script"], tmp_path, chart_runner) for name, job in jobs]
    assert [each.code for each in ran] == [0, code], ran
    assert "policies that podberth ships" in ran[1].output
    found = json.loads((tmp_path / "podberth.json").read_text(encoding="utf-8"))
    assert [each["location"]["path"] for each in found if each["severity"] == "major"] == ["rendered.yaml"] * code


# ---- pre-commit ------------------------------------------------------------------------------------------------------


def test_pre_commit_installs_and_runs_the_hooks(repository: Path, tmp_path: Path, shell: dict[str, str]) -> None:
    """The real pre-commit, which clones the repository of the hooks and installs podberth from it."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path / "unpacked-source", filter="data")
    [source] = (tmp_path / "unpacked-source").iterdir()
    shutil.copy(HOOKS, source)
    git(source, shell, "init", "-q", "-b", "main")
    commit(source, shell)
    hooks = [{"id": each["id"]} for each in read(HOOKS)]
    config = {"repos": [{"repo": str(source), "rev": git(source, shell, "rev-parse", "HEAD").strip(), "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config), encoding="utf-8")
    commit(repository, shell)

    def results() -> dict[str, str]:
        command = ["python3", "-m", "pre_commit", "run", "--all-files", "--color", "never"]
        done = subprocess.run(command, cwd=repository, env=shell, check=False, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.endswith(("Passed", "Failed", "Skipped"))]
        assert lines, done
        return {line.partition(".")[0]: line.rpartition(".")[2] for line in lines}

    names = [each["name"] for each in read(HOOKS)]
    assert results() == dict.fromkeys(names, "Passed")
    spoil(repository)
    assert results() == dict.fromkeys(names, "Failed")


# ---- schemas and documentation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "file"),
    [("github-actions", ACTION), ("github-workflows", WORKFLOW), ("gitlab-ci", GITLAB)],
)
def test_the_files_are_valid_by_their_published_schemas(schema: str, file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_pre_commit_accepts_the_hooks(shell: dict[str, str]) -> None:
    command = ["python3", "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    done = subprocess.run(command, env=shell, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_page_has_a_row_for_each_input_variable_and_hook() -> None:
    documented = rows(page("docs/ci.md"))
    defaults = {name: row["default"] for name, row in read(ACTION)["inputs"].items()}
    defaults |= {name: row["value"] for name, row in read(GITLAB)["variables"].items()}
    hooks = {each["id"]: each for each in read(HOOKS)}
    assert {name for name in documented if not name.startswith("---")} == {
        *("input", "variable", "hook"),
        *defaults,
        *hooks,
    }
    assert {name: documented[name][1].strip("`") for name in defaults} == defaults
    for name, hook in hooks.items():
        assert documented[name][2].startswith(f"`{' '.join([hook['entry'], *hook.get('args', ())])}`")
