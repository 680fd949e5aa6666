"""A policy that could hold a worker for too long is refused where it is most expensive."""

import re

import pytest

from podberth.errors import PolicyError
from snapshots import policy, snapshot

EXPENSIVE = "object.spec.containers.all(c, c.env.filter(e, e.name == 'A').size() == 0)"


def problems(spec: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        snapshot(policy("expensive", spec))
    return [str(problem) for problem in caught.value.problems]


def test_it_is_refused_at_its_place_with_its_cost_and_what_to_write_instead() -> None:
    spec = f"""
  validations:
  - expression: gpu.count >= 0
    message: fine
  - expression: >-
      gpu.count > 1
      || {EXPENSIVE}
    message: expensive
  validationActions: [Warn]
"""
    (problem,) = problems(spec)
    assert problem.startswith("policy.yaml:11:52 spec.validations[1].expression: got up to ")
    assert "of them here, want 100 ms for the whole policy; map() and filter() copy their list" in problem
    assert problem.endswith("ask exists() or all(), or go through a shorter list")


def test_a_expensive_variable_is_reported_at_the_variable() -> None:
    spec = f"""
  variables:
  - name: expensive
    expression: {EXPENSIVE}
  mutations:
  - when: variables.expensive
    labels: {{a: "'b'"}}
"""
    (problem,) = problems(spec)
    assert problem.startswith("policy.yaml:8:59 spec.variables[0].expression: got up to ")


def test_a_variable_that_nobody_needs_costs_nothing() -> None:
    spec = f"""
  variables:
  - name: expensive
    expression: {EXPENSIVE}
  mutations:
  - labels: {{a: "'b'"}}
"""
    assert len(snapshot(policy("cheap", spec)).policies) == 1


_TEXT = "object.metadata.annotations['a'].split(',').size() > 0"


def judged(number: int) -> str:
    entries = "".join(f"  - {{expression: \"{_TEXT}\", message: '{each}'}}\n" for each in range(number))
    return f"\n  validations:\n{entries}  validationActions: [Warn]\n"


def test_expressions_of_a_policy_are_added_up() -> None:
    assert len(snapshot(policy("cheap", judged(1))).policies) == 1
    (problem,) = problems(judged(16))
    found = re.search(r"got up to ([\d,]+) ms for the largest pod, ([\d,]+) of them here", problem)
    assert found is not None
    whole, here = (int(each.replace(",", "")) for each in found.groups())
    assert whole == pytest.approx(16 * here, rel=0.05)


def test_a_review_asks_mutations_or_validations_and_the_conditions_either_way() -> None:
    half = next(number for number in range(1, 16) if not fits(judged(2 * number)))
    leaf = "string(object.metadata.annotations['a'].split(',').size())"
    written = "\n  mutations:\n" + "".join(f'  - labels: {{l{each}: "{leaf}"}}\n' for each in range(half))
    assert fits(judged(half) + written)
    names = "".join(f'  - {{name: c{each}, expression: "{_TEXT}"}}\n' for each in range(half))
    assert not fits(f"\n  matchConditions:\n{names}" + judged(half))


def fits(spec: str) -> bool:
    try:
        snapshot(policy("p", spec))
    except PolicyError:
        return False
    return True
