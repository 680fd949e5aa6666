"""docs/namespaced-policies.md: its policy is one, its fields and bounds are the code's, and its test passes."""

from pages import page
from podberth.policy.namespaced import MOST_BYTES, MOST_MICROSECONDS, MOST_OF_NAMESPACE, MOST_PARTS
from podberth.policy.namespaced_model import MAX_RULES, NamespacedSpec
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import run_suite
from snapshots import environment

PAGE = page("docs/namespaced-policies.md")
POLICY, CASES = (part.partition("```")[0] for part in PAGE.split("```yaml\n")[1:])


def test_the_policy_of_the_page_is_one_and_its_test_passes() -> None:
    parsed = parse_policies([("policies.yaml", POLICY)])
    assert parsed.problems == ()
    suite, problems = parse_suite(CASES, "tests.yaml")
    assert problems == ()
    assert suite is not None
    assert [each for case in run_suite(suite, parsed, environment()).cases for each in case.violations] == []


def test_the_page_has_a_row_for_each_field() -> None:
    table = PAGE.partition("| field | meaning |\n")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines()[1:] for name in row.split("|")[1].replace("`", "").split(", ")}
    assert {name.strip() for name in named} == {
        each.alias or name for name, each in NamespacedSpec.model_fields.items()
    }


def test_the_bounds_of_the_page_are_the_codes() -> None:
    assert f"| {MOST_OF_NAMESPACE} | policies that decide" in PAGE
    assert f"| {MOST_MICROSECONDS // 1000} ms | the cost" in PAGE
    assert f"| {MOST_PARTS:,} parts |" in PAGE
    assert f"| {MOST_BYTES // 1024} KiB | one of them" in PAGE
    assert f"{MAX_RULES} rules at most" in PAGE
