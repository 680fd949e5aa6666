"""docs/install.md: its commands work in their order; the tables of install-reference.md are the files."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from pages import ROOT, page, rows, spans
from podberth.kube.documents import load_documents

from .operated import blocks, typed
from .rendering import COMPONENTS, MANIFESTS, OVERLAYS, documents, only

INSTALL, REFERENCE = page("docs/install.md"), page("docs/install-reference.md")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", INSTALL, re.MULTILINE | re.DOTALL)


def table(first: str) -> dict[str, list[str]]:
    """Return the rows of the table whose first column is so named."""
    _, _, rest = f"{INSTALL}{REFERENCE}".partition(f"\n| {first} |")
    found = rows(rest.partition("\n\n")[0])
    return {key: cells for key, cells in found.items() if not key.startswith("---")}


@pytest.fixture(scope="module")
def fresh(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a cluster with a machine, and nothing of podberth's."""
    del control_plane  # marks the test as one that needs one
    with ControlPlane.start(tmp_path_factory.mktemp("docs")) as started:
        started.add_nodes([gpu_node("docs", labels={})])
        yield started


def test_the_commands_work_in_their_order(fresh: ControlPlane, helm: Path) -> None:
    assert len(BLOCKS) == 7
    for block in BLOCKS:
        typed(fresh, block, Path(sys.executable).parent, helm.parent)
    assert fresh.get("mutatingwebhookconfiguration", "podberth")


def test_both_namespaces_get_the_secret_of_a_registry(fresh: ControlPlane) -> None:
    fresh.kubectl("delete", "namespace", "--ignore-not-found", "podberth-system", "podberth-agent")
    typed(fresh, f"PASSWORD=of-a-test\n{blocks(INSTALL, '### With a registry', 'bash')[1]}")
    for namespace in ("podberth-system", "podberth-agent"):
        secret = fresh.get("secret", "podberth-registry", "-n", namespace)
        assert secret["type"] == "kubernetes.io/dockerconfigjson"


def test_the_kustomization_of_ones_own_builds(control_plane: ControlPlane, tmp_path: Path) -> None:
    block, _ = re.findall(r"^```yaml\n(resources: \[.*?)^```$", INSTALL, re.MULTILINE | re.DOTALL)
    (tmp_path / "kustomization.yaml").write_text(block)
    for name in ("manifests", "certs"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    built = documents(control_plane.kubectl("kustomize", str(tmp_path)).stdout)
    [container] = only(built, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/podberth:0.1.0"
    assert {"Certificate", "ServiceMonitor"} <= {each["kind"] for each in built}


def test_every_overlay_and_component_has_a_row() -> None:
    assert tuple(sorted(table("overlay"))) == OVERLAYS
    assert tuple(sorted(table("component"))) == COMPONENTS


def test_every_file_of_the_base_has_a_row() -> None:
    listed = {name for cells in table("file of `manifests/base`").values() for name in spans(cells[0])}
    assert listed == {each.name for each in (MANIFESTS / "base").glob("*.yaml")} - {"kustomization.yaml"}


def test_every_value_has_a_row_with_its_default() -> None:
    [values] = load_documents((MANIFESTS / "chart" / "values.yaml").read_text(), "values.yaml")[0]
    rows = table("value")
    wanted = dict(_leaves(values.document))
    assert rows.keys() == wanted.keys()
    for name, value in wanted.items():
        shown = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
        assert rows[name][1] in ({"none", "the chart's `appVersion`"} if value == "" else {f"`{shown}`"}), name


def _leaves(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
