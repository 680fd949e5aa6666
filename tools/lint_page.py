"""Write the rules of docs/lint.md: the manual of each, from the rules' own docstrings.

.venv/bin/python tools/lint_page.py           # writes it if it has changed
.venv/bin/python tools/lint_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import re
import sys

from generated import main, spliced

from podberth.lint.findings import LintRule
from podberth.lint.rules import RULES

PAGE = "docs/lint.md"
_EXAMPLE = re.compile(r"(?:^    [^\n]*\n(?:\n(?=    ))?)+", re.MULTILINE)


def _rules() -> str:
    rows = "".join(f"| [{rule.name}](#{rule.name}) | {rule.level} | {_first(rule)} |\n" for rule in RULES)
    sections = "\n".join(map(_section, RULES))
    return f"| rule | level | finds |\n|---|---|---|\n{rows}\n{sections}"


def _section(rule: LintRule) -> str:
    level = str(rule.level).capitalize()
    return f"### {rule.name}\n\n{level}. {_EXAMPLE.sub(_fenced, rule.manual + chr(10))}"


def _fenced(block: re.Match[str]) -> str:
    lines = "".join(line[4:] if line.strip() else line for line in block[0].splitlines(keepends=True))
    return f"```yaml\n{lines}```\n"


def _first(rule: LintRule) -> str:
    return rule.manual.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, {"rules": _rules()})}))
