"""The report in the format of GitLab's Code Quality widget, which shows findings at the lines of a merge request.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format. A change that a policy makes is no
defect, so the change is left out.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..result import Report, Result
from .results import STDIN, sentence, title
from .sarif import digest
from .styled_lines import visible

_OWN_CHECK = "podberth"


def as_code_quality(report: Report) -> list[dict[str, Any]]:
    """Return the report as a list of GitLab's issues, as plain JSON.

    Results of standard input are left out, because GitLab has no file in which to show the results.
    """
    found = [each for result in report.results if result.file != STDIN for each in _findings(result)]
    seen: Counter[str] = Counter()
    for each in found:
        own = each["fingerprint"]
        seen[own] += 1
        each["fingerprint"] = f"{own}:{seen[own]}"  # two templates of one name may have equal findings
    return found


def _findings(result: Result) -> Iterator[dict[str, Any]]:
    for severity, findings in (("major", (*result.denials, *result.errors)), ("minor", result.warnings)):
        for each in findings:
            text, check = visible(f"{title(result)}: {sentence(each)}"), each.policy or _OWN_CHECK
            yield {
                "description": text,
                "check_name": check,
                # Without the line: a finding stays the same when lines above it are added or removed
                "fingerprint": digest(check, severity, result.file, text),
                "severity": severity,
                "location": {
                    "path": result.file.removeprefix("./"),
                    "lines": {"begin": each.line or result.line or 1},
                },
            }
