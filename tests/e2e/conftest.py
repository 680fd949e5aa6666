"""The end-to-end fixtures: one cluster of simulated machines with podberth in front of it, and a namespace per test."""

import itertools
import re
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from crds import crds

from . import fleet
from .operator_crds import install
from .podberth_process import Podberth, parse_metrics
from .registration import Registration
from .space import Space

_COUNTER = itertools.count()


@pytest.fixture(scope="package")
def snapshot(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the snapshot file of a control plane that has the fleet."""
    fleet.settle(control_plane)
    yield fleet.snapshot(control_plane, tmp_path_factory.mktemp("snapshot") / "cluster.yaml")
    fleet.abandon(control_plane)


@pytest.fixture(scope="package")
def podberth(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podberth]:
    """Yield podberth with the shipped policies, running; a test that stops it starts it again."""
    with Podberth(tmp_path_factory.mktemp("podberth"), snapshot) as running:
        yield running


@pytest.fixture(scope="package")
def registration(control_plane: ControlPlane, podberth: Podberth) -> Iterator[Registration]:
    """Yield the shipped webhook configurations in force; whatever the tests did, no patch of podberth's was refused."""
    registration = Registration(control_plane)
    registration.put(podberth.endpoint)
    yield registration
    registration.remove()
    assert not refused_patches(control_plane)


@pytest.fixture(scope="package")
def served(control_plane: ControlPlane) -> set[tuple[str, str]]:
    """Install the operators' CRDs, which are in ../shared; return the apiVersions and kinds that they serve.

    They stay until the control plane ends: to delete them takes it as long as a dozen of these tests.
    """
    found: dict[str, dict[str, Any]] = {}
    for _, crd in crds():
        # Conversion webhooks lead to operators that do not run here.
        crd["spec"].pop("conversion", None)
        first = found.setdefault(crd["metadata"]["name"], crd)
        if first is not crd:  # MPIJob: an older version is Training Operator's, a newer one MPI Operator's
            first["spec"]["versions"] += [{**each, "storage": False} for each in crd["spec"]["versions"]]
    install(control_plane, found)
    wait_for(partial(_describes_all_kinds, control_plane), timeout_seconds=300.0, what="the schema of all kinds")
    return {
        (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
        for spec in (crd["spec"] for crd in found.values())
        for version in spec["versions"]
    }


def _describes_all_kinds(control_plane: ControlPlane) -> bool:
    """Return whether the schema that kubectl reads before it creates anything is there: kubectl waits 32 s for it."""
    try:
        return control_plane.raw("GET", "/openapi/v2")[0] == HTTPStatus.OK
    except TimeoutError:
        return False


@pytest.fixture
def space(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Space]:
    """Yield a namespace of the test's own, guarded by podberth."""
    request.getfixturevalue("registration")
    slug = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:48].strip("-")
    space = Space(control_plane, f"{slug}-{next(_COUNTER)}")
    yield space
    space.remove()


def refused_patches(control_plane: ControlPlane) -> dict[str, float]:
    """Return the apiserver's own count of answers of podberth's that it could not use, other than for want of one.

    apiserver_internal_error is a patch that does not apply or makes no object of the kind
    (apiserver pkg/admission/metrics).
    """
    samples = parse_metrics(control_plane.raw("GET", "/metrics")[1].decode())
    refused = ("apiserver_admission_webhook_rejection_count{", 'error_type="apiserver_internal_error"', "podberth")
    return {name: value for name, value in samples.items() if all(part in name for part in refused)}
