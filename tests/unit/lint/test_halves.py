"""Warnings about a policy of which some expression does not compile."""

import pytest

from lint_findings import found, spec
from podberth.lint.findings import Level
from podberth.lint.runner import lint
from snapshots import environment

UNGUARDED = "object.metadata.labels['a'] == 'b'"


def rules(text: str) -> list[tuple[str, str]]:
    """Return (rule, field) of each finding."""
    return [(each.rule, each.problem.where) for each in found(text)]


def validating(*expressions: str, head: str = "") -> str:
    rows = "".join(f'- message: m\n  expression: "{each}"\n' for each in expressions)
    return spec(f"{head}validations:\n{rows}validationActions: [Deny]\n")


def test_warnings_about_what_compiles_are_reported() -> None:
    text = validating("gpu.cont > 1", UNGUARDED, head="failurePolicy: Ignore\n")
    wrong, other = "spec.validations[0].expression", "spec.validations[1].expression"
    want = [("ignored-denial", "spec.failurePolicy"), ("invalid", wrong), ("unguarded-field", other)]
    assert rules(text) == want
    own = text.replace("GPUPolicy", "NamespacedGPUPolicy").replace("name: example", "name: example, namespace: a")
    assert rules(own) == want


@pytest.mark.parametrize(
    "text",
    [
        # The condition may be the guard of the field.
        validating(UNGUARDED, head="matchConditions: [{name: a, expression: has(object.metadata.lables)}]\n"),
        # The message is a part of the same item.
        validating(UNGUARDED).replace("message: m", "messageExpression: gpu.knd"),
        # The expression needs the variable.
        validating(
            f"variables.a && {UNGUARDED}", head="variables: [{name: a, expression: has(object.metadata.lables)}]\n"
        ),
        # The expression may read the variable.
        validating("variables.a > gpu.cont", head="variables: [{name: a, expression: gpu.count}]\n"),
    ],
)
def test_a_warning_that_depends_on_what_does_not_compile_is_left_out(text: str) -> None:
    assert [rule for rule, _ in rules(text)] == ["invalid"]


def test_a_policy_that_is_refused_for_its_cost_alone_has_no_warnings() -> None:
    loops = "object.spec.containers.all(c, c.env.all(e, c.env.all(f, e.name != f.value)))"
    assert rules(validating(loops, UNGUARDED)) == [("invalid", "spec.validations[0].expression")]


def test_a_policy_without_errors_is_judged_once_beside_one_with_a_wrong_expression() -> None:
    comment = "  # podberth-lint: disable=unguarded-field the label is always there"
    whole = validating(UNGUARDED).replace(UNGUARDED + '"', UNGUARDED + f'"{comment}').replace("example", "whole")
    texts = [("d/a.yaml", whole), ("d/b.yaml", validating("gpu.cont > 1"))]
    report = lint(texts, environment(), tests=["d/tests.yaml"])
    assert [each.rule for each in report.at_least(Level.WARNING)] == ["invalid"]
    assert (report.silenced, report.policies) == (1, ("d/a.yaml",))
