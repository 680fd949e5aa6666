"""Makes PolicyReports from the findings about live workloads: one PolicyReport for each namespace with findings.

https://github.com/kubernetes-sigs/wg-policy-prototypes/tree/main/policy-report defines the fields; the reports of
openreports.io have these fields, too. A policy's change is no finding.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import orjson

from ..result import Finding, Report, Result

Document: TypeAlias = dict[str, Any]
Outcome: TypeAlias = Literal["fail", "error", "warn"]

NAME: Final = "podberth"
LABELS: Final = {"app.kubernetes.io/managed-by": "podberth"}
SOURCE: Final = "podberth"
MAX_BYTES: Final = 2**20
"""The limit for the size of one report's results in bytes: etcd accepts 1.5 MiB for a request (--max-request-bytes),
including metadata and summary."""

_ORDER: Final[tuple[Outcome, ...]] = ("fail", "error", "warn")
_SEVERITIES: Final[Mapping[str, str]] = {"fail": "high", "error": "medium", "warn": "low", "skip": "info"}
# Rule 14 of docs/rules.md allows 256; the error of an unreadable document may be longer.
_MESSAGE: Final = 1024


def policy_reports(report: Report, at: int, before: Mapping[str, Document]) -> dict[str, Document]:
    """Return a mapping from each namespace with findings to the results and the summary of a PolicyReport.

    The results and the summary are the fields ``results`` and ``summary``. ``at`` is the time in seconds since 1970.
    ``before`` is a mapping from namespaces to the cluster's present PolicyReports. If a present PolicyReport already
    has a finding, the finding keeps the time at which it was first made.
    """
    found: dict[str, list[Result]] = {}
    for result in report.results:
        if result.namespace:
            found.setdefault(result.namespace, []).append(result)
    missing = report.live.missing if report.live else ()
    reports = {}
    for namespace, results in sorted(found.items()):
        entries = sorted((each for one in results for each in _entries(one)), key=_order)
        if entries:
            entries += [_of_podberth("error", f"not checked: {each}") for each in missing]
            there: list[Document] = before.get(namespace, {}).get("results") or []
            known = {_key(each): each.get("timestamp") for each in there}
            kept = _within(entries)
            timed = [{**each, "timestamp": known.get(_key(each)) or {"seconds": at, "nanos": 0}} for each in kept]
            reports[namespace] = {"results": timed, "summary": _summary(results, entries)}
    return reports


def _entries(result: Result) -> Iterator[Document]:
    graded: tuple[tuple[Outcome, Sequence[Finding]], ...] = (
        ("fail", (*result.denials, *result.audits)),
        ("error", result.errors),
        ("warn", result.warnings),
    )
    for outcome, findings in graded:
        for each in findings:
            yield _entry(result, each, "error" if each.action == "error" else outcome)


def _entry(result: Result, finding: Finding, outcome: Outcome) -> Document:
    resource = {"apiVersion": result.api_version, "kind": result.kind, "namespace": result.namespace}
    return {
        **_of_podberth(outcome, finding.message),
        "policy": finding.policy or SOURCE,
        **({"rule": finding.rule} if finding.rule else {}),
        **({"properties": {"field": finding.field}} if finding.field else {}),
        "resources": [{**resource, "name": result.name}],
    }


def _of_podberth(outcome: str, message: str) -> Document:
    return {
        "source": SOURCE,
        "policy": SOURCE,
        "category": "GPU",
        "result": outcome,
        # Only a denial counts in a score; a warning is advice.
        "scored": outcome == "fail",
        "severity": _SEVERITIES[outcome],
        "message": message[:_MESSAGE],
    }


def _order(entry: Document) -> tuple[int, str, bytes]:
    return _ORDER.index(entry["result"]), entry["policy"], _key(entry)


def _key(entry: Mapping[str, Any]) -> bytes:
    """Return a key of a finding; two findings that differ only in their times have equal keys."""
    return orjson.dumps({key: value for key, value in entry.items() if key != "timestamp"}, option=orjson.OPT_SORT_KEYS)


def _within(entries: Sequence[Document]) -> list[Document]:
    """Return the most severe findings that fit into MAX_BYTES; the last one says how many are left out."""
    room = MAX_BYTES
    for index, each in enumerate(entries):
        # The time and the commas of an entry take about 60 bytes more
        room -= len(_key(each)) + 64
        if room < 0:
            left = (
                f"{len(entries) - index} more findings are left out of this report; podberth check --cluster shows all"
            )
            return [*entries[:index], _of_podberth("skip", left)]
    return list(entries)


def _summary(results: Sequence[Result], entries: Sequence[Document]) -> dict[str, int]:
    """Return the summary of a PolicyReport: the number of findings by result, including findings that are left out.

    The field "pass" is the number of pod templates without findings. "skip" counts each template once for every policy
    whose rollout does not include the template's pod.
    """
    counted = Counter(each["result"] for each in entries)
    clean = [each for each in results if not (each.denials or each.audits or each.errors or each.warnings)]
    held_back = sum(len(each.held_back) for each in results)
    found: dict[str, int] = {each: counted[each] for each in _ORDER}
    return {**found, "pass": len(clean), "skip": held_back}
