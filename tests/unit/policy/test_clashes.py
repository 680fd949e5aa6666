"""Policies that write one field from different expressions are noted when they are loaded."""

import pytest

from podberth.policy.clashes import clashes
from podberth.policy.parse import parse_policies
from snapshots import policy


def notes(*mutations: str) -> list[str]:
    texts = [policy(f"p{order}", f"  mutations:\n  - {text}", order=order) for order, text in enumerate(mutations)]
    parsed = parse_policies([("p.yaml", "---\n".join(texts))])
    assert not parsed.problems
    return [str(each) for each in clashes(parsed.policies)]


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        ("labels: {a: \"'1'\"}", "labels: {a: \"'2'\"}", "spec.mutations[0].labels.a"),
        ("annotations: {x.io/a: \"'1'\"}", "annotations: {x.io/a: gpu.kind}", "spec.mutations[0].annotations[x.io/a]"),
        ("env: {A: \"'1'\"}", "env: {B: \"'1'\", A: \"'2'\"}", "spec.mutations[0].env.A"),
        ("schedulerName: \"'a'\"", "schedulerName: \"'b'\"", "spec.mutations[0].schedulerName"),
        ("gang: {name: \"'g'\"}", "gang: {name: gang.name}", "spec.mutations[0].gang.name"),
        ("gang: {name: \"'g'\", size: '4'}", "gang: {name: \"'g'\", size: '8'}", "spec.mutations[0].gang.size"),
        ("priorityClassName: \"'a'\"", "priorityClassName: \"'b'\"", "spec.mutations[0].priorityClassName"),
    ],
)
def test_the_later_policy_names_the_one_that_comes_first(first: str, second: str, where: str) -> None:
    [note] = notes(first, second)

    assert where in note
    assert note.startswith("p.yaml:1")
    assert "policy p0 writes it too and comes first" in note


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("labels: {a: \"'1'\"}", "labels: {a: \"'1'\"}"),
        ("labels: {a: \"'1'\"}", "labels: {b: \"'2'\"}"),
        ("labels: {a: \"'1'\"}", "annotations: {a: \"'2'\"}"),
        ("gang: {name: \"'g'\"}", "gang: {name: \"'g'\", size: '4'}"),
        ("tolerations: '[]'", "tolerations: \"[{'key': 'a'}]\""),
    ],
)
def test_equal_expressions_and_other_fields_are_no_clash(first: str, second: str) -> None:
    assert notes(first, second) == []


def test_a_policy_does_not_clash_with_itself_and_each_later_one_is_reported_once() -> None:
    twice = "labels: {a: \"'1'\"}\n  - labels: {a: \"'2'\"}"

    assert notes(twice) == []
    assert len(notes(twice, "labels: {a: \"'3'\"}", "labels: {a: \"'4'\"}")) == 2
