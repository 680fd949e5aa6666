from typing import Any

from podberth.server.state import ServingState


def test_every_reason_not_to_be_ready_is_reported() -> None:
    assert ServingState(draining=True, unlisted=lambda: ["nodes", "leases"]).unready() == [
        "policies and topology are not loaded",
        "nodes of the cluster are not listed",
        "leases of the cluster are not listed",
        "the certificate is not loaded",
        "the port is not open",
        "draining",
    ]


def test_ready_is_all_of_it() -> None:
    snapshot: Any = object()
    assert ServingState(snapshot=snapshot, certificate=True, listening=True).unready() == []
