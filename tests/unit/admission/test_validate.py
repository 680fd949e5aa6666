"""/validate: failures go by validationActions; errors are failures under failurePolicy Fail and pass under Ignore."""

import json
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from snapshots import policy, snapshot
from tenants import limits

FALSE = "  - {expression: gpu.count > 9, message: too few}"
ERROR = "  - {expression: \"object.metadata.labels['no'] == 'x'\", message: no label}"


def _audited(value: str) -> str:
    return f'  auditAnnotations:\n  - {{key: k, valueExpression: "{value}"}}\n'


def judge(validations: str, actions: str, *, more: str = "", document: dict[str, Any] | None = None) -> Outcome:
    text = policy("p", f"  validations:\n{validations}\n  validationActions: [{actions}]\n{more}")
    return decide.validate(decode_review(review(document or gpu_pod(labels={"a": "b"}))), snapshot(text))


def test_a_denial_carries_code_reason_and_all_messages() -> None:
    more = "\n  - {expression: gpu.count > 8, message: far too few}"
    status = judge(FALSE + more, "Deny").response["response"]["status"]

    assert status == {
        "status": "Failure",
        "message": "podberth p: too few\npodberth p: far too few",
        "reason": "Invalid",
        "code": 422,
    }


@pytest.mark.parametrize(
    ("reason", "code"), [("Unauthorized", 401), ("Forbidden", 403), ("RequestEntityTooLarge", 413)]
)
def test_the_reason_sets_the_code(reason: str, code: int) -> None:
    validation = f"  - {{expression: gpu.count > 9, message: not this one, reason: {reason}}}"

    assert judge(validation, "Deny").response["response"]["status"]["code"] == code


def test_warn_warns_and_admits() -> None:
    outcome = judge(FALSE, "Warn")

    assert outcome.response["response"]["allowed"] is True
    assert outcome.warnings == ("podberth p: too few",)


def test_audit_leaves_an_annotation_and_no_word_to_the_user() -> None:
    outcome = judge(FALSE, "Audit", more="  auditAnnotations:\n  - {key: gpus, valueExpression: string(gpu.count)}")

    assert outcome.warnings == ()
    assert outcome.response["response"]["auditAnnotations"] == {"p.validation_failure": "too few", "p.gpus": "1"}


@pytest.mark.parametrize("nothing", ["''", "'  '", "dyn(null)"])
def test_an_audit_annotation_of_nothing_is_left_out(nothing: str) -> None:
    outcome = judge("  - {expression: 'true'}", "Warn", more=_audited(f"gpu.count > 9 ? 'many' : {nothing}"))

    assert "auditAnnotations" not in outcome.response["response"]


def test_a_long_audit_annotation_is_cut_as_upstream_does() -> None:
    document = gpu_pod(labels={"a": "b"}, annotations={"long": "é" * 10_000})
    more = _audited("object.metadata.annotations['long']")
    found = judge("  - {expression: 'true'}", "Warn", more=more, document=document)

    assert found.response["response"]["auditAnnotations"] == {"p.k": "é" * (5 * 1024)}


def test_the_values_of_an_audit_annotation_under_several_params_are_joined_each_once() -> None:
    values = {"a": "x, y", "b": "y", "c": "y", "d": "x, y"}
    params = [limits("default", name, v=v) for name, v in values.items()]
    more = (
        "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        f"  paramRef: {{selector: {{}}, parameterNotFoundAction: Deny}}\n{_audited('params.data.v')}"
    )
    known = snapshot(policy("p", more), objects=params)
    outcome = decide.validate(decode_review(review(gpu_pod())), known)

    assert outcome.response["response"]["auditAnnotations"] == {"p.k": "x, y, y"}


def test_an_error_denies_under_fail_and_passes_under_ignore_with_a_word() -> None:
    assert judge(ERROR, "Deny").verdict == "denied"
    ignored = judge(ERROR, "Deny", more="  failurePolicy: Ignore")
    assert ignored.verdict == "allowed"
    assert "no such key" in ignored.warnings[0]


def test_an_error_of_an_audit_annotation_denies_under_fail_whatever_the_actions() -> None:
    annotation = "  auditAnnotations:\n  - {key: k, valueExpression: \"object.metadata.labels['no']\"}"

    assert judge("  - {expression: 'true'}", "Warn", more=annotation).verdict == "denied"


def test_an_audit_annotation_that_fails_drops_no_other() -> None:
    failing = "  - {key: bad, valueExpression: \"object.metadata.labels['no']\"}\n"
    annotations = f"  failurePolicy: Ignore\n  auditAnnotations:\n{failing}  - {{key: good, valueExpression: \"'x'\"}}"
    outcome = judge("  - {expression: 'true'}", "Warn", more=annotations)

    assert outcome.response["response"]["auditAnnotations"] == {"p.good": "x"}


def test_an_error_has_the_reason_invalid_whatever_the_validation_states() -> None:
    validation = "  - {expression: \"object.metadata.labels['no'] == 'x'\", reason: Forbidden}"
    status = judge(validation, "Deny").response["response"]["status"]

    assert (status["reason"], status["code"]) == ("Invalid", 422)


def test_under_ignore_an_error_hides_no_failure_in_the_audit_log() -> None:
    outcome = judge(f"{ERROR}\n{FALSE}", "Audit", more="  failurePolicy: Ignore")

    assert outcome.response["response"]["auditAnnotations"] == {"p.validation_failure": "too few"}


@pytest.mark.parametrize(
    ("expression", "message"),
    [("' padded ' + '\\\\n'", "padded"), ("lists.range(600).map(i, 'ten letters').join()", "fixed")],
)
def test_a_computed_message_is_trimmed_and_falls_back_where_it_is_too_long(expression: str, message: str) -> None:
    validation = f'  - {{expression: gpu.count > 4, message: fixed, messageExpression: "{expression}"}}'

    assert judge(validation, "Deny").denial == f"podberth p: {message}"


def test_an_unreadable_gang_size_gives_a_warning() -> None:
    document = gpu_pod(labels={"podberth.io/gang": "g"}, annotations={"podberth.io/gang-size": "many"})

    assert "podberth.io/gang-size" in judge("  - {expression: 'true'}", "Warn", document=document).warnings[0]


def test_an_error_of_a_warn_policy_never_blocks() -> None:
    assert judge(ERROR, "Warn").verdict == "allowed"


@pytest.mark.parametrize("expression", ["object.metadata.labels['no']", "' '", "'two\\nlines'"])
def test_a_message_expression_without_a_usable_value_falls_back_to_the_message(expression: str) -> None:
    validation = f"  - {{expression: gpu.count > 9, message: plain, messageExpression: {json.dumps(expression)}}}"

    assert judge(validation, "Warn").warnings == ("podberth p: plain",)


def test_an_unreadable_memory_need_gives_a_warning() -> None:
    outcome = judge(
        "  - {expression: 'true'}", "Warn", document=gpu_pod(annotations={"podberth.io/gpu-memory": "lots"})
    )

    assert outcome.warnings[0].startswith("podberth: metadata.annotations[podberth.io/gpu-memory]:")


def test_ephemeral_containers_are_judged_too() -> None:
    text = policy(
        "p",
        "  matchConstraints:\n    resourceRules:\n"
        "    - operations: [UPDATE]\n      apiGroups: ['']\n      apiVersions: [v1]\n"
        f"      resources: [pods/ephemeralcontainers]\n  validations:\n{FALSE}\n  validationActions: [Deny]",
    )
    request = decode_review(review(gpu_pod(), "UPDATE", old=gpu_pod(), subResource="ephemeralcontainers"))

    assert decide.validate(request, snapshot(text)).verdict == "denied"


def test_a_message_that_is_no_text_falls_back_as_upstream() -> None:
    validation = "  - {expression: gpu.count > 9, message: too few, messageExpression: \"'%s'.format([b'\\\\xff'])\"}"

    outcome = judge(validation, "Deny")

    assert outcome.response["response"]["status"]["message"] == "podberth p: too few"


def test_a_place_beyond_the_end_of_a_list_is_not_there() -> None:
    validation = "  - {expression: 'object.spec.?containers[3].hasValue()', message: want a fourth container}"

    assert judge(validation, "Deny").verdict == "denied"


def test_what_is_created_has_no_old_object_to_look_into() -> None:
    expression = "has(oldObject.spec) || oldObject.?metadata.?labels[?'a'].orValue('') == 'b'"

    outcome = judge(f'  - {{expression: "{expression}", message: none}}', "Deny")

    assert (outcome.verdict, outcome.decisions[0].fault) == ("denied", False)


def test_a_condition_that_errs_is_in_the_audit_log_too() -> None:
    conditions = "  matchConditions:\n  - {name: c, expression: \"object.metadata.labels['no'] == 'x'\"}\n"

    outcome = judge("  - {expression: 'true'}", "Audit", more=conditions)

    assert outcome.response["response"]["auditAnnotations"] == {
        "p.validation_failure": "matchConditions c: no such key: no"
    }
