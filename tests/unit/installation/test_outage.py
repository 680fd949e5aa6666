"""What status says about an outage: whether pods are refused meanwhile, and which were let through."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from podberth.installation.observation import LetThrough, Unread
from status_scenes import CA, NOW, configuration, row, rows

KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
CLOSED = {kind: configuration(CA.pem, CA.pem) for kind in KINDS}


def changed(**fields: Any) -> Any:
    """Return the two configurations with other fields in their first entries; ``both`` False: in the first alone."""
    both = fields.pop("both", True)
    made = deepcopy(CLOSED)
    for kind in KINDS if both else KINDS[:1]:
        made[kind]["webhooks"][0] |= fields
    return made


def test_as_installed_nothing_is_refused_and_that_is_no_fault() -> None:
    state, text = row("fail closed", configurations=changed(failurePolicy="Ignore"))
    assert state == "note"
    assert text.startswith("no: while podberth is away, pods are created as they are written")


def test_with_fail_closed_it_says_who_is_refused() -> None:
    assert row("fail closed", configurations=CLOSED) == (
        "ok",
        "yes: while podberth is away, new pods that ask for accelerators are refused",
    )


def test_updates_that_are_refused_are_said_too() -> None:
    configurations = deepcopy(CLOSED)
    update = {**configurations[KINDS[1]]["webhooks"][0], "name": "pods-update", "rules": [{"operations": ["UPDATE"]}]}
    configurations[KINDS[1]]["webhooks"].append(update)
    assert row("fail closed", configurations=configurations)[1].endswith("; so are updates of their spec")


def test_updates_that_are_refused_alone_want_attention() -> None:
    state, text = row("fail closed", configurations=changed(rules=[{"operations": ["UPDATE"]}]))
    assert state == "attention"
    assert text.startswith("updates alone: while podberth is away, pods are created as they are written")


@pytest.mark.parametrize("conditions", [[], [{"name": "gpu-or-gang"}]])
def test_an_entry_that_refuses_others_too_wants_attention(conditions: list[Any]) -> None:
    state, text = row("fail closed", configurations=changed(matchConditions=conditions))
    assert state == "attention"
    assert "what asks for no accelerator is refused, too" in text


def test_one_half_alone_wants_attention() -> None:
    [found] = rows("fail closed", configurations=changed(failurePolicy="Ignore", both=False))
    assert found.state == "attention"
    assert "not in the MutatingWebhookConfiguration" in found.text
    assert found.facts["entries"] == ("entry-0",)


def test_without_configurations_nothing_is_said_about_it() -> None:
    assert rows("fail closed", configurations=dict.fromkeys(KINDS)) == []


def test_pods_that_were_let_through_are_named_with_the_policies_that_would_have_acted() -> None:
    found = LetThrough(
        since=NOW - timedelta(days=1), changed=("team-a/x", "team-a/y"), denied=("team-a/y",), policies=("placement",)
    )
    [line] = rows("let through", let_through=found)
    assert line.state == "attention"
    assert line.text == (
        "2 pods since 2026-01-30 12:00Z: team-a/x, team-a/y; policies of now: placement; create them again "
        "(docs/status.md, Let through)"
    )
    assert line.facts["pods"] == ("team-a/x", "team-a/y")


def test_where_none_was_let_through_it_says_since_when() -> None:
    state, text = row("let through", let_through=LetThrough(since=NOW, truncated=True))
    assert (state, text) == (
        "ok",
        "no pod that asks for accelerators, since 2026-01-31 12:00Z; there are more pods than were looked at",
    )


def test_where_pods_may_not_be_listed_it_says_so() -> None:
    state, text = row("let through", let_through=Unread("forbidden", "list pods"))
    assert (state, text) == ("unread", "could not be read: forbidden; want list pods")
