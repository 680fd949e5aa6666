"""One name and one tag for each image: of the files that are built, in the manifests, in the chart, and in the docs."""

import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from textwrap import dedent
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from pages import ROOT, page
from podberth.cli.main import COMMANDS as PODBERTH
from podberth.kube.walk import values

from .charted import Helm
from .rendering import COMPONENTS, OVERLAYS, composed, documents, overlay

VERSION = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
NAMES = {"podberth", "podberth-agent"}
IMAGES = {f"{each}:{VERSION}" for each in NAMES}
INSTALL = page("docs/install.md")
# A command of the page: of a block, or one that a table or a sentence has.
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
BLOCKS = [dedent(text) for _, language, text in FENCE.findall(INSTALL) if language in {"sh", "bash"}]
WORDS = FENCE.sub("", INSTALL)
TOOLS = r"(?:cosign|crictl|ctr|helm|k3s|kind|kubeadm|kubectl|make|podberth|skopeo|/var/lib/rancher/rke2/bin/ctr)"
SPANS = re.findall(rf"`({TOOLS} [^`]+)`", WORDS)
# The others are YAML.
INDENTED = re.findall(r"^ {4}((?!- |patches:)\S.*)$", WORDS, re.MULTILINE)
COMMANDS = [*BLOCKS, *SPANS, *INDENTED]
IMAGE = re.compile(r"(?<![\w.-])(?:example\.com/(?:you/)?)?(podberth(?:-agent)?):([\w.-]+)")
ARCHIVE = re.compile(r"\b(podberth(?:-agent)?)-(\d[\w.]*?)\.(?:tar|spdx\.json)\b")


def objects_with(documents: Iterable[Any], key: str) -> Iterator[Any]:
    """Yield each object in documents that has this field."""
    for document in documents:
        yield from (each for _, each in values(document) if isinstance(each, dict) and key in each)


def images(documents: Iterable[Any]) -> set[str]:
    """Return the images of the containers in documents."""
    found = (each["image"] for each in objects_with(documents, "image"))
    return {image for image in found if isinstance(image, str)}


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_overlay_names_the_images_that_are_built(control_plane: ControlPlane, name: str) -> None:
    assert images(overlay(control_plane, name)) == IMAGES


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_names_them(control_plane: ControlPlane, component: str, tmp_path: Any) -> None:
    chosen = str(composed(tmp_path, [component]))
    assert images(documents(control_plane.kubectl("kustomize", chosen).stdout)) == IMAGES


def test_the_chart_names_them(chart: Helm) -> None:
    rendered = chart.render("controller.enabled=true", "audit.enabled=true")
    assert images(rendered) == IMAGES


def test_every_image_and_archive_of_the_docs_is_of_this_version() -> None:
    for file in ("docs/install.md", "docs/troubleshooting.md", "docs/upgrade.md", "README.md"):
        found = {*IMAGE.findall(page(file)), *ARCHIVE.findall(page(file))}
        assert {version for _, version in found} <= {VERSION}, file
    assert {name for name, _ in IMAGE.findall(INSTALL)} == {name for name, _ in ARCHIVE.findall(INSTALL)} == NAMES


def test_every_command_that_takes_an_image_takes_one_that_is_built() -> None:
    taken = [each for each in COMMANDS if re.search(r"\b(load|import|copy)\b", each)]
    assert len(taken) == 9, taken
    for command in taken:
        assert {name for name, _ in ARCHIVE.findall(command)} <= NAMES
        assert ARCHIVE.search(command), command


@pytest.mark.parametrize("tool", ["kind load", "k3s ctr", "/var/lib/rancher/rke2/bin/ctr", "ctr --namespace"])
def test_every_kind_of_node_gets_both_archives(tool: str) -> None:
    taken = [each for each in COMMANDS if each.startswith(tool)]
    assert {name for each in taken for name, _ in ARCHIVE.findall(each)} == NAMES
    assert len({ARCHIVE.sub("", each) for each in taken}) == 1, "they differ in the archive alone"


def test_every_command_of_podberth_is_one() -> None:
    own = [re.match(r"(?:kubectl )?podberth ([a-z]+)", each) for each in [*SPANS, *INDENTED]]
    named = {found[1] for found in own if found} | set(re.findall(r"^podberth ([a-z]+)", "".join(BLOCKS), re.MULTILINE))
    assert {"status", "policies"} < named <= {each.name for each in PODBERTH}


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_every_command_is_one_that_a_shell_reads(command: str) -> None:
    done = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_the_pull_secret_reaches_every_pod(control_plane: ControlPlane, tmp_path: Any) -> None:
    [patches] = re.findall(r"^```yaml\n(patches:.*?imagePullSecrets.*?)^```$", INSTALL, re.MULTILINE | re.DOTALL)
    chosen = composed(tmp_path, ["self-signed", "controller", "audit"])
    file = chosen / "kustomization.yaml"
    file.write_text(file.read_text() + patches)
    built = documents(control_plane.kubectl("kustomize", str(chosen)).stdout)
    accounts = {each["metadata"]["name"]: each for each in built if each["kind"] == "ServiceAccount"}
    used = {each["serviceAccountName"] for each in objects_with(built, "containers")}
    assert used
    assert all(accounts[each]["imagePullSecrets"] == [{"name": "podberth-registry"}] for each in used)
