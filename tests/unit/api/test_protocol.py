"""The meaning of the API server's answers and events, as tables; no request is sent here."""

import json
from typing import Any

import pytest

from podberth.api.protocol import (
    Bookmark,
    Drop,
    Event,
    Lines,
    Pace,
    Page,
    Put,
    Refusals,
    Timing,
    read_event,
    read_object,
    read_page,
    refusal,
)
from podberth.errors import ClusterError
from protobuf_answers import sent

TIMING = Timing(first_wait_seconds=1, longest_wait_seconds=8, least_wait_seconds=0.1, settled_seconds=10)


def thing(name: str = "a", version: str = "7") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def line(verb: str, document: object) -> bytes:
    return json.dumps({"type": verb, "object": document}).encode()


@pytest.mark.parametrize(
    ("verb", "event"),
    [
        ("ADDED", Put("a", "7", thing())),
        ("MODIFIED", Put("a", "7", thing())),
        ("DELETED", Drop("a", "7")),
        ("BOOKMARK", Bookmark("7")),
    ],
)
def test_an_event_has_the_object(verb: str, event: Event) -> None:
    assert read_event(line(verb, thing()), "watch of nodes", "6") == event


def test_a_bookmark_has_no_name() -> None:
    bookmark = line("BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": "9"}})
    assert read_event(bookmark, "watch of nodes", "9") == Bookmark("9")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        line("ADDED", thing())[:-9],
        line("ADDED", None),
        line("ADDED", {"metadata": {"resourceVersion": "7"}}),
        line("ADDED", {"metadata": {"name": "a"}}),
        line("ADDED", {"metadata": {"name": ["a"], "resourceVersion": "7"}}),
        line("ADDED", {"metadata": {"name": "a", "resourceVersion": 7}}),
        line("BOOKMARK", {"metadata": {"resourceVersion": ""}}),
        line("PATCHED", thing()),
    ],
)
def test_a_line_that_is_no_event_is_garbled(text: bytes) -> None:
    with pytest.raises(
        ClusterError, match=r"^watch of nodes: got '.*', want an object, a list or an event of the API; "
    ) as caught:
        read_event(text, "watch of nodes", "6")
    assert caught.value.reason == "garbled"


@pytest.mark.parametrize("text", [b"<html>", b"[]", b"null", b""])
def test_an_answer_that_is_no_object_is_garbled_and_never_taken_for_none(text: bytes) -> None:
    with pytest.raises(ClusterError, match=r"^GET /version: got ") as caught:
        read_object(text, "GET /version")
    assert caught.value.reason == "garbled"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"code": 410, "reason": "Expired", "message": "too old resource version: 3 (9)"}, "expired"),
        ({"code": 410, "reason": "Gone"}, "expired"),
        ({"reason": "Expired"}, "expired"),
        ({"code": 504, "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}, "expired"),
        ({"code": 504, "reason": "Timeout"}, "failed"),
        ({"code": 500}, "failed"),
        ({"code": 429}, "busy"),
        ({"code": 403, "message": "nodes is forbidden"}, "refused"),
        ({"code": "410"}, "failed"),
        ({}, "failed"),
        ({"code": 500, "details": "none"}, "failed"),
    ],
)
def test_an_error_event_says_why_the_watch_is_over(status: dict[str, Any], reason: str) -> None:
    with pytest.raises(ClusterError, match=r"^watch of nodes: got ") as caught:
        read_event(line("ERROR", status), "watch of nodes", "6")
    assert caught.value.reason == reason


def test_a_version_that_went_back_is_of_an_older_cluster() -> None:
    with pytest.raises(ClusterError, match="got version 7 after 8; the cluster is an older one now") as caught:
        read_event(line("BOOKMARK", thing()), "watch of nodes", "8")
    assert caught.value.reason == "expired"
    # Versions that cannot be compared are not.
    assert read_event(line("ADDED", thing(version="x")), "watch", "8") == Put("a", "x", thing(version="x"))


@pytest.mark.parametrize(
    ("status", "body", "header", "reason", "seconds", "message"),
    [
        (410, '{"kind":"Status","code":410}', "", "expired", 0, "GET u: got 410 nothing; list again"),
        (429, '{"message":"slow\\ndown"}', "3", "busy", 3, "GET u: got 429 slow down; try later"),
        (429, "", "Wed, 21 Oct 2026 07:28:00 GMT", "busy", 0, "GET u: got 429 nothing; try later"),
        (503, "<html>gateway</html>", "7", "failed", 7, "GET u: got 503 <html>gateway</html>; try again"),
        (401, '{"message":"Unauthorized"}', "", "refused", 0, "GET u: got 401 Unauthorized, want 200; check the token"),
        (403, '{"message":"forbidden"}', "", "refused", 0, "GET u: got 403 forbidden, want 200; see what it says"),
        (404, "[]", "", "refused", 0, "GET u: got 404 [], want 200; check the server's address"),
        (400, "{}", "", "refused", 0, "GET u: got 400 nothing, want 200; see what it says"),
    ],
)
def test_a_refusal_has_its_cause_and_a_remedy(
    status: int, body: str, header: str, reason: str, seconds: float, message: str
) -> None:
    error = refusal("GET u", status, body.encode(), header)
    assert (error.reason, error.retry_after_seconds) == (reason, seconds)
    assert str(error).startswith(message)


def test_a_right_that_is_missing_is_named_with_whose_it_is() -> None:
    said = (
        'leases.coordination.k8s.io is forbidden: User "system:serviceaccount:podberth-system:podberth" cannot list '
        'resource "leases" in API group "coordination.k8s.io" in the namespace "podberth-system"'
    )
    error = refusal("GET u", 403, json.dumps({"message": said}).encode(), "")
    right = "list leases.coordination.k8s.io in podberth-system, as manifests/base/rbac.yaml does"
    assert str(error).endswith(f"want 200; grant ServiceAccount podberth-system/podberth: {right}")


def test_a_refusal_in_protobuf_is_that_in_json() -> None:
    status = {"message": "too large", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}
    found = [refusal("GET u", 504, body, "") for body in (sent("Status", status), json.dumps(status).encode())]
    assert str(found[0]) == str(found[1])
    assert [each.reason for each in found] == ["expired", "expired"]
    assert refusal("GET u", 403, b"k8s\x00<html>", "").reason == "refused"


def test_a_page_has_objects_a_version_and_the_token_of_the_next() -> None:
    first = {"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [thing("a"), thing("b")]}
    items = (Put("a", "7", thing("a")), Put("b", "7", thing("b")))
    assert read_page(json.dumps(first).encode(), "list") == Page(items, "9", "t")
    assert read_page(b'{"metadata":{"resourceVersion":"9"},"items":null}', "list") == Page((), "9", "")


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"metadata":{},"items":[]}', b'{"items":[{}]}', b"<html>"])
def test_an_answer_that_is_no_list_is_garbled(body: bytes) -> None:
    with pytest.raises(ClusterError, match=r"^list of nodes: got ") as caught:
        read_page(body, "list of nodes")
    assert caught.value.reason == "garbled"


def test_lines_come_whole_however_they_are_cut() -> None:
    text = b'{"a":1}\n{"b":\xc3\xa9}\n\n{"c":3}\nrest'
    for size in range(1, len(text)):
        lines = Lines("watch")
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        found = [each for chunk in chunks for each in lines.feed(chunk)]
        assert found == [b'{"a":1}', b'{"b":\xc3\xa9}', b'{"c":3}']


def test_a_line_longer_than_any_object_is_garbled() -> None:
    lines = Lines("watch")
    assert list(lines.feed(b"x" * 2**24)) == []
    with pytest.raises(ClusterError, match=r"^watch: got 'xxx"):
        list(lines.feed(b"x"))


def test_waits_grow_to_a_cap_and_start_again_after_a_watch_that_lasted() -> None:
    pace = Pace(TIMING, lambda: 1.0)
    assert [pace.wait_seconds(0) for _ in range(6)] == [1, 2, 4, 8, 8, 8]
    # A watch that ends at once is a failure even if it ends properly.
    assert pace.wait_seconds(9) == 8
    assert [pace.wait_seconds(10), pace.wait_seconds(0)] == [1, 2]


def test_waits_start_again_once_it_went_well() -> None:
    pace = Pace(TIMING, lambda: 1.0)
    assert [pace.wait_seconds(0) for _ in range(3)] == [1, 2, 4]
    pace.succeeded()
    assert [pace.wait_seconds(0) for _ in range(2)] == [1, 2]


def test_a_wait_is_drawn_and_never_nothing() -> None:
    draws = iter([0.0, 0.5, 0.5])
    pace = Pace(TIMING, lambda: next(draws))
    assert [pace.wait_seconds(0) for _ in range(3)] == [0.1, 1, 2]


def test_a_retry_after_is_followed_up_to_the_cap() -> None:
    pace = Pace(TIMING, lambda: 0.5)
    assert pace.wait_seconds(0, 3) == 3.5
    assert pace.wait_seconds(0, 86400) == 9


def test_ten_thousand_failures_overflow_nothing() -> None:
    pace = Pace(TIMING, lambda: 1.0)
    assert {pace.wait_seconds(0) for _ in range(10_000)} == {1, 2, 4, 8}


def test_a_refusal_is_believed_when_nothing_else_came_for_a_while() -> None:
    refusals = Refusals(Timing(refused_seconds=10))
    refused, lost = ClusterError("refused", ""), ClusterError("lost", "")
    assert [refusals.lasting(refused, at) for at in (100, 105, 109.9)] == [False] * 3
    assert not refusals.lasting(lost, 110)
    assert [refusals.lasting(refused, at) for at in (111, 120, 121)] == [False, False, True]
