"""A policy beyond a bound is refused where it is, and costs no more than one within it."""

import json
from typing import Any

import pytest

from podberth.cel.compile_limits import MAX_DEPTH, MAX_ENTRIES, MAX_POLICY_BYTES, MAX_SET_PARTS, MAX_TEXT_BYTES
from podberth.cel.engine import Environment
from podberth.errors import Problem
from podberth.kube.yaml_text import as_yaml
from podberth.policy.compile import compile_policies
from podberth.policy.parse import excess_of_document, parse_policies
from snapshots import environment, policy


def document(spec: dict[str, Any], name: str = "p") -> dict[str, Any]:
    return {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": name}, "spec": spec}


def problems_of(*texts: str) -> list[Problem]:
    parsed = parse_policies([(f"{number}.yaml", text) for number, text in enumerate(texts)])
    _, problems = compile_policies(parsed.policies, environment())
    return sorted([*parsed.problems, *problems])


def judged(variables: list[str], expressions: list[str]) -> str:
    named = [{"name": f"v{at}", "expression": each} for at, each in enumerate(variables)]
    validations = [{"expression": each, "message": "m"} for each in expressions]
    return as_yaml(document({"variables": named, "validations": validations, "validationActions": ["Warn"]}))


def chained(number: int, text: str) -> list[str]:
    return [text, *(f"variables.v{at} + {text}" for at in range(number - 1))]


def test_a_chain_of_variables_within_the_bounds_compiles() -> None:
    assert problems_of(judged(chained(MAX_ENTRIES, "'a'"), [f"variables.v{MAX_ENTRIES - 1} != ''"])) == []


def test_a_thousand_variables_are_refused_at_their_place() -> None:
    [found] = problems_of(judged(chained(1_000, "'a'"), ["true"]))
    assert str(found) == "0.yaml:7:3 spec.variables: got 1000 entries, want at most 64"


@pytest.mark.parametrize("field", ["labels", "annotations", "env"])
def test_a_mutation_writes_a_bounded_number_of_keys(field: str) -> None:
    spec = {"mutations": [{field: {f"k{at}": "'a'" for at in range(MAX_ENTRIES + 1)}}]}
    [found] = problems_of(as_yaml(document(spec)))
    assert (found.line, found.where, found.message) == (
        8,
        f"spec.mutations[0].{field}",
        "got 65 entries, want at most 64",
    )


def test_all_expressions_of_a_policy_have_a_length() -> None:
    long = "'" + "a" * 5_000 + "'"
    [found] = problems_of(judged([long] * 14, ["true"]))
    assert found.where == "spec"
    assert found.message == f"got 70,032 bytes of expressions, want {MAX_POLICY_BYTES:,} at most; make several policies"


def test_long_variables_that_many_need_are_refused_where_the_room_ends() -> None:
    """64 variables that name one another, used by 64 validations: 272 s and 4.4 GiB, had each its own copy."""
    long = "[" + ", ".join(["1"] * 150) + "]"
    found = problems_of(judged(chained(60, long), ["variables.v59.size() > 0"] * 64))
    assert {each.where.partition("[")[0] for each in found} == {"spec.validations"}
    assert found[0].line > 60
    assert "the policy grows beyond 20,000 parts here" in found[0].message


def test_one_expression_beyond_the_bound_is_reported_at_its_line_and_column() -> None:
    text = policy("p", "  validations:\n  - {expression: true, message: m}\n  validationActions: [Warn]\n")
    wide = text.replace("expression: true", 'expression: "optional.of(1)' + ".optMap(x, x)" * 40 + '.hasValue()"')
    [found] = problems_of(wide)
    assert (found.line, found.where) == (7, "spec.validations[0].expression")
    assert found.column > 30


def test_the_last_of_too_many_policies_are_refused_and_the_others_are_not() -> None:
    wide = ["[" + ", ".join(["1"] * 1_200) + "].size() > 0"] * 8
    texts = [as_yaml({**json.loads(_with_name(judged([], wide), f"p{at:02}"))}) for at in range(12)]
    parsed = parse_policies([(f"{at}.yaml", text) for at, text in enumerate(texts)])
    compiled, problems = compile_policies(parsed.policies, environment())
    assert 9 <= len(compiled) < 12
    assert [each.name for each in compiled] == [f"p{at:02}" for at in range(len(compiled))]
    assert f"all policies together grows beyond {MAX_SET_PARTS:,} parts here" in problems[0].message


def _with_name(text: str, name: str) -> str:
    [parsed] = parse_policies([("", text)]).policies
    return json.dumps(document(parsed.policy.spec.model_dump(mode="json", by_alias=True, exclude_unset=True), name))


def test_a_text_is_looked_at_before_it_is_read() -> None:
    text = "a: [" + "1," * MAX_TEXT_BYTES
    [found] = problems_of(text)
    assert str(found).startswith("0.yaml:1:1: got 1,048,")


@pytest.mark.parametrize("opening", ["[", "{a: ", '{"a":', "- "])
def test_deep_nesting_has_a_place_and_no_traceback(opening: str) -> None:
    [found] = problems_of("a: " + opening * 50_000 if opening != "- " else opening * 50_000)
    assert (found.line, found.message) == (1, f"nested more than {MAX_DEPTH} deep")
    assert found.column > MAX_DEPTH


def test_a_document_is_measured_without_recursion() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert excess_of_document(deep) == f"nested more than {MAX_DEPTH} deep"
    assert excess_of_document({"a": ["b"] * MAX_TEXT_BYTES}).startswith("got more than 524,288 bytes")
    assert excess_of_document(document({"description": "d"})) == ""


def test_what_is_not_compiled_in_time_is_reported_once_at_the_expression_that_waits() -> None:
    calls: list[int] = []

    def late() -> bool:
        calls.append(1)
        return len(calls) > 3

    parsed = parse_policies([("p.yaml", judged(["1", "2"], ["variables.v0 == 1", "true", "true"]))])
    compiled, problems = compile_policies(parsed.policies, environment(), late=late)
    assert compiled == ()
    [found] = problems
    assert (found.line, found.column, found.where) == (14, 18, "spec.validations[1].expression")
    assert found.message.startswith("not compiled: the time for compiling was over")


def test_the_environment_says_how_long_a_set_may_take() -> None:
    begun: list[int] = []

    def deadline() -> Any:
        begun.append(1)
        return lambda: len(begun) > 1

    timed = Environment(environment().schema, deadline=deadline)
    parsed = parse_policies([("p.yaml", judged([], ["true"]))]).policies
    assert compile_policies(parsed, timed)[1] == ()
    assert "the time for compiling was over" in compile_policies(parsed, timed)[1][0].message
