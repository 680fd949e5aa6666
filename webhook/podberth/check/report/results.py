"""Functions that several output formats share: a result's name, changes as a patch, and findings as text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...kube.json_patch import Operation, steps_of
from ...words import counted
from ..result import RECORD, VERDICTS, DocumentChange, Finding, Report, Result, Verdict

STDIN = "-"
_WITHOUT_PODS: Final = "without pods"
_NOT_CHECKED: Final = "not checked"
_NOT_JUDGED: Final = "not judged by policies until the errors are fixed"


def title(result: Result) -> str:
    """Return the title of a result: the object, then the template's path, as ``Deployment/team/web spec.template``.

    The path is left out if the document itself is the pod template.
    """
    name = result.object_name or "document"
    return f"{name} {result.path}" if result.path else name


def shown(file: str) -> str:
    """Return a file's name for messages: ``<stdin>`` for standard input."""
    return "<stdin>" if file == STDIN else file


def place(file: str, line: int) -> str:
    """Return ``file:line``; only the file if ``line`` is 0."""
    return f"{shown(file)}:{line}" if line else shown(file)


def sentence(finding: Finding) -> str:
    """Return a finding as ``policy: field: message``, without empty parts."""
    return ": ".join(part for part in (finding.policy, finding.field, finding.message) if part)


def operations(changes: Sequence[DocumentChange]) -> list[Operation]:
    """Return the changes as operations of a JSON Patch."""
    return [Operation(each.op, steps_of(each.path), value=each.value) for each in changes]


def reasons(result: Result) -> list[tuple[str, str]]:
    """Return the (policy, reason) pairs of changes to a document, each pair once, in the order of the changes."""
    return list(dict.fromkeys((each.policy, each.reason) for each in result.changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the formats for people show of a report."""

    record: bool = False
    """Whether the change is shown by which podberth records on the pod what policies have changed."""
    quiet: bool = False
    """Whether only denials, errors and warnings are shown."""

    def of(self, report: Report) -> Iterator[Result]:
        """Yield the results with what is shown of them."""
        for each in report.results:
            if not self.quiet:
                yield each if self.record else without_record(each)
            elif each.denials or each.errors or each.warnings:
                yield replace(each, changes=(), notes=())


ALL: Final = Shown()


def without_record(result: Result) -> Result:
    """Return a result without the change by which podberth records on the pod what policies have changed."""
    return replace(result, changes=tuple(each for each in result.changes if (each.policy, each.reason) != RECORD))


def summary(report: Report) -> str:
    """Return one sentence with the counts of a report."""
    said = [_counted(verdict, report) for verdict in VERDICTS if report.count(verdict)]
    warnings = sum(len(result.warnings) for result in report.results)
    said += [counted(warnings, "warning")] if warnings else []
    found = f"{counted(report.documents, 'document')}{_templates(report)} in {counted(report.files, 'file')}"
    return f"{found}: {', '.join(said)}" if said else f"{found}: nothing to check"


def _templates(report: Report) -> str:
    """Return the number of pod templates if a document has several, as the verdicts are those of templates."""
    inside = [each for each in report.results if each.path]
    if len(inside) == len({(each.file, each.api_version, each.object_name) for each in inside}):
        return ""
    return f" with {counted(sum(map(_is_of_pods, report.results)), 'pod template')}"


def _is_of_pods(result: Result) -> bool:
    """Return whether a result is that of a Pod or of a pod template."""
    return bool(result.path) or result.kind == "Pod"


def _counted(verdict: Verdict, report: Report) -> str:
    count = report.count(verdict)
    if verdict == "error":
        return counted(count, "error")
    # Only unchanged results change later.
    later = sum(each.changes_later for each in report.results if each.verdict == verdict)
    return f"{count} {verdict}" + (f" ({later} of them changed on admission)" if later else "")


def skipped(report: Report) -> list[tuple[str, str]]:
    """Return the documents that no policy judged in pairs of a heading and the kinds with their numbers.

    Documents "without pods" have nothing to check. Others are "not checked": a message of theirs says why. Errors of
    a template itself keep policies from it.
    """
    found: dict[str, list[Result]] = {_WITHOUT_PODS: [], _NOT_CHECKED: [], _NOT_JUDGED: []}
    for each in report.results:
        if each.verdict == "skipped":
            found[heading(each)].append(each)
        elif each.verdict == "error" and _is_of_pods(each) and not any(error.policy for error in each.errors):
            found[_NOT_JUDGED].append(each)
    return [(named, _kinds(results)) for named, results in found.items() if results]


def heading(skipped: Result) -> str:
    """Return the heading under which the summary counts a skipped document."""
    return _NOT_CHECKED if skipped.path or skipped.warnings or skipped.notes else _WITHOUT_PODS


def _kinds(results: Iterable[Result]) -> str:
    kinds = Counter(f"{each.api_version} {each.kind}".strip() for each in results)
    return ", ".join(f"{count} {kind or 'without a kind'}" for kind, count in sorted(kinds.items()))


def by_file(report: Report) -> dict[str, Sequence[Result]]:
    """Return a mapping from a file to the file's results, in the order of the report."""
    files: dict[str, list[Result]] = {}
    for result in report.results:
        files.setdefault(result.file, []).append(result)
    return dict(files)
