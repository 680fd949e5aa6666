"""Whether podberth requires client certificates, by its replicas' metrics or by the Deployment's flags."""

from typing import Any

import pytest

from podberth.installation.observation import Unread, option
from status_scenes import replica, row, rows, workload

OPEN = "any client in the cluster's network is answered: no client certificate is required"
GUARDED = ("ok", "only clients with a client certificate are answered")
REFUSED = Unread("forbidden", "get deployments.apps in podberth-system")


def _deployed(**container: Any) -> dict[str, Any]:
    deployment = workload(readyReplicas=2, updatedReplicas=2)
    deployment["spec"]["template"]["spec"]["containers"][0] |= container
    return deployment


def test_replicas_that_want_a_certificate_are_well() -> None:
    assert row("callers") == GUARDED


def test_where_anybody_may_call_it_is_said_and_is_no_trouble() -> None:
    state, text = row("callers", replicas=(replica(client_certificate_required=0.0),))
    assert state == "note"
    assert text.startswith(OPEN)
    assert "docs/install-reference.md" in text
    [found] = rows("callers", replicas=(replica(client_certificate_required=0.0),))
    assert found.facts == {"anybody": True}


def test_replicas_that_differ_are_named() -> None:
    both = (replica(), replica("podberth-2", client_certificate_required=0.0))
    state, text = row("callers", replicas=both)
    assert (state, "podberth-2" in text, "podberth-1" in text) == ("attention", True, False)


@pytest.mark.parametrize(
    "container",
    [
        {"args": ["serve", "--client-ca", "/ca.crt"]},
        {"args": ["serve", "--client-ca=/ca.crt"]},
        {"env": [{"name": "PODBERTH_CLIENT_CA", "value": "/ca.crt"}]},
    ],
    ids=["flag", "flag with =", "variable"],
)
def test_without_metrics_the_deployment_says_it(container: dict[str, Any]) -> None:
    assert row("callers", replicas=(), deployment=_deployed(**container)) == GUARDED
    assert row("callers", replicas=(), deployment=_deployed())[0] == "note"


def test_what_nobody_says_is_not_known() -> None:
    assert row("callers", replicas=(), deployment=REFUSED)[0] == "unread"
    assert row("callers", deployment=REFUSED) == GUARDED
    assert rows("callers", replicas=(), deployment=None) == []


def test_an_option_is_a_flag_or_a_variable() -> None:
    assert option(_deployed(args=["serve", "--client-ca", "x"], env=[]), "client-ca") == "x"
    assert option(_deployed(), "topology") == "cluster"
    assert option(None, "topology") == option(REFUSED, "topology") == ""
