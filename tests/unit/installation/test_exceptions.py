"""The line of `podberth status` about exceptions."""

from datetime import timedelta
from typing import Any

from podberth.installation.exceptions import exceptions
from podberth.installation.observation import Unread
from podberth.installation.report import judge
from status_scenes import NOW, observed


def stored(name: str, days: float, **fields: Any) -> dict[str, Any]:
    """Return an exception of a list that was made a hundred days ago and ends in so many."""
    spec = {"policies": ["a"], "namespaces": ["n"], "reason": "r", "requestedBy": "t"}
    spec["expiresAt"] = (NOW + timedelta(days=days)).isoformat()
    made = (NOW - timedelta(days=100)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"name": name, "creationTimestamp": made}, "spec": {**spec, **fields}}


def said(*objects: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.state, each.text) for each in exceptions(observed(exceptions=objects))]


def test_nothing_is_said_where_there_are_none() -> None:
    assert said() == []


def test_those_in_force_are_counted_and_those_that_end_soon_named() -> None:
    assert said(stored("a", 8), stored("b", 7)) == [("ok", "2 in force, ending within 7 days: b")]


def test_those_without_effect_need_attention() -> None:
    objects = (stored("a", 0), stored("b", 267), stored("c", 1, expiresAt="soon"))
    [(state, text)] = said(*objects)
    assert state == "attention"
    assert text.split(", ") == [
        "0 in force",
        "expired",
        "without effect: a; delete them",
        "longer than a year",
        "without effect: b",
        "broken",
        "without effect: c",
    ]


def test_the_line_is_in_the_section_of_policies() -> None:
    report = judge(observed(exceptions=(stored("a", 8),)))
    assert report.sections["policies"][-1].name == "exceptions"


def test_that_they_cannot_be_read_is_said() -> None:
    hidden = Unread("forbidden", "list gpupolicyexceptions.podberth.io", refused=True)
    [row] = exceptions(observed(exceptions=hidden))
    assert row.state == "unread"
