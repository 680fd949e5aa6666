"""The report about live workloads as text: counts, then each denied or changed workload with policy and reason."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ...words import counted
from ..result import Finding, Live, PolicyCount, Report, Result
from .results import title
from .styled_lines import Line, Span

_INDENT: Final = "  "
_HANGING: Final = 6
_ALL: Final = 100


_KINDS: Final = (("denied", "bold red"), ("changed", "bold green"), ("warned", "yellow"), ("audited", "dim"))


def lines(report: Report) -> Iterator[Line]:
    """Yield the lines of a report about live workloads: a summary, the effects of each policy, the workloads left out.

    Raises:
        ValueError: the report is not about live workloads.
    """
    live = report.live
    if live is None:
        raise ValueError("got a report of manifests, want one of live workloads")
    grave = live.denied + live.error
    yield Line((Span(headline(live), "bold red" if grave else "bold"),), len(_INDENT))
    for kind, style in _KINDS:
        yield from _section(kind, style, _said(kind, report.results))
    yield from _errors(report.results)
    rest = list(_rest(live))
    if rest:
        yield Line(())
    for text in rest:
        yield Line((Span(text, "dim"),), len(_INDENT))


def headline(live: Live) -> str:
    """Return the counts of workloads as a phrase: ``3 of 120 workloads would be denied, 17 changed``."""
    text = f"{live.denied} of {counted(live.workloads, 'workload')} would be denied, {live.changed} changed"
    text += f", {live.warned} warned" if live.warned else ""
    return text + (f"; {live.error} could not be checked" if live.error else "")


def _said(kind: str, results: Sequence[Result]) -> list[tuple[str, str, str]]:
    """Return (policy, workload, reason) for each effect of the kind ``kind``, such as "denied"."""
    if kind == "changed":
        return [(each.policy, _name(result), each.reason) for result in results for each in result.wrote]
    findings = {"denied": "denials", "warned": "warnings", "audited": "audits"}[kind]
    return [(each.policy, _name(result), _where(each)) for result in results for each in getattr(result, findings)]


def _name(result: Result) -> str:
    """Return the workload's name without the path of a template, because the findings show the path."""
    return title(replace(result, path=""))


def _where(finding: Finding) -> str:
    return f"{finding.field}: {finding.message}" if finding.field else finding.message


def _section(kind: str, style: str, said: Sequence[tuple[str, str, str]]) -> Iterator[Line]:
    """Yield the lines about one effect, such as "denied": each policy with its workloads.

    The policy with the most workloads is first.
    """
    by_policy: dict[str, dict[tuple[str, str], None]] = {}
    for policy, workload, why in said:
        by_policy.setdefault(policy, {})[workload, why] = None
    for policy, found in sorted(by_policy.items(), key=lambda item: (-len(item[1]), item[0])):
        yield Line(())
        count = len({workload for workload, _ in found})
        name = Span(policy or "podberth", "bold")
        yield Line((Span(kind, style), Span(" by "), name, Span(f": {counted(count, 'workload')}")), len(_INDENT))
        for workload, why in sorted(found):
            yield Line((Span(f"{_INDENT}{workload}", "cyan"), Span(f": {why}" if why else "")), _HANGING)


def _errors(results: Sequence[Result]) -> Iterator[Line]:
    wrong = [(result, each) for result in results for each in result.errors]
    if wrong:
        yield Line(())
        yield Line((Span("not checked", "bold red"),))
    for result, each in wrong:
        place = result.file if not result.kind else _name(result)
        yield Line((Span(f"{_INDENT}{place}", "cyan"), Span(f": {_where(each)}")), _HANGING)


def _rest(live: Live) -> Iterator[str]:
    """Yield the lines about workloads that the counts leave out, and about policies' rollouts."""
    for each in live.policies:
        if each.in_force:
            yield f"in force: {each.policy} has written what it would on live pods of {_of(each.in_force, live)}"
        if each.percent != _ALL and each.held_back:
            yield _partial(each, live)
    if live.owned:
        yield f"not repeated: {counted(live.owned, 'object')} that these workloads created"
    if live.finished:
        yield f"left out: {counted(live.finished, 'workload')} done or being deleted"
    if live.exempt:
        yield f"left out: {counted(live.exempt, 'workload')} in namespaces that podberth never sees"
    for kind, count in live.unknown.items():
        yield f"not checked: {count} {kind}, a kind that podberth does not know; see --template-path"
    yield from (f"missing: {each}" for each in live.missing)


def _partial(each: PolicyCount, live: Live) -> str:
    reached = live.workloads - each.held_back
    return f"rollout: {each.policy} is asked about {_of(reached, live)} ({each.percent} percent); all: --as rolled-out"


def _of(count: int, live: Live) -> str:
    return f"{count} of {counted(live.workloads, 'workload')}"
