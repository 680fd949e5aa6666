"""The Service that the shipped configurations name, unchanged: replicas on two hosts, replaced and cut off."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE

from .never_lost.hosts import lacking
from .never_lost.local import local
from .never_lost.scenarios import BEHIND_THE_SERVICE, STANDS_STILL, Scenario, broken, play
from .never_lost.service import SERVICE, Service, service
from .registration import altered

# One round is enough: it waits for what has to come of it.
SECONDS = 0.0


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service | str]:
    """Yield the Service with two hosts, or why there can be none."""
    directory = tmp_path_factory.mktemp("service")
    if lack := lacking(directory):
        yield lack
        return
    with service(directory / "stage") as made:
        yield made


@pytest.mark.parametrize("scenario", BEHIND_THE_SERVICE, ids=lambda scenario: str(scenario.name))
def test_a_promise_is_kept(stage: Service | str, scenario: Scenario[Service]) -> None:
    if isinstance(stage, str):
        return  # what stands for it is below
    nothing_is_changed(stage.control_plane)
    assert broken(scenario, play(stage, scenario, SECONDS)) == []
    nothing_is_changed(stage.control_plane)


def test_without_hosts_a_url_stands_for_the_service(
    stage: Service | str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(stage, str):
        with capsys.disabled():
            sys.stdout.write(f"\nno network namespaces here ({stage}): a URL in the place of the Service\n")
        with local(tmp_path / "local") as still:
            assert broken(STANDS_STILL, play(still, STANDS_STILL, SECONDS)) == []


def nothing_is_changed(plane: ControlPlane) -> None:
    """Compare what the API server holds with what is shipped."""
    assert altered(plane) == set()
    [expected] = [one.document for one in load_documents(SERVICE.read_text(), SERVICE.name)[0]]
    spec = plane.get("service", "podberth", "-n", NAMESPACE)["spec"]
    ports = [{key: port[key] for key in ("name", "port", "targetPort")} for port in spec["ports"]]
    assert {"selector": spec["selector"], "ports": ports} == expected["spec"]
