"""Exceptions in decisions: a policy that is excepted neither writes, warns nor denies, until the very end."""

from datetime import timedelta
from typing import Any

import pytest

from builders import gpu_pod, pod, review
from exceptions import BEFORE, END, exception
from podberth.admission import decide
from podberth.admission.explain import explain
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from snapshots import policy, snapshot

WRITES = policy("writes", "  mutations:\n  - labels: {team: \"'vision'\"}", order=1)
DENIES = policy(
    "denies", "  validations:\n  - {expression: gpu.count < 2, message: too many}\n  validationActions: [Deny]"
)
WARNS = policy(
    "warns", "  validations:\n  - {expression: 'false', message: be careful}\n  validationActions: [Warn, Audit]"
)
FAILS = policy("fails", "  mutations:\n  - labels: {a: \"object.metadata.labels['none']\"}\n  failurePolicy: Fail")


def asked(document: dict[str, Any], **fields: Any) -> AdmissionRequest:
    return decode_review(review(document, **fields))


def both(known: Snapshot, document: dict[str, Any]) -> tuple[Outcome, Outcome]:
    return decide.mutate(asked(document), known), decide.validate(asked(document), known)


def said(outcome: Outcome) -> dict[str, str]:
    """Return the audit annotations of an answer."""
    return dict(outcome.response["response"].get("auditAnnotations", {}))


def test_a_policy_that_is_excepted_neither_writes_nor_warns_nor_denies_nor_fails() -> None:
    known = snapshot(WRITES, DENIES, WARNS, FAILS, exception("pinned", "writes", "denies", "warns", "fails"))
    mutated, validated = both(known.at(BEFORE), gpu_pod(4))
    assert (mutated.verdict, mutated.warnings, mutated.patch) == ("allowed", (), [])
    assert (validated.verdict, validated.warnings) == ("allowed", ())
    assert said(mutated) == {"writes.exception": "pinned", "fails.exception": "pinned"}
    assert said(validated) == {"denies.exception": "pinned", "warns.exception": "pinned"}
    assert {(each.policy, each.action) for each in (*mutated.decisions, *validated.decisions)} == {
        (name, "except") for name in ("writes", "denies", "warns", "fails")
    }


def test_the_answers_change_at_the_end_although_equal_pods_were_remembered() -> None:
    known = snapshot(WRITES, DENIES, exception("pinned", "writes", "denies"))
    for _ in range(3):  # the third is answered from memory
        known = known.at(BEFORE)
        mutated, validated = both(known, gpu_pod(4))
        assert (mutated.patch, validated.verdict) == ([], "allowed")
        assert said(validated) == {"denies.exception": "pinned"}
    for _ in range(3):
        known = known.at(END)
        mutated, validated = both(known, gpu_pod(4))
        assert (mutated.verdict, validated.denial) == ("mutated", "podberth denies: too many")
        assert (said(mutated), said(validated)) == ({}, {})
    for _ in range(2):
        known = known.at(BEFORE)
        assert both(known, gpu_pod(4))[1].verdict == "allowed", "a clock that is put back"


def test_memory_is_kept_for_as_long_as_the_same_exceptions_are_in_force() -> None:
    first = snapshot(WRITES, exception("a", "writes"), exception("b", "writes", until="2027-03-30T00:00:00Z"))
    known = first.at(BEFORE - timedelta(days=2))
    assert known.at(BEFORE - timedelta(days=2, seconds=-1)) is known
    later = known.at(BEFORE)
    assert [each.name for each in later.in_force["default"]] == ["a"]
    assert later.recall is not known.recall
    assert later.plans is known.plans
    assert later.with_workloads(later.facts).in_force == later.in_force


@pytest.mark.parametrize(
    ("more", "document", "holds"),
    [
        ("  podSelector: {matchLabels: {app: trainer}}\n", gpu_pod(4, labels={"app": "trainer"}), True),
        ("  podSelector: {matchLabels: {app: trainer}}\n", gpu_pod(4), False),
        ("  expression: gpu.count == 4\n", gpu_pod(4), True),
        ("  expression: gpu.count == 3\n", gpu_pod(4), False),
        ("  expression: object.metadata.name.startsWith('p')\n", gpu_pod(4), True),
        ("  expression: object.metadata.labels['a'] == 'b'\n", gpu_pod(4), False),
        ("  expression: request.userInfo.username == 'nobody'\n", gpu_pod(4), False),
        ("  expression: \"!has(object.spec.nodeName) && gang.name == ''\"\n", gpu_pod(4), True),
    ],
)
def test_an_exception_holds_for_the_pods_that_it_selects(more: str, document: dict[str, Any], holds: bool) -> None:
    known = snapshot(DENIES, exception("pinned", "denies", more=more)).at(BEFORE)
    for _ in range(3):
        assert (decide.validate(asked(document), known).verdict == "allowed") is holds


def test_an_exception_holds_in_its_namespaces_alone() -> None:
    known = snapshot(DENIES, exception("pinned", "denies", namespace="vision")).at(BEFORE)
    elsewhere = decide.validate(asked(gpu_pod(4)), known)
    document = gpu_pod(4)
    document["metadata"]["namespace"] = "vision"
    assert elsewhere.verdict == "denied"
    assert decide.validate(asked(document, namespace="vision"), known).verdict == "allowed"


def test_pods_that_differ_in_what_an_exception_reads_share_no_remembered_decision() -> None:
    more = "  podSelector: {matchLabels: {app: trainer}}\n"
    known = snapshot(WRITES, exception("pinned", "writes", more=more)).at(BEFORE)
    for _ in range(3):
        assert decide.mutate(asked(gpu_pod(1, labels={"app": "trainer"})), known).verdict == "allowed"
        assert decide.mutate(asked(gpu_pod(1, labels={"app": "server"})), known).verdict == "mutated"


def test_a_policy_that_would_not_be_asked_is_not_said_to_be_excepted() -> None:
    known = snapshot(DENIES, exception("pinned", "denies")).at(BEFORE)
    assert decide.validate(asked(pod()), known).decisions == ()


def test_of_several_exceptions_the_first_by_name_is_said() -> None:
    known = snapshot(DENIES, exception("b", "denies"), exception("a", "denies")).at(BEFORE)
    assert said(decide.validate(asked(gpu_pod(4)), known)) == {"denies.exception": "a"}


def test_another_policy_still_denies_and_the_audit_annotation_stays() -> None:
    known = snapshot(DENIES, WARNS.replace("[Warn, Audit]", "[Deny]"), exception("pinned", "denies")).at(BEFORE)
    outcome = decide.validate(asked(gpu_pod(4)), known)
    assert outcome.denial == "podberth warns: be careful"
    assert said(outcome) == {"denies.exception": "pinned"}


def test_explain_says_which_exception_and_until_when() -> None:
    known = snapshot(DENIES, exception("pinned", "denies")).at(BEFORE)
    [found] = explain(asked(gpu_pod(4)), known).policies
    assert [each.why for each in found.askings] == [
        "not evaluated: exception pinned until 2027-03-31T00:00:00+00:00, for team-vision: the driver is pinned"
    ]
    [ended] = explain(asked(gpu_pod(4)), known.at(END)).policies
    assert [each.matched for each in ended.askings] == [True]


def test_a_snapshot_with_exceptions_and_without_a_moment_decides_nothing() -> None:
    with pytest.raises(ValueError, match="no moment"):
        decide.validate(asked(gpu_pod(4)), snapshot(DENIES, exception("pinned", "denies")))


def test_an_exception_from_no_known_policy_is_a_note() -> None:
    notes = [each.message for each in snapshot(DENIES, exception("pinned", "denied")).notes]
    assert notes == ["got 'denied', and there is no policy of this name; did you mean denies?"]
