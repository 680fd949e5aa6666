"""A converted policy says about each pod what the GPUPolicy says."""

from collections import Counter

import pytest

from converted import Both, back, cases, converted, random_pods, shipped_policies
from podberth.convert.result import Converted
from snapshots import policy

SHIPPED = {name: (folder, text) for folder, name, text in shipped_policies()}
SMALL = {
    "count": "matchConditions: [{name: some, expression: gpu.count > 0}]\n  validations:\n"
    "  - {expression: gpu.count <= 8, messageExpression: \"'got ' + string(gpu.count)\"}\n  validationActions: [Deny]",
    "kinds": "matchConditions: [{name: some, expression: \"gpu.count > 0 && gpu.kind in ['mig', 'mixed']\"}]\n"
    "  validations:\n  - {expression: gpu.perContainer < 2}\n  - {expression: gpu.vendor != 'mixed'}\n"
    "  validationActions: [Warn]",
    "error": "scope: All\n  validations: [{expression: object.metadata.labels.team == 'a', message: team a}]\n"
    "  validationActions: [Deny]",
    "false first": "scope: All\n  matchConditions:\n  - {name: a, expression: object.metadata.labels.team == 'a'}\n"
    "  - {name: b, expression: gpu.count == 0 || gpu.perContainer > 1}\n  variables:\n"
    "  - {name: most, expression: gpu.perContainer}\n  validations:\n"
    "  - {expression: variables.most == 0, message: some, reason: Forbidden}\n  validationActions: [Deny, Audit]",
    "selected": "scope: All\n  matchConstraints: {objectSelector: {matchLabels: {team: a}}}\n  validations:\n"
    "  - {expression: object.spec.containers.size() == 1, message: one}\n  validationActions: [Deny]",
    "another namespace": "scope: All\n  matchConstraints: {namespaceSelector: {matchLabels: {team: z}}}\n"
    "  validations: [{expression: '1 == 2'}]\n  validationActions: [Deny]",
}
ERRORS = ("cannot be decided", "resulted in error")


def is_said(found: Converted) -> bool:
    """Return whether there is a policy with a binding."""
    return len(found.documents) > 1


def agree(both: Both, pods: list[dict[str, object]]) -> Counter[bool]:
    """Put the pods to both forms, and return how many of them either has something to say about."""
    seen: Counter[bool] = Counter()
    for each in pods:
        ours, theirs = both.answers(each)
        theirs = tuple(text for text in theirs if not text.startswith("audit"))
        assert bool(ours) == bool(theirs), (each, ours, theirs)
        together = "\n".join(ours)
        for text in theirs:
            message = text.partition(": ")[2]
            said = ERRORS[0] if ERRORS[1] in message else message[:150]
            assert said in together or "matchConditions" in together, (each, ours, theirs)
        seen[bool(theirs)] += 1
    return seen


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_policies(name: str) -> None:
    folder, text = SHIPPED[name]
    both = Both(text)
    if is_said(both.converted):
        agree(both, [*cases()[folder], *random_pods(name, 20)])
    else:
        assert both.converted.left_out


def test_some_shipped_policies_are_said_and_are_heard() -> None:
    heard = {"shm-and-limits", "shared-gpu-count-by-label", "arm64-gpu-nodes", "guaranteed-qos-for-numa"}
    for name in heard:
        folder, text = SHIPPED[name]
        both = Both(text)
        assert is_said(both.converted), name
        assert agree(both, cases()[folder])[True], name


@pytest.mark.parametrize("name", SMALL)
def test_small_policies(name: str) -> None:
    both = Both(policy("p", f"\n  {SMALL[name]}\n"))
    assert len(both.converted.documents) == 2, both.converted.left_out
    seen = agree(both, list(random_pods(name, 120)))
    assert bool(seen[True]) == (name != "another namespace")


def test_an_error_under_ignore_passes_and_its_warning_is_named() -> None:
    spec = "scope: All\n  failurePolicy: Ignore\n  validations:\n  - {expression: object.metadata.labels.none == 'a'}\n"
    both = Both(policy("p", f"\n  {spec}  validationActions: [Deny]\n"))
    assert [each.where for each in both.converted.left_out] == ["spec.failurePolicy"]
    for each in random_pods("ignored", 20):
        ours, theirs = both.answers(each)
        assert not theirs
        assert all("failurePolicy Ignore" in text or "cannot" in text for text in ours), ours


def test_an_audit_annotation_that_is_null_is_left_out_and_denies_nothing() -> None:
    value = "object.spec.containers.size() > 1 ? dyn('many') : dyn(null)"
    both = Both(policy("p", f'\n  scope: All\n  auditAnnotations: [{{key: k, valueExpression: "{value}"}}]\n'))
    assert not both.converted.left_out
    answers = {both.answers(each) for each in random_pods("null", 20)}
    assert answers == {((), ()), ((), ("audit p: p/k: many",))}


def test_back_and_forth_is_the_same_policy() -> None:
    said = [found for _, text in SHIPPED.values() if is_said(found := converted(text))]
    assert said
    for found in said:
        again = back(found)
        assert not again.left_out
        assert back(again).documents == found.documents
        assert not back(again).left_out
