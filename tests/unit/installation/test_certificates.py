from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from podberth.installation.observation import Replica, Unread
from status_scenes import CA, NOW, authority, configuration, replica, report, row, rows, workload

REFUSED = Unread("forbidden", "get pods/proxy in podberth-system")
UNREACHED = Unread("dial tcp: i/o timeout", "get pods/proxy in podberth-system", refused=False)


def trusting(mutating: bytes, validating: bytes) -> dict[str, object]:
    return {
        "configurations": {
            "MutatingWebhookConfiguration": configuration(mutating, mutating),
            "ValidatingWebhookConfiguration": configuration(validating),
        }
    }


def test_what_is_trusted_is_named_with_its_end() -> None:
    assert row("trusted") == ("ok", "caBundle of 11 entries: an authority, expires 2027-01-01 12:00Z (in 335 d)")
    other = authority("another", begun=timedelta(days=1)).pem
    both = CA.pem + other
    assert row("trusted", **trusting(both, both))[1] == (
        "caBundle of 3 entries: another, expires 2027-01-30 12:00Z (in 364 d), and 1 more"
    )


OTHER = authority("another").pem
ENDING = authority("ending", begun=timedelta(days=330)).pem
ENDED = authority("ended", begun=timedelta(days=400)).pem


@pytest.mark.parametrize(
    ("mutating", "validating", "said"),
    [
        (b"", b"", "no authority: MutatingWebhookConfiguration: caBundle: got 0 certificates"),
        (b"nonsense", b"nonsense", "no authority: MutatingWebhookConfiguration: caBundle: got 0 certificates"),
        (CA.pem, b"", "ValidatingWebhookConfiguration: caBundle: got 0 certificates"),
        (CA.pem, OTHER, "caBundle: the two configurations trust different authorities"),
        (ENDING, ENDING, "caBundle: ending expires at "),
        (ENDED, ENDED, "MutatingWebhookConfiguration: caBundle: all its certificates have expired"),
    ],
)
def test_what_is_wrong_with_what_is_trusted(mutating: bytes, validating: bytes, said: str) -> None:
    state, text = row("trusted", **trusting(mutating, validating))
    assert state == "attention"
    assert text.startswith(said)


def test_an_authority_that_was_followed_by_another_may_run_out() -> None:
    both = CA.pem + ENDING
    assert row("trusted", **trusting(both, both))[0] == "ok"


def test_configurations_that_could_not_be_read_are_said() -> None:
    refused = {"MutatingWebhookConfiguration": Unread("forbidden", "get m"), "ValidatingWebhookConfiguration": None}
    assert row("trusted", configurations=refused) == ("unread", "could not be read: forbidden; want get m")


def test_an_authority_that_caBundle_lacks_is_found_by_its_end() -> None:  # noqa: N802 - the field's own name
    stranger = replica("podberth-2", ca_not_after_seconds=(NOW + timedelta(days=9)).timestamp())
    state, text = row("served", replicas=(replica(), stranger))
    assert (state, text.partition(";")[0]) == (
        "attention",
        "signed by an authority that caBundle lacks: podberth-2",
    )


@pytest.mark.parametrize(
    ("shared", "left", "state"),
    [
        (True, timedelta(hours=20), "ok"),
        (True, timedelta(hours=3), "attention"),
        (True, timedelta(hours=-1), "attention"),
        (False, timedelta(hours=57), "ok"),
        (False, timedelta(hours=27), "attention"),
    ],
)
def test_a_certificate_that_nobody_renews_is_warned_of(shared: bool, left: timedelta, state: str) -> None:
    values = {} if shared else {"ca_not_after_seconds": 0.0}
    ending = replica("podberth-2", certificate_not_after_seconds=(NOW + left).timestamp(), **values)
    assert row("served", replicas=(ending,))[0] == state


@pytest.mark.parametrize(
    ("life", "left", "state"),
    [
        ("3h", timedelta(minutes=50), "ok"),
        ("3h", timedelta(minutes=20), "attention"),
        ("7d", timedelta(hours=20), "ok"),
        ("long", timedelta(hours=3), "attention"),
    ],
)
def test_a_certificate_with_a_short_life_is_renewed_late(life: str, left: timedelta, state: str) -> None:
    deployment: Any = deepcopy(workload(readyReplicas=2, updatedReplicas=2))
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = ["serve", f"--leaf-life={life}"]
    ending = replica("podberth-2", certificate_not_after_seconds=(NOW + left).timestamp())
    assert row("served", replicas=(ending,), deployment=deployment)[0] == state


def test_a_replica_that_has_none_yet_is_named() -> None:
    assert row("served", replicas=(replica(certificate_not_after_seconds=0.0),)) == (
        "attention",
        "podberth-1: it has no certificate yet; see its log",
    )


def test_a_rotation_is_no_trouble() -> None:
    spreading = replica()
    assert not isinstance(spreading.metrics, Unread)
    stages = {
        ("podberth_ca_rotation_stage", frozenset({("stage", each)})): float(each == "spreading")
        for each in ("none", "spreading")
    }
    rotating = Replica("podberth-1", {**spreading.metrics, **stages})
    assert row("rotation", replicas=(rotating,)) == ("note", "spreading; see podberth certs status")
    assert report(replicas=(rotating,)).troubles == 0


def test_metrics_that_are_not_reached_are_a_note_and_those_that_are_refused_a_finding() -> None:
    unreached = (replica(), Replica("podberth-2", UNREACHED))
    state, text = row("metrics", replicas=unreached)
    assert (state, text.partition(":")[0]) == ("note", "not reached through the API server, 1 of 2 replicas")
    assert row("served", replicas=unreached)[0] == "ok"
    refused = (Replica("podberth-1", REFUSED),)
    assert row("metrics", replicas=refused)[0] == "unread"
    assert rows("served", replicas=refused) == []
    assert row("served", replicas=()) == ("note", "no replica runs, so the served certificate is unknown")
    assert row("served", replicas=Unread("forbidden", "list pods"))[0] == "unread"
