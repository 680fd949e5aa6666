"""The report as GitHub Actions workflow commands, which GitHub shows at the lines of a pull request.

Syntax and escapes: https://docs.github.com/actions/reference/workflow-commands-for-github-actions and actions/toolkit
packages/core/src/command.ts. GitHub keeps 10 errors, 10 warnings and 10 notices of a step. So the most severe findings
come first, and the summary has the true counts. ``-o sarif`` has a higher limit: GitHub shows 5,000 results.
"""

from collections.abc import Iterator

from ..result import Finding, Report, Result
from .results import STDIN, by_file, place, reasons, sentence, shown, skipped, summary, title
from .styled_lines import inert, visible


def render(report: Report) -> str:
    """Return the report as workflow commands of GitHub Actions, grouped by file.

    The last lines are the summary and, if documents were skipped, the kinds of the skipped documents.
    """
    lines: list[str] = []
    for file, results in by_file(report).items():
        commands = [line for result in results for line in _commands(result)]
        if commands:
            # sorted() is stable: the order of lines stays within each level
            commands.sort(key=_gravity)
            lines += [f"::group::{_escaped(shown(file))}", *commands, "::endgroup::"]
    lines.append(_plain(f"podberth check: {summary(report)}"))
    lines += [_plain(f"podberth check: {heading}: {kinds}") for heading, kinds in skipped(report)]
    return "".join(f"{line}\n" for line in lines)


def _commands(result: Result) -> Iterator[str]:
    for level, findings in (("error", (*result.denials, *result.errors)), ("warning", result.warnings)):
        yield from (_finding(level, result, each) for each in findings)
    if result.verdict == "mutated":
        said = "\n".join(f"{policy}: {reason}" if reason else policy for policy, reason in reasons(result))
        yield _command("notice", result, result.line, f"{title(result)}: changed", said)


def _finding(level: str, result: Result, finding: Finding) -> str:
    author = f"{finding.policy}: " if finding.policy else ""
    return _command(level, result, finding.line, f"{author}{title(result)}", sentence(finding))


def _command(level: str, result: Result, line: int, head: str, text: str) -> str:
    if result.file == STDIN:  # GitHub has no such file
        return command(level, f"{place(result.file, line)}: {text}", title=head)
    return command(level, text, file=result.file.removeprefix("./"), line=str(line or ""), title=head)


def command(level: str, text: str, **properties: str) -> str:
    """Return the workflow command that shows a text; a property with an empty value is left out."""
    listed = ",".join(f"{key}={_escaped_property(value)}" for key, value in properties.items() if value)
    return f"::{level} {listed}::{_escaped(text)}"


def _gravity(command: str) -> int:
    return ("::error", "::warning", "::notice").index(command.partition(" ")[0])


def _escaped(text: str) -> str:
    """Return a text escaped for the message of a workflow command."""
    shown = visible(text, keep="\r\n").replace("%", "%25")
    return shown.replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    """Return a text escaped for a property of a workflow command."""
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """Return ``text`` as one line of the log that GitHub's runner does not read as a workflow command."""
    return inert(visible(text))
