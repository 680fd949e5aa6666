"""Selectors, taints and tolerations: the scheduler's own tables, retold."""

from typing import Any

import pytest

from podberth.kube.selector import (
    LabelRequirements,
    covers,
    node_selector_matches,
    prepared,
    tolerated,
    tolerates,
)

JSON = dict[str, Any]
LABELS = {"zone": "a", "gpus": "8", "empty": ""}


def term(key: str, operator: str, *values: str) -> JSON:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("operator", "key", "values", "matches"),
    [
        ("In", "zone", ("a", "b"), True),
        ("In", "zone", ("b",), False),
        ("In", "absent", ("a",), False),
        ("In", "zone", (), False),
        ("NotIn", "zone", ("b",), True),
        ("NotIn", "zone", ("a",), False),
        ("NotIn", "absent", ("a",), True),
        ("NotIn", "zone", (), False),
        ("Exists", "zone", (), True),
        ("Exists", "empty", (), True),
        ("Exists", "absent", (), False),
        ("Exists", "zone", ("a",), False),
        ("DoesNotExist", "absent", (), True),
        ("DoesNotExist", "zone", (), False),
        ("Gt", "gpus", ("7",), True),
        ("Gt", "gpus", ("8",), False),
        ("Lt", "gpus", ("9",), True),
        ("Lt", "gpus", ("-9",), False),
        ("Gt", "zone", ("1",), False),
        ("Gt", "gpus", ("x",), False),
        ("Gt", "gpus", ("1", "2"), False),
        ("Gt", "absent", ("1",), False),
        ("Gt", "gpus", (" 7",), False),
        ("Gt", "gpus", ("9223372036854775808",), False),
        ("Like", "zone", ("a",), False),
    ],
)
def test_a_node_expression_matches_as_in_the_scheduler(
    operator: str, key: str, values: tuple[str, ...], *, matches: bool
) -> None:
    assert node_selector_matches([term(key, operator, *values)], LABELS, {}) is matches
    assert node_selector_matches(prepared([term(key, operator, *values)]), LABELS, {}) is matches


def test_no_terms_and_an_empty_term_match_nothing() -> None:
    assert not node_selector_matches([], LABELS, {})
    assert not node_selector_matches([{}], LABELS, {})
    assert not node_selector_matches([{"matchExpressions": None, "matchFields": []}], LABELS, {})


def test_terms_are_alternatives_and_expressions_all_hold() -> None:
    both: JSON = {
        "matchExpressions": [*term("zone", "In", "a")["matchExpressions"], *term("gpus", "In", "1")["matchExpressions"]]
    }
    assert not node_selector_matches([both], LABELS, {})
    assert node_selector_matches([both, term("zone", "Exists")], LABELS, {})


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["n1"], True),
        ("NotIn", ["n1"], False),
        ("NotIn", ["n2"], True),
        ("In", ["n1", "n2"], False),
        ("Exists", [], False),
    ],
)
def test_a_field_matches_the_name_of_the_node(operator: str, values: list[str], *, matches: bool) -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]}]
    assert node_selector_matches(terms, {}, {"metadata.name": "n1"}) is matches
    assert node_selector_matches(prepared(terms), {}, {"metadata.name": "n1"}) is matches


def test_fields_are_passed_over_for_a_node_that_has_none_yet() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    assert node_selector_matches(terms, {}, {})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"zone": "a"}}, True),
        ({"matchLabels": {"zone": "b"}}, False),
        ({"matchLabels": {"absent": ""}}, False),
        (term("zone", "In", "a"), True),
        (term("absent", "NotIn", "a"), True),
        ({"matchLabels": {"zone": "a"}, **term("gpus", "DoesNotExist")}, False),
        (term("gpus", "Gt", "1"), False),  # an operator of node selectors only
    ],
)
def test_a_label_selector_matches_as_in_the_apiserver(selector: JSON | None, *, matches: bool) -> None:
    assert LabelRequirements(selector).match(LABELS) is matches


@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist"])
def test_a_label_that_is_no_text_counts_as_absent(operator: str) -> None:
    """The shape of a pod beyond its bounds is not checked before its labels are read."""
    selector = term("zone", operator, *(["a"] if "In" in operator else []))
    unchecked: JSON = {"zone": ["a"]}
    assert LabelRequirements(selector).match(unchecked) is LabelRequirements(selector).match({})


TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "answer"),
    [
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "true"}, False),
        ({"key": "nvidia.com/gpu"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "", "operator": "Exists"}, True),
        ({"key": "nvidia/gpu", "operator": "Exists"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Gt", "value": "1"}, False),
        ({"key": "nvidia.com/gpu", "operator": None, "value": None, "effect": None}, False),
    ],
)
def test_a_toleration_is_read_as_in_the_scheduler(toleration: JSON, *, answer: bool) -> None:
    """The spellings that people use for one taint."""
    assert tolerates(toleration, TAINT) is answer


def test_a_taint_without_value_equals_a_toleration_without_value() -> None:
    assert tolerates({"key": "gpu"}, {"key": "gpu", "effect": "NoSchedule"})
    assert tolerates({"key": "gpu", "value": ""}, {"key": "gpu", "value": None, "effect": "NoSchedule"})


def test_one_toleration_of_several_is_enough() -> None:
    exists = {"key": "nvidia.com/gpu", "operator": "Exists"}
    assert tolerated([{"key": "other", "operator": "Exists"}, exists], TAINT)
    assert not tolerated([], TAINT)


@pytest.mark.parametrize(
    ("wider", "narrower", "answer"),
    [
        ({"operator": "Exists"}, {"key": "a", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Exists"}, {"key": "a", "value": "x", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "x"}, {"key": "a", "operator": "Equal", "value": "x"}, True),
        ({"key": "a", "value": "x"}, {"key": "a", "operator": "Exists"}, False),
        ({"key": "a", "value": "x"}, {"key": "a", "value": "y"}, False),
        ({"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}, False),
        ({"key": "a", "operator": "Exists"}, {"operator": "Exists"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"key": "a", "operator": "Exists"}, False),
        ({"operator": "Exists", "tolerationSeconds": 60}, {"operator": "Exists"}, False),
        ({"operator": "Exists", "tolerationSeconds": 60}, {"operator": "Exists", "tolerationSeconds": 30}, True),
        # the seconds count for NoExecute alone
        ({"operator": "Exists", "tolerationSeconds": 60}, {"key": "a", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Gt", "value": "5"}, {"key": "a", "operator": "Equal", "value": "5"}, False),
        ({"key": "a", "value": ""}, {"key": "a"}, True),
    ],
)
def test_tolerations_are_compared_by_what_they_tolerate(wider: JSON, narrower: JSON, *, answer: bool) -> None:
    assert covers(wider, narrower) is answer
