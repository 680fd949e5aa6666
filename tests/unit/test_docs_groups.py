"""docs/groups.md has every line that is reported of wrong groups, and no other."""

from pages import page
from podberth.group_checks.checks import CHECKS
from wrong_groups import WRONG

PAGE = page("docs/groups.md")


def test_every_line_is_on_the_page_under_its_check_and_no_other() -> None:
    for check in CHECKS:
        section = PAGE.partition(f"\n## {check.name}\n")[2].partition("\n## ")[0]
        shown = [line.partition("` | ")[0][3:] for line in section.splitlines() if line.startswith("| `")]
        assert shown == [scene.line for scene in WRONG if scene.check == check.name]


def test_the_checks_are_in_their_order() -> None:
    headings = [line[3:] for line in PAGE.splitlines() if line.startswith("## ")]
    assert headings == [*(check.name for check in CHECKS), "What is not reported"]
