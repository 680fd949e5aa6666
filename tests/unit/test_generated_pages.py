"""What of the documentation is written by a tool is what the tool writes today."""

import re

import pytest

from pages import ROOT, page, rows, spans
from podberth import wellknown
from podberth.cli.completion import SHELLS
from podberth.cli.main import main
from podberth.files.first_policy import KINDS
from podberth.lint.costs import CHEAP_BELOW, EXPENSIVE_FROM
from tools_run import check

TOOLS = (
    "bounds_page",
    "cel_reference",
    "exception_crd",
    "label_page",
    "library_reference",
    "lint_page",
    "policy_crd",
    "policy_reference",
    "policy_schema",
    "recipe_page",
    "security_page",
    "system_page",
    "topology_schema",
)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_pages_are_what_the_code_says_today(
    tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (check(tool, monkeypatch), *capsys.readouterr()) == (0, "", "")


@pytest.mark.parametrize("name", sorted(str(each.relative_to(ROOT)) for each in (ROOT / "docs").rglob("*.md")))
def test_every_row_stands_in_a_table(name: str) -> None:
    for block in re.split(r"\n\n|```[a-z]*\n.*?\n```|<!--.*?-->", page(name), flags=re.DOTALL):
        lines = [line for line in block.splitlines() if line.startswith(("| ", "|--"))]
        assert not lines or re.fullmatch(r"\|( ?-{3,} ?\|)+", lines[1]), lines[0]


def test_lint_has_the_flags_and_the_classes_that_the_page_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--help"]) == 0
    printed = capsys.readouterr().out
    documented = [cell.split()[0] for cell in rows(page("docs/lint.md")) if cell.startswith("-")]
    shared = {"--topology", "--simulate", "--conventions", "--pod-schema"}
    assert shared | {"-o", "-q", "--level", "--fail-on", "--costs", "--watch"} == set(documented)
    assert all(flag in printed for flag in documented)
    classes = f"`cheap` below {CHEAP_BELOW // 1000} ms, `expensive` from {EXPENSIVE_FROM // 1000} ms"
    assert classes in page("docs/lint.md")


def test_what_stands_between_the_tables_of_labels_names_each_of_podberths_own() -> None:
    own = {value for value in vars(wellknown).values() if isinstance(value, str) and value.startswith("podberth.io/")}
    assert own - spans(page("docs/labels.md")) == {wellknown.API_VERSION}


def test_the_actions_of_policies_and_the_shells_are_in_the_guide() -> None:
    guide = page("docs/policy.md").partition("\n## Writing policies\n")[2].partition("\n## ")[0]
    assert all(f"`{kind}`" in guide for kind in KINDS)
    assert "|".join(SHELLS) in guide
    assert all(f"podberth {command}" in guide for command in ("policies init", "policies schema", "lint", "completion"))
