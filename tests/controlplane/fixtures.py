"""The pytest fixtures of the control plane; tests/conftest.py makes them known to all tests by importing them.

PYTEST_DONT_REWRITE: there is no assert here, and without this word pytest warns where a conftest.py has
imported the module before a test module names it in `pytest_plugins`.
"""

import os
from collections.abc import Iterator

import pytest

from .client import EXISTING_VARIABLE, Cluster, external
from .cluster import ControlPlane


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a running control plane without nodes, one for the session; the executables are built on first use.

    Tests that share it work in namespaces of their own (`add_namespace`), and delete the nodes they add.
    """
    with ControlPlane.start(tmp_path_factory.mktemp("control-plane")) as started:
        yield started
        started.check()


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Return the cluster that PODBERTH_TEST_KUBECONFIG names, else the `control_plane`.

    For tests that need only kubectl, and would hold on any cluster.
    """
    if kubeconfig := os.environ.get(EXISTING_VARIABLE):
        return external(kubeconfig, tmp_path_factory.mktemp("existing-cluster"))
    started: ControlPlane = request.getfixturevalue("control_plane")
    return started
