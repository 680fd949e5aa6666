"""One cluster for all tests of agents, of their own: what they test is in podberth-system, which other tests delete."""

from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import NAMESPACE

from .stage import AGENT_NAMESPACE, PATIENCE_SECONDS, Stage, install


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Yield a cluster with the agent's manifests in force."""
    directory = tmp_path_factory.mktemp("agents")
    with ControlPlane.start(directory / "control-plane") as control_plane:
        yield prepared(control_plane, directory)
        control_plane.check()


def prepared(control_plane: ControlPlane, directory: Path) -> Stage:
    """Apply the agent's manifests and wait until its admission policy judges."""
    install(control_plane, "base/agent.yaml")
    stage = Stage(control_plane, directory)
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "probe-"}}

    with closing(stage.api_of(stage.token_of_no_node())) as api:

        def refused() -> bool:
            answer = api.ask("POST", f"{path}?dryRun=All", probe)
            return answer.status == HTTPStatus.UNPROCESSABLE_ENTITY and b"names no node" in answer.content

        wait_for(refused, timeout_seconds=PATIENCE_SECONDS, what="the admission policy to be in force")
    account = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/default"
    wait_for(
        lambda: stage.api.raw("GET", account)[0] == HTTPStatus.OK,
        timeout_seconds=PATIENCE_SECONDS,
        what="pods to be possible",
    )
    return stage
