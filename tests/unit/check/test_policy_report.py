"""PolicyReports: what is a result of which kind, since when, how many there are, and how large they get."""

import json
from collections.abc import Sequence
from typing import Any

from podberth.check.report.policy_report import MAX_BYTES, policy_reports
from podberth.check.result import Finding, Live, Report, Result


def found(message: str, action: str = "", policy: str = "p") -> Finding:
    return Finding(
        policy=policy, message=message, field="spec", line=0, action=action, rule="validations" if policy else ""
    )


def result(name: str, **more: Any) -> Result:
    return Result(
        **{
            "file": "cluster",
            "line": 0,
            "api_version": "v1",
            "kind": "Pod",
            "namespace": "a",
            "name": name,
            "path": "",
            "verdict": "unchanged",
            **more,
        }
    )


def report(*results: Result, missing: Sequence[str] = ()) -> Report:
    live = Live(
        workloads=len(results),
        denied=0,
        error=0,
        changed=0,
        unchanged=0,
        warned=0,
        owned=0,
        finished=0,
        exempt=0,
        unknown={},
        missing=tuple(missing),
        policies=(),
    )
    return Report(results=results, files=1, documents=len(results), live=live)


def test_denials_and_audits_fail_warnings_warn_and_errors_are_errors() -> None:
    one = result(
        "x",
        denials=(found("d", "deny"),),
        audits=(found("a", "audit"),),
        warnings=(found("w", "warn"), found("e", "error")),
        errors=(found("u", policy=""),),
        held_back=("q",),
    )
    [(namespace, body)] = policy_reports(report(one, result("clean")), 7, {}).items()
    said = [(each["message"], each["result"], each["scored"], each["policy"]) for each in body["results"]]
    assert namespace == "a"
    assert said == [
        ("a", "fail", True, "p"),
        ("d", "fail", True, "p"),
        ("e", "error", False, "p"),
        ("u", "error", False, "podberth"),
        ("w", "warn", False, "p"),
    ]
    assert body["summary"] == {"fail": 2, "error": 2, "warn": 1, "pass": 1, "skip": 1}
    assert body["results"][0]["resources"] == [{"apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "x"}]
    assert body["results"][0]["timestamp"] == {"seconds": 7, "nanos": 0}


def test_without_findings_there_is_no_report_even_where_something_is_missing() -> None:
    assert policy_reports(report(result("x"), missing=["v1 Secret: 403"]), 7, {}) == {}


def test_a_report_says_what_it_is_not_of() -> None:
    one = result("x", warnings=(found("w", "warn"),))
    [body] = policy_reports(report(one, missing=["batch/v1 Job: 403"]), 7, {}).values()
    assert [each["message"] for each in body["results"]] == ["w", "not checked: batch/v1 Job: 403"]


def test_a_finding_that_was_there_keeps_its_time() -> None:
    old = policy_reports(report(result("x", warnings=(found("w", "warn"),))), 7, {})
    new = policy_reports(report(result("x", warnings=(found("w", "warn"), found("v", "warn")))), 9, old)
    assert [(each["message"], each["timestamp"]["seconds"]) for each in new["a"]["results"]] == [("v", 9), ("w", 7)]
    assert policy_reports(report(result("x", warnings=(found("w", "warn"),))), 9, old) == old


def test_a_report_never_outgrows_etcd_and_counts_what_is_left_out() -> None:
    many = [result(f"pod-{number}", warnings=(found("w" * 2000, "warn"),)) for number in range(3000)]
    [body] = policy_reports(report(result("first", denials=(found("d", "deny"),)), *many), 7, {}).values()
    assert len(json.dumps(body)) < MAX_BYTES * 1.2 < 1.5 * 2**20
    assert body["results"][0]["result"] == "fail"
    last = body["results"][-1]
    left = 3001 - (len(body["results"]) - 1)
    assert (last["result"], last["message"].partition(" ")[0]) == ("skip", str(left))
    assert (body["summary"]["fail"], body["summary"]["warn"]) == (1, 3000)
