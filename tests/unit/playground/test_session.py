"""Sessions are read from files, and from the page's requests."""

import pytest

from podberth.errors import UsageError
from podberth.playground.session import MOST_CHARACTERS, Session, session_of
from podberth.playground.worker import _finite


def test_a_session_is_read_as_it_was_written() -> None:
    session = Session(policy="a", workload="b", cluster="c", namespace="d")
    assert session_of(session.as_json()) == session


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "session: got null, want an object with version 1, as the playground saves it"),
        ([1], "session: got a list, want an object with version 1"),
        ({}, "session: got no version, want an object with version 1"),
        ({"version": 2}, "session: got version 2, want an object with version 1"),
        ({"version": "1"}, "session: got version '1', want an object with version 1"),
        (
            {"version": 1, "polcy": ""},
            "session: got 'polcy', want cluster, namespace, policy, version, workload; did you mean policy?",
        ),
        ({"version": 1, "policy": 3}, "policy: got a number, want a string"),
        ({"version": 1, "cluster": "a" * (MOST_CHARACTERS["cluster"] + 1)}, "cluster: got 2,097,153 characters"),
        ({"version": 1, "namespace": "a" * 254}, "namespace: got 254 characters"),
    ],
)
def test_what_is_no_session_is_refused(document: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        session_of(document)


def test_numbers_that_json_does_not_have_are_texts() -> None:
    found = _finite({"a": [1.5, float("nan"), (float("-inf"), "b")], "c": None})
    assert found == {"a": [1.5, "nan", ["-inf", "b"]], "c": None}
