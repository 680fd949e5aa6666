"""What is in the images: what the locks and Debian say, listed, small, and the same bytes at every build."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from pages import ROOT
from podberth.kube.documents import load_documents

from .built import NAMES, VERSION, Image

LOCKS = {"podberth": "cluster", "podberth-agent": "agent"}
LARGEST_BYTES = 120 * 1000 * 1000


@pytest.fixture(params=NAMES)
def image(request: pytest.FixtureRequest, images: Mapping[str, Image]) -> Image:
    """Return each image."""
    return images[request.param]


def test_it_has_podberth_and_what_its_lock_says(image: Image, tmp_path: Path) -> None:
    [name] = [each for each in NAMES if image.archive.name == f"{each}-{VERSION}.tar"]
    site = next(image.root.glob("opt/podberth/lib/python3.*/site-packages"))
    found = {each.name.removesuffix(".dist-info").lower().replace("_", "-") for each in site.glob("*.dist-info")}
    lock = (ROOT / "requirements" / f"{LOCKS[name]}.lock").read_text()
    locked = {line.split()[0].replace("==", "-") for line in lock.splitlines() if "==" in line and line[0].isalnum()}
    assert found == {*locked, f"podberth-{VERSION}"}
    assert image.run(tmp_path, "version").stdout.split()[-1] == VERSION


def test_its_list_is_valid_spdx_and_names_every_package_with_its_hash(image: Image) -> None:
    document = parse_file(str(image.spdx))
    assert [each.validation_message for each in validate_full_spdx_document(document)] == []
    described, *held = document.packages
    assert described.version == VERSION
    listed = {each.name for each in held}
    assert {each.name for each in (image.root / "var/lib/dpkg/status.d").iterdir()} <= listed
    site = next(image.root.glob("opt/podberth/lib/python3.*/site-packages"))
    wheels = {each.name.rsplit("-", 2)[0].lower().replace("_", "-") for each in site.glob("*.dist-info")}
    assert wheels <= listed
    assert all(each.version and each.checksums for each in held)


def test_it_is_small(image: Image) -> None:
    assert image.archive.stat().st_size <= LARGEST_BYTES


def test_nobody_can_write_in_it_or_become_root(image: Image) -> None:
    for path in image.root.rglob("*"):
        if not path.is_symlink() and path != image.root / "tmp" and path.parent != image.root / "var":
            mode = path.lstat().st_mode
            assert not mode & 0o6022, path
    assert not list(image.root.glob("**/pip")), "nothing in the image installs"
    assert not [each for each in ("sh", "bash", "dash") if (image.root / "usr/bin" / each).exists()]


def test_its_command_and_its_user_are_those_of_the_manifests(images: Mapping[str, Image]) -> None:
    for name, workload in {"podberth": "deployment", "podberth-agent": "daemonset"}.items():
        pod, config = _pod(workload), images[name].config["config"]
        context = pod["securityContext"]
        assert config["User"] == f"{context['runAsUser']}:{context['runAsGroup']}"
        assert config["Entrypoint"] == ["podberth"]
        assert config["Cmd"] == pod["containers"][0]["args"]


def test_the_shipped_policies_are_where_the_deployment_looks_for_them(
    images: Mapping[str, Image], tmp_path: Path
) -> None:
    image = images["podberth"]
    env = {each["name"]: each["value"] for each in _pod("deployment")["containers"][0]["env"]}
    done = image.run(tmp_path, "lint", env["PODBERTH_POLICIES"], "--level", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    places = image.root / env["PODBERTH_POLICIES"].lstrip("/")
    assert {each.name for each in (places / "shipped").iterdir()} == {
        each.name for each in (ROOT / "policies").iterdir()
    }
    mounted = [each["mountPath"] for each in _pod("deployment")["containers"][0]["volumeMounts"]]
    assert str(places / "own").removeprefix(str(image.root)) in mounted
    assert list((places / "own").iterdir()) == []


def test_another_reader_of_archives_takes_it(image: Image, skopeo: Path, tmp_path: Path) -> None:
    source = f"oci-archive:{image.archive}"
    read = [str(skopeo), "--tmpdir", str(tmp_path), "inspect", source]
    said = json.loads(subprocess.run(read, capture_output=True, text=True, check=True).stdout)
    assert said["Digest"] == image.entry["digest"]
    # Into an archive as `docker save` writes one: every layer is unpacked and packed again.
    copy = [
        str(skopeo),
        "--insecure-policy",
        "--tmpdir",
        str(tmp_path),
        "copy",
        source,
        f"docker-archive:{tmp_path}/it:it",
    ]
    subprocess.run(copy, capture_output=True, check=True)


def _pod(name: str) -> Any:
    [document] = load_documents((ROOT / "manifests" / "base" / f"{name}.yaml").read_text(), name)[0]
    return document.document["spec"]["template"]["spec"]
