"""Writes a ``tests.yaml`` from what is seen: a case for each pod, with the result that ``podberth test`` finds."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..admission.snapshot import Snapshot
from ..kube.yaml_text import as_yaml
from ..policy.exception_model import rfc3339
from ..policy.parse import ParsedPolicies
from ..suite.case_file import parse_suite
from ..suite.coverage import Observer
from ..suite.natives import SuiteNatives
from ..suite.runner import CaseResult, SuiteResult, SuiteSettings, run_suite, written
from ..wellknown import APPLIED_ANNOTATION

_FILE = "tests.yaml"
MOST_CASES = 5
"""The most cases: each is run twice, over a cluster of its own."""


def tests_of(
    cluster: Mapping[str, Any],
    pods: Sequence[tuple[str, Mapping[str, Any], str]],
    policies: ParsedPolicies,
    snapshot: Snapshot,
    now: datetime,
) -> tuple[str, tuple[str, ...]]:
    """Return (text of a suite, messages about cases that cannot be run or do not pass).

    Args:
        cluster: the cluster as the fields of a suite.
        pods: (title, pod, verdict without native policies) for each case; the first ``MOST_CASES`` become cases.
        policies: the policies that are tested.
        snapshot: a snapshot with the compiled policies.
        now: the time for exceptions.
    """
    pods = pods[:MOST_CASES]
    cases = list(_cases(pods, {"now": rfc3339(now.astimezone(UTC))} if policies.exceptions else {}))
    if not cases:
        return "", ()
    found = _run({**cluster, "cases": cases}, policies, snapshot, now)
    if isinstance(found, str):
        return "", (found,)
    expected = [
        {**case, "expect": _expectation(case["pod"], result)} for case, result in zip(cases, found.cases, strict=True)
    ]
    suite = {**cluster, "cases": expected}
    again = _run(suite, policies, snapshot, now)
    said = (again,) if isinstance(again, str) else tuple(map(str, again.violations))
    # The verdict has no part of native policies.
    explained = () if policies.others else pods
    other = (
        f"{title}: the case is {result.verdict or 'admitted'}, the decision {verdict}"
        for (title, _, verdict), result in zip(explained, found.cases, strict=False)
        if (result.verdict == "denied") != (verdict == "denied")
    )
    return as_yaml(suite), (*said, *other)


def _cases(pods: Sequence[tuple[str, Mapping[str, Any], str]], moment: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a case for each pod; ``moment`` has the field ``now`` if an exception may end, and else no field."""
    names: set[str] = set()
    for number, (title, pod, _) in enumerate(pods, 1):
        name = f"{title} ({number})" if title in names else title
        names.add(name)
        given = {key: value for key, value in pod.items() if key not in ("apiVersion", "kind")}
        yield {"name": name, **moment, "pod": given, "expect": {"verdict": "admitted"}}


def _run(suite: Mapping[str, Any], policies: ParsedPolicies, snapshot: Snapshot, now: datetime) -> SuiteResult | str:
    parsed, problems = parse_suite(as_yaml(suite), _FILE)
    if parsed is None or problems:
        return "; ".join(map(str, problems))
    observer = Observer()
    natives = SuiteNatives(parsed, policies, snapshot.environment, observer) if policies.others else None
    settings = SuiteSettings(now=now, conventions=snapshot.conventions, natives=natives, compiled=snapshot)
    return run_suite(parsed, policies, snapshot.environment, settings, observer)


def _expectation(pod: Mapping[str, Any], result: CaseResult) -> dict[str, Any]:
    """Return the expectation of a case: its verdict, its texts, and the part of the pod that policies changed."""
    found: dict[str, Any] = {"verdict": result.verdict or "admitted", "warnings": list(result.warnings)}
    if result.denial:
        found["denials"] = [result.denial]
    if result.pod is not None and (changed := _changed(written(dict(pod)), result.pod)):
        found["patched"] = changed
    return found


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of ``after`` that differs from ``before``; a removed key is null.

    podberth's own record is left out, and so are apiVersion and kind, which a suite need not state.
    """
    found = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key in ("apiVersion", "kind", APPLIED_ANNOTATION) or before.get(key) == value:
            continue
        part = _part(before.get(key), value)
        if part not in ({}, []):
            found[key] = part
    return found


def _part(before: Any, after: Any) -> Any:
    if isinstance(after, dict):
        return _changed(before if isinstance(before, dict) else {}, after)
    if isinstance(before, list) and isinstance(after, list):
        old = {each["name"]: each for each in before if isinstance(each, dict) and "name" in each}
        return [
            {"name": each["name"], **_changed(old[each["name"]], each)}
            if isinstance(each, dict) and each.get("name") in old
            else each
            for each in after
            if each not in before
        ]
    return after
