"""What is reported of policies that do not compile."""

import pytest

from podberth.policy.compile import compile_policies, depends_on_snapshot
from podberth.policy.parse import parse_policies
from snapshots import environment, policy


def test_a_variable_that_does_not_compile_is_reported_once_and_not_of_whoever_uses_it() -> None:
    text = policy(
        "p",
        """
  variables:
  - {name: kind, expression: object.metadata.label}
  - {name: limit, expression: "variables.kind == 'notebook' ? 1 : 8"}
  - {name: other, expression: variables.kin}
  validations:
  - {expression: gpu.count <= variables.limit, messageExpression: string(variables.limit) + nonsense}
  validationActions: [Deny]
""",
    )
    compiled, problems = compile_policies(parse_policies([("p.yaml", text)]).policies, environment())
    assert compiled == ()
    assert [(each.where, each.message) for each in problems] == [
        ("spec.variables[0].expression", "undefined field 'label' in ObjectMeta; did you mean labels?"),
        ("spec.variables[2].expression", "undeclared reference to 'variables.kin'; did you mean kind?"),
        (
            "spec.validations[0].messageExpression",
            "undeclared reference to 'nonsense'; a text has quotes; did you mean 'nonsense'?",
        ),
    ]


@pytest.mark.parametrize(
    ("path", "depends"),
    [
        (("gang", "job"), True),
        (("gang", "job", "backoffLimit"), True),
        (("gang", "size"), True),
        (("gang", "role"), False),
    ],
)
def test_what_a_job_says_of_failures_may_not_be_known_yet(path: tuple[str, ...], depends: bool) -> None:
    assert depends_on_snapshot(path) is depends


def test_a_variable_in_a_match_condition_is_refused_with_the_reason() -> None:
    text = (
        "apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {name: a}\nspec:\n"
        "  variables: [{name: x, expression: 'gpu.count > 1'}]\n"
        "  matchConditions: [{name: c, expression: variables.x}]\n"
        "  mutations: [{labels: {example.com/a: gpu.kind}}]\n"
    )
    _, [problem] = compile_policies(parse_policies([("a.yaml", text)]).policies, environment())
    assert problem.where == "spec.matchConditions[0].expression"
    assert "; matchConditions are evaluated before the variables" in problem.message
