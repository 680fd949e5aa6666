"""One cluster for all tests of agents, of their own: what they test is in podberth-system, which other tests delete."""

from collections.abc import Iterator

import pytest

from controlplane.cluster import ControlPlane

from .stage import Stage, prepared


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Yield a cluster with the agent's manifests in force."""
    directory = tmp_path_factory.mktemp("agents")
    with ControlPlane.start(directory / "control-plane") as control_plane:
        yield prepared(control_plane, directory)
        control_plane.check()
