"""The sessions of docs/guide.md, native-policies.md, convert.md and fleets.md and a part of docs/check.md are run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pages import page
from pipelines import WORKFLOW
from podberth.cli.main import main
from snapshots import cluster
from walkthrough import BLOCK, live_through


def test_the_steps_of_the_guide_give_its_output(tmp_path: Path, wheel: Path, shell: dict[str, str]) -> None:
    live_through(page("docs/guide.md"), tmp_path, {**shell, "PODBERTH": str(wheel), "HOME": str(tmp_path)})


def test_the_workflow_of_the_guide_is_the_one_that_we_ship() -> None:
    [block] = [
        each for each in BLOCK.finditer(page("docs/guide.md")) if each["file"] == ".github/workflows/podberth.yml"
    ]
    assert block["body"] == WORKFLOW.read_text(encoding="utf-8")


def test_a_policy_is_turned_on_as_the_page_says(tmp_path: Path) -> None:
    _, _, rest = page("docs/check.md").partition("## Before you turn it on\n")
    items = [*cluster(hgx_h100_8=2), *(each for number in range(30) for each in _workload(number))]
    live = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "live.json").write_text(json.dumps(live), encoding="utf-8")
    environ = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    live_through(rest.partition("\n## ")[0], tmp_path, environ)


def test_a_shipped_policy_that_warns_denies_for_a_share_after_the_steps_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policies").mkdir()
    monkeypatch.chdir(tmp_path / "policies")
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    [step] = re.findall(r"^   ```bash\n(.*?)^   ```$", page("docs/check.md"), re.MULTILINE | re.DOTALL)
    subprocess.run(["bash", "-euo", "pipefail", "-c", step], check=True, env=environ)
    container = {"name": "main", "command": ["sleep", "infinity"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    notebook = _live("v1", "Pod", "notebook", {"nodeName": "n", "containers": [container]})
    (tmp_path / "live.json").write_text(json.dumps(notebook), encoding="utf-8")
    assert main(["check", "--against", "../live.json", "--policies", ".", "--as", "rolled-out", "-o", "json"]) == 1
    [said] = json.loads(capsys.readouterr().out)["live"]["policies"]
    assert (said["policy"], said["validationActions"], said["rolloutPercent"]) == ("idle-guard", ["Deny"], 10)
    assert said["denied"] == 1


def test_native_policies_are_judged_as_the_page_says(tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    session = page("docs/native-policies.md").partition("## What is judged\n")[0]
    live_through(session, tmp_path, environ)


def test_policies_are_converted_as_the_page_says(tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    live_through(page("docs/convert.md").partition("## The command\n")[0], tmp_path, environ)


def test_workloads_of_kueue_and_volcano_are_judged_as_the_page_says(tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    live_through(page("docs/fleets.md"), tmp_path, environ)


def _workload(number: int) -> list[dict[str, Any]]:
    """Return a Deployment, the ReplicaSet that it has made, and a pod of that; every tenth asks for eight GPUs."""
    name, gpus = f"llm-{number:02}", 8 if number % 10 == 9 else 1
    spec = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    selector = {"matchLabels": {"app": name}}
    one = _live("apps/v1", "Deployment", name, {"replicas": 1, "selector": selector, "template": template})
    two = _live("apps/v1", "ReplicaSet", f"{name}-5f", {"replicas": 1, "selector": selector, "template": template}, one)
    return [one, two, _live("v1", "Pod", f"{name}-5f-x", {**spec, "nodeName": "n"}, two)]


def _live(version: str, kind: str, name: str, spec: dict[str, Any], owner: dict[str, Any] | None = None) -> Any:
    metadata: dict[str, Any] = {"name": name, "namespace": "serving", "uid": f"{kind}-{name}"}
    if owner is not None:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
        metadata["ownerReferences"] = [{**reference, **{key: owner["metadata"][key] for key in ("name", "uid")}}]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
