"""Coverage: how often expressions were evaluated, and which conditions had one value only."""

from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.coverage import Covered, Observer, coverage, percent
from podberth.suite.runner import run_suite, unmatched
from snapshots import environment, policy

SPEC = """
  matchConditions:
  - {name: asks, expression: gpu.count > 0}
  variables:
  - {name: many, expression: gpu.count > 4}
  - {name: rare, expression: "'far'"}
  - {name: never, expression: "'never'"}
  mutations:
  - when: gpu.count > 1
    labels: {kind: gpu.kind}
  - labels: {size: "variables.many ? variables.rare : 'near'"}
  validations:
  - {expression: "gpu.count < 9 || gang.known", messageExpression: "'got ' + string(gpu.count)"}
  - {expression: "false", message: never}
  validationActions: [Warn]
"""


def covered(*counts: int, spec: str = SPEC) -> dict[str, Covered]:
    """Return the coverage of cases with pods of so many GPUs, by the expression's path."""
    parsed = parse_policies([("p.yaml", policy("p", spec))])
    assert parsed.problems == ()
    case = (
        "- name: 'COUNT'\n  expect: {verdict: admitted}\n"
        "  pod: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: COUNT}}}]}}\n"
    )
    cases = "".join(case.replace("COUNT", str(count)) for count in counts)
    suite, problems = parse_suite(f"cases:\n{cases}", "t.yaml")
    assert suite is not None, problems
    observer = Observer(keep_answers=True)
    run_suite(suite, parsed, environment(), observer=observer)
    found = coverage(observer, parsed.policies, environment())
    return {each.place.where.removeprefix("spec."): each for each in found}


def missing(found: dict[str, Covered]) -> dict[str, str]:
    return {path: each.place.message for path, each in found.items() if each.place.message}


def test_what_no_case_has_evaluated_is_reported_and_what_had_one_value_only() -> None:
    found = covered(2)
    assert missing(found) == {
        "matchConditions[0].expression": "never false",
        "variables[0].expression": "never true",
        "variables[1].expression": "never evaluated",
        "variables[2].expression": "never evaluated",
        "mutations[0].when": "never false",
        "validations[0].expression": "never false",
        "validations[0].messageExpression": "never evaluated",
    }
    assert (found["variables[0].expression"].place.line, found["variables[0].expression"].place.column) == (9, 30)


def test_a_variable_is_evaluated_where_an_expression_needed_it() -> None:
    found = covered(1, 5)
    assert found["variables[0].expression"].values == frozenset({True, False})
    assert found["variables[1].expression"].times > 0
    assert found["variables[2].expression"].times == 0


def test_what_nobody_evaluates_counts_where_its_mutation_applies() -> None:
    assert covered(1)["mutations[0].labels.kind"].times == 0
    assert covered(2)["mutations[0].labels.kind"].times == 1


def test_a_literal_has_no_two_values() -> None:
    assert covered(1)["validations[1].expression"].values is None


def test_percent_counts_two_points_for_a_condition() -> None:
    always = "  validations:\n  - {expression: gpu.count < 9, message: many}\n  validationActions: [Warn]"
    assert percent(covered(1, spec=always).values()) == 50
    assert percent(covered(1, 9, spec=always).values()) == 100
    assert percent([]) == 100


def test_a_policy_that_applies_in_no_case_is_a_problem_at_its_name() -> None:
    parsed = parse_policies([("p.yaml", policy("p", SPEC))])
    (problem,) = unmatched(parsed, Observer())
    assert str(problem).startswith("p.yaml:3:18 metadata.name: p applies to no case of the tests beside it")
