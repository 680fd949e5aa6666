"""ci/github/release.yml: it builds here what it builds there, and publishes to programs that keep their arguments."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT
from pipelines import read

from .built import NAMES, VERSION, Image

RELEASE = ROOT / "ci" / "github" / "release.yml"
TAG = f"v{VERSION}"
# Each keeps its arguments, and says what is read of it.
KEPT = """#!/bin/sh
echo "$(basename "$0") $*" >> "$KEPT"
while [ $# -gt 1 ]; do [ "$1" = --digestfile ] && echo sha256:part > "$2"; shift; done
echo "Digest: sha256:chart"
"""


def steps(job: str) -> dict[str, str]:
    """Return the scripts of a job, by name."""
    return {each["name"]: each["run"] for each in read(RELEASE)["jobs"][job]["steps"] if "run" in each}


def run(script: str, folder: Path, **environment: str) -> None:
    """Run a step as GitHub does; it must succeed."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    own = {**os.environ, "GITHUB_REF_NAME": TAG, **environment}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


def test_it_is_valid_by_its_published_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(RELEASE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("job", ["images", "package", "publish"])
def test_no_value_is_pasted_into_a_script(job: str) -> None:
    assert not [script for script in steps(job).values() if "${{" in script]


def test_the_images_of_a_release_are_the_same_byte_for_byte(images: Mapping[str, Image], tmp_path: Path) -> None:
    install, *others = steps("images").values()
    assert "apt-get install" in install
    for script in others:
        run(script, ROOT, DIST=str(tmp_path))
    for name in NAMES:
        built = tmp_path / f"{name}-{VERSION}.tar"
        assert built.read_bytes() == images[name].archive.read_bytes(), name
        assert built.with_suffix(".spdx.json").read_bytes() == images[name].spdx.read_bytes(), name


def test_package_and_chart_are_built(helm: Path, tmp_path: Path) -> None:
    for script in steps("package").values():
        run(script, ROOT, DIST=str(tmp_path), PATH=f"{helm.parent}:{os.environ['PATH']}")
    built = {str(each.relative_to(tmp_path)) for each in tmp_path.glob("*/*")}
    wheel, sdist = f"python/podberth-{VERSION}-py3-none-any.whl", f"python/podberth-{VERSION}.tar.gz"
    assert built == {wheel, sdist, f"chart/podberth-{VERSION}.tgz"}


def test_what_is_pushed_is_signed_by_its_digest(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("docker", "skopeo", "cosign", "helm", "gh"):
        (programs / name).write_text(KEPT)
        (programs / name).chmod(0o755)
    _artifacts(tmp_path)
    kept = tmp_path / "kept"
    environment = {"REGISTRY": "example.com/you", "REGISTRY_USER": "u", "REGISTRY_PASSWORD": "p", "KEPT": str(kept)}
    for script in steps("publish").values():
        path = f"{programs}:{os.environ['PATH']}"
        run(script, tmp_path, **environment, PATH=path, GITHUB_REPOSITORY="you/podberth")
    lines = kept.read_text().splitlines()
    assert lines[0] == "docker login example.com --username u --password-stdin"
    for name in NAMES:
        image = f"example.com/you/{name}"
        for architecture in ("amd64", "arm64"):
            file = f"images-{architecture}/{name}-{VERSION}"
            assert (
                f"skopeo copy --digestfile part oci-archive:{file}.tar docker://{image}:{VERSION}-{architecture}"
                in lines
            )
            attested = f"cosign attest --yes --type spdxjson --predicate {file}.spdx.json {image}@sha256:part"
            assert attested in lines
        assert any(each.startswith(f"cosign sign --yes --recursive {image}@sha256:") for each in lines)
    assert "cosign sign --yes example.com/you/charts/podberth@sha256:chart" in lines
    assert lines[-1].startswith(f"gh release create {TAG} ")


def _artifacts(folder: Path) -> None:
    """Lay out what the other jobs leave, as actions/download-artifact does: a folder for each, by name."""
    uploads: list[dict[str, Any]] = [
        each["with"]
        for job in ("images", "package")
        for each in read(RELEASE)["jobs"][job]["steps"]
        if each.get("uses", "").startswith("actions/upload-artifact@")
    ]
    assert [each["name"] for each in uploads] == ["images-${{ matrix.architecture }}", "package"]
    for each in ("images-amd64", "images-arm64", "package/chart", "package/python"):
        (folder / each).mkdir(parents=True)
    (folder / "package" / "chart" / f"podberth-{VERSION}.tgz").touch()
