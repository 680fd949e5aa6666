"""A control plane of these tests' own: what is installed here stands in the way of every other test's pods."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.client import of_files
from controlplane.cluster import ControlPlane
from crds import FOLDER
from pages import ROOT

from .charted import Helm

BASE = ROOT / "manifests" / "base"


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a control plane without nodes, for what `manifests` installs."""
    with ControlPlane.start(tmp_path_factory.mktemp("deployment")) as started:
        yield started
        started.check()


@pytest.fixture(scope="package")
def gpupolicies(control_plane: ControlPlane) -> ControlPlane:
    """Return the control plane once it serves GPUPolicies."""
    control_plane.kubectl("apply", "-f", str(BASE / "gpupolicy-crd.yaml"))
    control_plane.await_crds()
    return control_plane


@pytest.fixture(scope="package")
def installed(gpupolicies: ControlPlane) -> ControlPlane:
    """Return the control plane with podberth installed, its overlay fail-closed; nothing runs its containers."""
    gpupolicies.kubectl("apply", "--validate=strict", "-k", str(BASE.parent / "overlays" / "fail-closed"))
    return gpupolicies


@pytest.fixture(scope="package")
def others(control_plane: ControlPlane) -> ControlPlane:
    """Return the control plane once it has cert-manager's and the Prometheus operator's definitions, of ../shared."""
    files = (*FOLDER.glob("cert-manager/*.yaml"), *FOLDER.glob("prometheus-operator/*.yaml"))
    control_plane.kubectl("create", *of_files(*files))
    control_plane.await_crds()
    return control_plane


@pytest.fixture(scope="package")
def chart(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Return the chart beside the cluster that has an installation by kustomize."""
    return Helm(helm, control_plane, tmp_path_factory.mktemp("helm"))
