"""The images' steps, run: what they install works, is what the locks say, and can run as the manifests want it to."""

import json
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT
from podberth.kube.documents import load_documents

from .dockerfile import Stage, build


@pytest.fixture(scope="module", params=["cluster", "agent"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Stage]:
    """Yield each image, and for what it is."""
    return request.param, build(tmp_path_factory.mktemp(request.param), {"FOR": request.param})


def test_the_image_has_podberth_and_what_its_lock_says(image: tuple[str, Stage]) -> None:
    kind, stage = image
    names = "[each.name + '==' + each.version for each in importlib.metadata.distributions()]"
    done = stage.run(f'/opt/podberth/bin/python -I -c "import importlib.metadata, json; print(json.dumps({names}))"')
    assert done.stderr == ""
    found = {each.lower().replace("_", "-") for each in json.loads(done.stdout)}
    lock = (ROOT / "requirements" / f"{kind}.lock").read_text()
    locked = {line.split()[0] for line in lock.splitlines() if "==" in line and not line.startswith((" ", "#"))}
    # What the lock has for other systems than this one is not here.
    assert {each for each in found if not each.startswith("podberth==")} <= locked
    bare = {each.partition("==")[0] for each in found}
    assert bare >= {"podberth", "cel-expr-python", "aiohttp", {"cluster": "kubernetes", "agent": "grpcio"}[kind]}
    assert not bare & {"pip", "setuptools", "pytest", {"cluster": "grpcio", "agent": "kubernetes"}[kind]}


def test_its_command_is_podberth_and_nobody_is_root(image: tuple[str, Stage]) -> None:
    _, stage = image
    [program] = stage.entrypoint
    done = stage.run(f"{program} version")
    assert done.returncode == 0, done.stderr
    deployment, daemonset = (_pod(name) for name in ("deployment", "daemonset"))
    assert stage.user == "65532:65532"
    for pod in (deployment, daemonset):
        context = pod["securityContext"]
        assert f"{context['runAsUser']}:{context['runAsGroup']}" == stage.user
    assert stage.command == deployment["containers"][0]["args"]


def test_the_shipped_policies_are_where_the_deployment_looks_for_them(image: tuple[str, Stage]) -> None:
    _, stage = image
    env = {each["name"]: each["value"] for each in _pod("deployment")["containers"][0]["env"]}
    done = stage.run(f"podberth lint {env['PODBERTH_POLICIES']} --level error")
    assert done.returncode == 0, done.stdout + done.stderr
    shipped = stage.place(env["PODBERTH_POLICIES"]) / "shipped"
    assert {each.name for each in shipped.iterdir()} == {each.name for each in (ROOT / "policies").iterdir()}


def test_the_agent_runs_from_its_image(image: tuple[str, Stage]) -> None:
    kind, stage = image
    if kind == "agent":
        done = stage.run("podberth agent --print --once --simulate gb200-tray --node tray-1")
        assert json.loads(done.stdout)["metadata"]["name"] == "tray-1"
    else:
        assert "GPUPolicy" in stage.run("podberth policies schema").stdout


def _pod(name: str) -> Any:
    [document] = load_documents((ROOT / "manifests" / "base" / f"{name}.yaml").read_text(), name)[0]
    return document.document["spec"]["template"]["spec"]


def test_what_is_copied_is_what_is_not_ignored() -> None:
    lines = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    copied = {word for line in lines if not line[1].startswith("--from=") for word in line[1:-1]}
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == kept
    assert all(Path(ROOT / each).exists() for each in kept)
