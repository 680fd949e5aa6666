"""Each rule's manual has a bad and a good example, and the rule says so of them."""

import re
import textwrap
from pathlib import Path

import pytest

from lint_findings import found, spec
from podberth.lint import rules
from podberth.lint.findings import LintRule
from podberth.lint.rules import RULES
from podberth.lint.runner import SUPPRESSION

_FOLDERS = {"missing-tests"}
"""Rules whose example is a folder and no policy: they have tests of their own."""


def example(rule: LintRule, which: str) -> str:
    """Return the indented block below ``Bad:`` or ``Good:``, as a document."""
    block = textwrap.dedent(re.split(rf"^{which}\b.*\n", rule.manual, flags=re.MULTILINE)[1].partition("\nGood")[0])
    assert block.strip(), f"{rule.name}: no example below {which}"
    block = block.strip("\n") + "\n"
    if block.startswith("apiVersion:"):
        return block
    return spec(block)


@pytest.mark.parametrize("rule", [each for each in RULES if each.name not in _FOLDERS], ids=lambda rule: str(rule.name))
class TestExamples:
    def test_the_bad_one_is_found_at_a_place_and_at_the_rules_level(self, rule: LintRule) -> None:
        findings = found(example(rule, "Bad"), rule.name)

        assert findings
        assert all(each.level is rule.level and each.problem.line > 0 for each in findings)

    def test_the_good_one_is_clean_of_it_and_of_all_but_notes(self, rule: LintRule) -> None:
        findings = found(example(rule, "Good"))

        assert [each for each in findings if each.rule == rule.name] == []
        assert [str(each) for each in findings if str(each.level) != "note"] == []


def test_every_module_of_the_folder_is_in_the_registry_once() -> None:
    folder = Path(rules.__file__).parent

    assert sorted(rule.name for rule in RULES) == sorted(
        path.stem.replace("_", "-") for path in folder.glob("*.py") if path.stem != "__init__"
    )
    assert SUPPRESSION not in {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_a_manual_begins_with_a_sentence_of_one_line(rule: LintRule) -> None:
    first, _, rest = rule.manual.partition("\n")

    assert first.endswith(".")
    assert rest.startswith("\n")
    assert re.search(r"^Bad\b", rest, re.MULTILINE)
    assert re.search(r"^Good\b", rest, re.MULTILINE)
