"""The Service that the shipped configurations name, unchanged: two replicas on two hosts, one of which is cut off."""

import sys
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE

from .never_lost.hosts import lacking
from .never_lost.local import local
from .never_lost.scenarios import CUT_OFF, STANDS_STILL, broken, play
from .never_lost.service import SERVICE, service
from .registration import altered

# One round is enough: it waits for what has to come of it.
SECONDS = 0.0


def test_a_promise_is_kept_when_a_host_is_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if lack := lacking(tmp_path):
        with capsys.disabled():
            sys.stdout.write(f"\nno network namespaces here ({lack}): a URL in the place of the Service\n")
        with local(tmp_path / "local") as still:
            assert broken(STANDS_STILL, play(still, STANDS_STILL, SECONDS)) == []
        return
    with service(tmp_path / "service") as stage:
        nothing_is_changed(stage.control_plane)
        assert broken(CUT_OFF, play(stage, CUT_OFF, SECONDS)) == []
        nothing_is_changed(stage.control_plane)


def nothing_is_changed(plane: ControlPlane) -> None:
    """Compare what the API server holds with what is shipped."""
    assert altered(plane) == set()
    [expected] = [one.document for one in load_documents(SERVICE.read_text(), SERVICE.name)[0]]
    spec = plane.get("service", "podberth", "-n", NAMESPACE)["spec"]
    ports = [{key: port[key] for key in ("name", "port", "targetPort")} for port in spec["ports"]]
    assert {"selector": spec["selector"], "ports": ports} == expected["spec"]
