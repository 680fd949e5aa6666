"""The Service that the shipped configurations name, unchanged: replicas on two hosts, replaced and cut off."""

from collections.abc import Iterator

import pytest

from controlplane.cluster import ControlPlane
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE

from .never_lost.scenarios import BEHIND_THE_SERVICE, Scenario, broken, play
from .never_lost.service import SERVICE, Service, service
from .registration import altered

pytestmark = pytest.mark.hosts
# One round is enough: it waits for what has to come of it.
SECONDS = 0.0


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("service") / "stage") as made:
        yield made


@pytest.mark.parametrize("scenario", BEHIND_THE_SERVICE, ids=lambda scenario: str(scenario.name))
def test_a_promise_is_kept(stage: Service, scenario: Scenario[Service]) -> None:
    nothing_is_changed(stage.control_plane)
    assert broken(scenario, play(stage, scenario, SECONDS)) == []
    nothing_is_changed(stage.control_plane)


def nothing_is_changed(plane: ControlPlane) -> None:
    """Compare what the API server holds with what is shipped."""
    assert altered(plane) == set()
    [expected] = [one.document for one in load_documents(SERVICE.read_text(), SERVICE.name)[0]]
    spec = plane.get("service", "podberth", "-n", NAMESPACE)["spec"]
    ports = [{key: port[key] for key in ("name", "port", "targetPort")} for port in spec["ports"]]
    assert {"selector": spec["selector"], "ports": ports} == expected["spec"]
