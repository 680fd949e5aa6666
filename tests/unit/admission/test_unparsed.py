"""A review that is too dense to be parsed is an error of the policies that it may be about, and never an HTTP error."""

import json
from functools import partial
from typing import Any

import pytest

from builders import deployment, gpu_pod, review, review_text, workload_review
from calls import calls_of
from exceptions import BEFORE, exception
from podberth.admission import decide
from podberth.admission.policy import validate_policy
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.unparsed import decode_unparsed
from podberth.admission.workload import validate_workload
from podberth.errors import ReviewError
from podberth.kube.pod_limits import ENTRIES
from podberth.kube.review_limits import MARKS, excess_of_text
from snapshots import environment, policy, snapshot

JSON = dict[str, Any]
WRITES = "  mutations:\n  - labels: {a: \"'b'\"}\n"
JUDGES = "  validations:\n  - {expression: 'true', message: wrong}\n  validationActions: [Deny]\n"
SELECTING = "  matchConstraints:\n    objectSelector: {matchLabels: {team: none}}\n"
UPDATES = (
    "  matchConstraints:\n    resourceRules:\n"
    "    - {operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}\n"
)
TOO_LARGE = "the review is too large to be decided on: got "
DENSE = gpu_pod(tolerations=[{}] * MARKS)


def received(document: JSON) -> AdmissionRequest:
    body = review_text(document)
    excess = excess_of_text(body)
    assert excess
    return decode_unparsed(body, excess)


def test_the_fields_in_front_of_the_objects_are_read() -> None:
    document = review(DENSE, "UPDATE", old=DENSE, dryRun=True, namespace="team")
    document["request"]["userInfo"]["extra"] = {"a": ["b"], "object": ["c"], "text": [',"object":{']}
    request, whole = received(document), decode_review(document)
    for field in ("uid", "group", "version", "kind", "resource", "name", "namespace", "operation", "dry_run"):
        assert getattr(request, field) == getattr(whole, field)
    assert request.envelope["userInfo"]["username"] == "kubernetes-admin"
    assert (request.unparsed, request.object, request.old_object) == (True, {}, {})
    assert request.excess.startswith(TOO_LARGE)


def test_an_object_that_ends_with_dry_run_makes_no_dry_run() -> None:
    odd = gpu_pod(tolerations=[{}] * MARKS)
    odd["spec"] |= {"odd": {"a": 1, "dryRun": True}}
    assert not received(review(odd, dryRun=False)).dry_run
    odd["spec"] |= {"odd": {"a": 1, "dryRun": False}}
    assert received(review(odd, dryRun=True)).dry_run


def test_on_creation_failure_policy_decides() -> None:
    request = received(review(DENSE))
    for decider, says in ((decide.mutate, WRITES), (decide.validate, JUDGES)):
        denied = decider(request, snapshot(policy("p", says)))
        assert denied.verdict == "denied"
        assert TOO_LARGE in denied.denial
        passed = decider(request, snapshot(policy("p", f"  failurePolicy: Ignore\n{says}")))
        assert (passed.verdict, passed.patch) == ("allowed", [])
        assert any(TOO_LARGE in each for each in passed.warnings)


def test_labels_that_are_not_known_are_selected() -> None:
    known = snapshot(policy("p", SELECTING + WRITES))
    assert decide.mutate(received(review(DENSE)), known).verdict == "denied"
    assert decide.mutate(decode_review(review(gpu_pod())), known).verdict == "allowed"


@pytest.mark.parametrize(
    ("selector", "verdict"),
    [
        ("", "allowed"),
        ("  podSelector: {matchLabels: {a: b}}\n", "denied"),
        ("  podSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}\n", "denied"),
    ],
)
def test_labels_that_are_not_known_are_excepted_by_no_selector(selector: str, verdict: str) -> None:
    known = snapshot(policy("p", WRITES), exception("e", "p", more=selector)).at(BEFORE)
    assert decide.mutate(received(review(DENSE)), known).verdict == verdict


def test_on_update_nothing_is_restored_and_validations_fail() -> None:
    request = received(review(DENSE, "UPDATE", old=DENSE))
    restored = decide.mutate(request, snapshot(policy("p", WRITES)))
    assert (restored.verdict, restored.patch) == ("allowed", [])
    assert f"nothing is restored: {TOO_LARGE}" in restored.warnings[0]
    assert decide.validate(request, snapshot(policy("p", UPDATES + JUDGES))).verdict == "denied"


def test_a_workload_is_let_in_with_a_warning() -> None:
    outcome = validate_workload(received(workload_review(deployment(DENSE), "deployments")), snapshot())
    assert outcome.verdict == "allowed"
    assert TOO_LARGE in outcome.warnings[0]
    assert "podberth check" in outcome.warnings[0]


def test_a_policy_is_denied() -> None:
    kind = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
    resource = {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies"}
    stored = {"metadata": {"name": "p"}, "spec": {"mutations": [{}] * MARKS}}
    outcome = validate_policy(received(review(stored, kind=kind, resource=resource)), environment())
    assert outcome.verdict == "denied"
    assert TOO_LARGE in outcome.denial


@pytest.mark.parametrize("operation", ["DELETE", "CREATE"])
def test_what_is_not_decided_on_is_let_in(operation: str) -> None:
    given = review(None, operation, old=DENSE) if operation == "DELETE" else review(DENSE, subResource="binding")
    given["request"]["kind"] |= {"kind": "Binding"} if operation == "CREATE" else {}
    assert decide.mutate(received(given), snapshot(policy("p", WRITES))).verdict == "allowed"


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(review(DENSE)).encode(),
        b"[" * MARKS * 2,
        b'{"request":5,"object":{}' + b",{}" * MARKS,
        b'{"request":{"uid":x,"object":{}' + b",{}" * MARKS,
        b'{"request":{"odd":[' + b"{}," * MARKS + b'{}],"object":{}}}',
        review_text(review(DENSE, userInfo={"groups": [""] * 2 * MARKS})),
    ],
)
def test_one_whose_head_cannot_be_read_alone_is_refused(body: bytes) -> None:
    with pytest.raises(ReviewError) as refused:
        decode_unparsed(body, excess_of_text(body))
    assert refused.value.status == 413


def test_a_head_is_checked_like_any_review() -> None:
    with pytest.raises(ReviewError, match=r"request.uid: got an empty string"):
        received(review(DENSE, uid=""))


def test_nothing_of_the_objects_is_looked_at() -> None:
    bodies = [review_text(review(gpu_pod(tolerations=[{}] * times * MARKS))) for times in (1, 4)]
    few, many = (calls_of(partial(decode_unparsed, body, "x")) for body in bodies)
    assert few == many < 300


# ---- the envelope ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"groups": ["g"] * 30_000}, "request.userInfo.groups: got 30,000 entries, want 1,000 at most"),
        ({"extra": {f"k{at}": [] for at in range(30_000)}}, "request.userInfo.extra: got 30,000"),
        ({"extra": {"k": ["v"] * 30_000}}, "request.userInfo.extra[*]: got 30,000"),
        ({"groups": [5] * (ENTRIES + 1)}, "request.userInfo.groups: got 1,001"),
    ],
)
def test_a_list_of_the_envelope_that_is_too_long_is_an_error_of_the_policy(more: JSON, where: str) -> None:
    document = review(gpu_pod())
    document["request"]["userInfo"] |= more
    requests: list[AdmissionRequest] = []
    assert calls_of(lambda: requests.append(decode_review(document))) < 300
    [request] = requests
    denied = decide.mutate(request, snapshot(policy("p", WRITES)))
    assert where in denied.denial
    assert set(request.envelope["userInfo"]) <= {"username", "uid"}
    # The labels are known.
    assert decide.mutate(request, snapshot(policy("p", SELECTING + WRITES))).verdict == "allowed"


def test_options_have_a_bound() -> None:
    request = decode_review(review(gpu_pod(), options={"dryRun": [["All"] * 30_000]}))
    assert "request.options" in decide.mutate(request, snapshot(policy("p", WRITES))).denial


def test_in_a_workload_the_bound_is_asked_before_its_spec_is_compared() -> None:
    class Spec(dict[str, Any]):
        def __eq__(self, _: object) -> bool:
            raise AssertionError

        __hash__ = None

    stored = deployment(gpu_pod())
    stored["spec"] = Spec(stored["spec"], odd=[{}] * 10_000)
    outcome = validate_workload(
        decode_review(workload_review(stored, "deployments", "UPDATE", oldObject={"spec": {}})), snapshot()
    )
    assert "it is too large to be judged" in outcome.warnings[0]
