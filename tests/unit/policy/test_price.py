"""A policy that could hold a worker for too long is refused where it is dearest."""

import pytest

from podberth.errors import PolicyError
from snapshots import policy, snapshot

DEAR = "object.spec.tolerations.filter(t, t.key == 'a').size() == 0"


def problems(spec: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        snapshot(policy("dear", spec))
    return [str(problem) for problem in caught.value.problems]


def test_it_is_refused_at_its_place_with_its_cost_and_what_to_write_instead() -> None:
    spec = f"""
  validations:
  - expression: gpu.count >= 0
    message: fine
  - expression: >-
      gpu.count > 1
      || {DEAR}
    message: dear
  validationActions: [Warn]
"""
    (problem,) = problems(spec)
    assert problem.startswith(
        "policy.yaml:11:40 spec.validations[1].expression: got up to 327 ms for the largest pod, "
    )
    assert "of them here, want 100 ms for the whole policy; map() and filter() copy their list" in problem
    assert problem.endswith("ask exists() or all(), or go through a shorter list")


def test_a_dear_variable_is_told_at_the_variable() -> None:
    spec = f"""
  variables:
  - name: dear
    expression: {DEAR}
  mutations:
  - when: variables.dear
    labels: {{a: "'b'"}}
"""
    (problem,) = problems(spec)
    assert problem.startswith("policy.yaml:8:47 spec.variables[0].expression: got up to ")


def test_a_variable_that_nobody_needs_costs_nothing() -> None:
    spec = f"""
  variables:
  - name: dear
    expression: {DEAR}
  mutations:
  - labels: {{a: "'b'"}}
"""
    assert len(snapshot(policy("cheap", spec)).policies) == 1


def test_expressions_of_a_policy_are_added_up() -> None:
    middling = "object.metadata.annotations['a'].split(',').size() > 0"
    spec = "\n  validations:\n" + "".join(
        f"  - {{expression: \"{middling}\", message: '{number}'}}\n" for number in range(2)
    )
    (problem,) = problems(spec + "  validationActions: [Warn]\n")
    assert "got up to 142 ms for the largest pod, 71 of them here" in problem
