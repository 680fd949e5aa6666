"""New expectations: what holds is kept, nothing is added, and they do hold."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import differences, run_suite
from podberth.suite.update import Update, _fitting, update_of
from snapshots import environment, policy

WRITES = policy(
    "writes",
    "  scope: All\n  mutations:\n  - {labels: {team: \"'vision'\"}}\n"
    "  validations:\n  - {expression: \"object.metadata.name != 'bad'\", message: a bad name}\n"
    "  validationActions: [Deny]",
)


def update(expect: str, name: str = "good", container: str = "name: main") -> Update:
    pod = f"{{metadata: {{name: {name}}}, spec: {{containers: [{{{container}}}]}}}}"
    suite, problems = parse_suite(f"cases:\n- name: a\n  pod: {pod}\n  expect: {expect}\n", "t.yaml")
    assert suite is not None, problems
    return update_of(suite, run_suite(suite, parse_policies([("p.yaml", WRITES)]), environment()))


def written(expect: str, name: str = "good") -> dict[str, Any]:
    """Return the new values by their path below ``expect``."""
    return {"/".join(each.path[3:]): each.value for each in update(expect, name).operations}


def test_what_was_given_and_differs_is_replaced() -> None:
    assert written("{verdict: unchanged}") == {"verdict": "mutated"}
    assert written("{verdict: admitted}", "bad") == {"verdict": "denied"}
    assert written("{warnings: []}") == {"warnings": ["podberth: label team=vision"]}
    assert written("{denials: [an ugly name, a bad]}", "bad") == {"denials": ["a bad"]}
    assert written("{denials: [a bad name]}") == {"denials": []}
    patched = "{patched: {metadata: {name: good, labels: {team: audio, old: x}}}}"
    assert written(patched) == {"patched": {"metadata": {"name": "good", "labels": {"team": "vision", "old": None}}}}


def test_what_holds_is_left_alone_and_nothing_is_added() -> None:
    assert written("{verdict: admitted, warnings: ['label team'], patched: {metadata: {name: good}}}") == {}
    assert update("{verdict: mutated}") == Update(operations=(), goldens={}, changes=())


def test_an_amount_that_is_written_in_another_way_holds() -> None:
    amount = "resources: {limits: {cpu: 1000m}}"
    patched = f"{{verdict: unchanged, patched: {{spec: {{containers: [{{{amount}}}]}}}}}}"
    assert update(patched, container=f"name: main, {amount}").changes == ("cases[0].expect.verdict",)


def test_a_golden_file_is_written_where_there_is_a_pod() -> None:
    assert "team: vision" in update("{golden: a.golden.yaml}").goldens["a.golden.yaml"]
    assert update("{golden: a.golden.yaml}").changes == ("a.golden.yaml",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_what_was_brought_up_to_date_is_part_of_the_document(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    new = _fitting(expected, actual)
    assert list(differences(new, actual)) == []
    if not list(differences(expected, actual)):
        assert new == expected
