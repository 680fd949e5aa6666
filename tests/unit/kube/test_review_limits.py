"""How dense a review's text may be, and how long the lists of its envelope: asked before either is walked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import gpu_pod, review
from calls import calls_of
from podberth.kube.paths import ELEMENT
from podberth.kube.pod_limits import ANNOTATIONS, ENTRIES, MAX_BYTES
from podberth.kube.review_limits import (
    ENVELOPE,
    ENVELOPE_VALUES,
    EXTRA_VALUES,
    GROUPS,
    MARKS,
    excess_of_envelope,
    excess_of_text,
    marks_outside_strings,
)
from podberth.kube.shape import envelope_problems

JSON = dict[str, Any]
# kubernetes/api admission/v1 types.go, AdmissionRequest; authentication/v1 types.go, UserInfo.
FIELDS = (
    *((name,) for name in ("kind", "resource", "requestKind", "requestResource", "userInfo", "options")),
    *(("userInfo", name) for name in ("groups", "extra")),
    ("userInfo", "extra", ELEMENT),
)


def text(document: Any) -> bytes:
    """Return JSON as the API server writes it."""
    return json.dumps(document, separators=(",", ":")).encode()


def marks_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    below = list(value.values()) if isinstance(value, dict) else value
    return (len(value) or 1) + sum(map(marks_of, below))


ODD = st.text(st.sampled_from('\\"[{,:\n\té<'))
ANY = st.recursive(
    st.none() | st.integers() | ODD, lambda inner: st.lists(inner) | st.dictionaries(ODD, inner), max_leaves=40
)


@settings(max_examples=300)
@given(ANY)
def test_marks_are_those_outside_of_strings(value: Any) -> None:
    assert marks_outside_strings(text(value), 10_000) == marks_of(value)


@given(ANY)
def test_that_there_are_too_many_strings_is_said_of_no_text_within_the_bound(value: Any) -> None:
    assert marks_outside_strings(text(value), marks_of(value)) == marks_of(value)


@pytest.mark.parametrize(("objects", "operation"), [(1, "CREATE"), (2, "UPDATE")])
def test_values_of_objects_have_a_bound(objects: int, operation: str) -> None:
    few: list[JSON] = [{}] * (MARKS // 2 - 100)
    many: list[JSON] = [{}] * (MARKS // 2 + 1)

    def body(listed: list[JSON]) -> bytes:
        pod = gpu_pod(tolerations=listed)
        return text(review(pod, operation, old=pod if objects == 2 else None))

    assert excess_of_text(body(few)) == ""
    most = f"commas and opening brackets, want {objects * MARKS:,} at most"
    assert most in excess_of_text(body(many))


@pytest.mark.parametrize("comma", [",", '{"a": [1, "b"]}', "\\", "<&>"])
def test_what_stands_in_strings_is_no_value(comma: str) -> None:
    """A pod within its bounds, with all of its annotations and of its size in text, is parsed on UPDATE, too."""
    pod = gpu_pod(annotations={"a": comma * (ANNOTATIONS.most // len(comma) - 1)})
    room = (MAX_BYTES - ANNOTATIONS.most) // len(json.dumps(comma)) - 1_000
    pod["spec"]["containers"][0]["args"] = [comma * room]
    assert excess_of_text(text(review(pod, "UPDATE", old=pod))) == ""


def test_a_text_longer_than_the_objects_may_be_is_not_searched_for_strings() -> None:
    pod = gpu_pod(annotations={"a": "," * 2 * MAX_BYTES})
    assert f"bytes, want {2 * MAX_BYTES:,} at most" in excess_of_text(text(review(pod)))


def test_strings_alone_can_show_that_there_are_too_many_values() -> None:
    assert f"got more than {MARKS:,} values" in excess_of_text(b"[" + b'",",' * 4 * MARKS + b'""]')


# ---- the envelope ---------------------------------------------------------------------------------------------------
def at_path(path: tuple[str, ...], value: Any) -> JSON:
    for step in reversed(path):
        value = {"key" if step == ELEMENT else step: value}
    return dict(value)


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_every_list_and_map_that_the_shape_check_looks_into_is_in_the_table(path: tuple[str, ...], kind: type) -> None:
    wrong = object()
    value = [wrong] if kind is list else {"key": wrong}
    looked_into = any("object, want" in each for each in envelope_problems(at_path(path, value)))
    assert not looked_into or ("request", *path) in {bound.path for bound in ENVELOPE}


@pytest.mark.parametrize(
    "bound", [each for each in ENVELOPE if each not in (ENVELOPE_VALUES, EXTRA_VALUES)], ids=lambda each: each.path[-1]
)
def test_each_list_and_map_has_its_bound(bound: Any) -> None:
    for more, where in ((0, ""), (1, ".".join(bound.path))):
        many = bound.most + more
        listed = ["g"] * many if bound is GROUPS else {f"k{at}": ["v"] if more else [] for at in range(many)}
        found = excess_of_envelope(at_path(bound.path[1:], listed), None)
        assert bool(found) == bool(where)
        assert where in found
        assert f"want {bound.most:,} at most" in found or "want so many at most" in found or not where


def test_the_values_of_all_keys_count_together() -> None:
    extra = {"a": ["v"] * (ENTRIES // 2), "b": ["v"] * (ENTRIES // 2 + 1)}
    wrong = excess_of_envelope({"userInfo": {"extra": extra}}, None)
    assert f"request.userInfo.extra[*]: got {ENTRIES + 1:,} entries, want {ENTRIES:,} at most" in wrong


def test_unknown_fields_count_too() -> None:
    request = review(gpu_pod())["request"]
    assert excess_of_envelope(request, None) == ""
    assert "request: all lists together" in excess_of_envelope({**request, "odd": [[]] * 5_000}, None)


def test_the_texts_of_the_envelope_have_a_bound() -> None:
    request = {"userInfo": {"username": "x" * MAX_BYTES}, "object": {"a": "x" * MAX_BYTES}}
    assert f"bytes, want {MAX_BYTES:,} at most" in excess_of_envelope(request, 3 * MAX_BYTES)


@pytest.mark.parametrize(
    "odd", [None, 5, "text", [], [[]], {"groups": {}, "extra": [{}]}, {"extra": {"a": None}}, {"extra": [1]}]
)
def test_an_envelope_of_any_shape_is_measured(odd: Any) -> None:
    assert excess_of_envelope({"userInfo": odd, "options": odd}, None) == ""


def test_what_is_too_long_is_not_walked() -> None:
    groups = ["g"] * 100_000
    assert calls_of(lambda: excess_of_envelope({"userInfo": {"groups": groups}}, None)) < 100
