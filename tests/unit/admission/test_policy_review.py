"""A GPUPolicy that is about to be stored: refused if it is broken, whatever else there is."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import pod, review
from exceptions import BEFORE, END, exception
from podberth.admission.policy import replacement, validate_policy, with_warning
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.errors import ReviewError
from podberth.files.loading import FileSource
from podberth.kube.documents import load_documents
from podberth.kube.yaml_text import as_yaml
from podberth.lint.findings import Level
from podberth.lint.runner import lint
from snapshots import environment, policy, snapshot
from tenants import own_policy

_GOOD = policy("pod", "  mutations:\n  - labels: {example.com/a: string(gpu.count)}\n")
_BROKEN = policy("pod", "  mutations:\n  - labels: {example.com/a: gpu.cuont}\n  - labels: {example.com/b: '1 +'}\n")
_MISSPELLED = policy("pod", "  mutatoins: []\n")
_ADDED = {
    "uid": "u",
    "generation": 1,
    "creationTimestamp": "2026-01-02T03:04:05Z",
    "managedFields": [{"manager": "kubectl"}],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}\n"},
}


def document(text: str) -> dict[str, Any]:
    [one], _ = load_documents(text, "")
    return one.document


def sent(stored: dict[str, Any]) -> AdmissionRequest:
    return decode_review(review(stored, kind=KIND, resource=RESOURCE))


def ask(stored: dict[str, Any]) -> str:
    outcome = validate_policy(sent(stored), environment())
    assert (outcome.verdict == "denied") == bool(outcome.denial)
    return outcome.denial


def test_a_policy_that_compiles_is_let_in() -> None:
    assert not ask(document(_GOOD))


@pytest.mark.parametrize(
    "text", [policy("pod", "  disabled: true"), _BROKEN.replace("order:", "disabled: true\n  order:")]
)
def test_one_that_is_disabled_is_let_in_whatever_its_expressions_are(text: str) -> None:
    assert not ask(document(text))


def test_a_new_one_with_the_name_of_a_file_warns_of_what_becomes_of_that(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(_GOOD)
    in_force = FileSource(tmp_path, None).load().snapshot.policies
    made = sent(document(_GOOD))
    warning = replacement(made, in_force)
    assert warning == f"replaces the policy of this name in {tmp_path / 'a.yaml'} until it is deleted"
    outcome = with_warning(validate_policy(made, environment()), made, warning)
    assert (outcome.verdict, outcome.warnings) == ("allowed", (f"podberth: {warning}"[:256],))
    off = sent(document(policy("pod", "  disabled: true")))
    assert replacement(off, in_force).startswith("switches off the policy of this name in ")
    assert replacement(made, ()) == ""
    assert replacement(replace(made, operation="UPDATE"), in_force) == ""
    broken = sent(document(_BROKEN))
    denied = validate_policy(broken, environment())
    assert with_warning(denied, broken, warning) is denied


@pytest.mark.parametrize("text", [_BROKEN, _MISSPELLED, _BROKEN + "  oder: 1\n"])
def test_a_broken_one_is_refused_with_every_error_of_lint(text: str) -> None:
    report = lint([("gpupolicy/pod", as_yaml(document(text)))], environment())
    errors = [str(each.problem) for each in report.findings if each.level == Level.ERROR]
    assert errors
    assert ask(document(text)).splitlines() == errors


def test_what_the_api_server_adds_moves_no_line() -> None:
    plain = document(_BROKEN)
    stored = {**plain, "metadata": {**_ADDED, **plain["metadata"]}, "status": {"observedGeneration": 1}}
    assert ask(stored) == ask(plain)


def test_what_is_no_policy_has_no_decision() -> None:
    with pytest.raises(
        ReviewError,
        match=r"^request\.object: got Pod, want a GPUPolicy, a GPUPolicyException or a NamespacedGPUPolicy$",
    ):
        validate_policy(decode_review(review(pod())), environment())


KIND = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
EXCEPTIONS = {**KIND, "kind": "GPUPolicyException"}
RESOURCE = {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies"}


@pytest.mark.parametrize(
    "metadata", ["name", ["name"], {"name": "pod", "annotations": "a=b"}, {"name": "pod", "annotations": [1]}]
)
def test_metadata_that_is_no_object_is_no_object_of_kubernetes(metadata: Any) -> None:
    sent = decode_review(review(document(_GOOD), kind=KIND, resource=RESOURCE))
    with pytest.raises(ReviewError, match=r"^request\.object\.metadata") as raised:
        validate_policy(replace(sent, object={**document(_GOOD), "metadata": metadata}), environment())
    assert raised.value.status == 400


def test_a_document_that_is_too_deep_or_too_long_is_refused_before_it_is_written_as_text() -> None:
    deep: Any = {}
    for _ in range(1_000):
        deep = {"a": deep}
    assert ask({**document(_GOOD), "spec": deep}) == "gpupolicy/pod:1:1: nested more than 100 deep"
    long = {**document(_GOOD), "spec": {"description": "d" * 600_000}}
    assert ask(long) == "gpupolicy/pod:1:1: got more than 524,288 bytes; make several policies of it"


def test_one_that_takes_too_long_is_refused_where_the_time_ended() -> None:
    sent = decode_review(review(document(_GOOD), kind=KIND, resource=RESOURCE))
    outcome = validate_policy(sent, environment(), lambda: True)
    assert outcome.denial.startswith("gpupolicy/pod:")
    assert "spec.mutations[0].labels[example.com/a]: not compiled: the time for compiling was over" in outcome.denial


def excepting(text: str, now: datetime = BEFORE) -> str:
    asked = review(document(text), kind=EXCEPTIONS, resource={**RESOURCE, "resource": "gpupolicyexceptions"})
    return validate_policy(decode_review(asked), environment(), now=now).denial


def test_an_exception_is_let_in_even_one_that_has_ended_so_that_it_can_be_applied_again() -> None:
    assert not excepting(exception("e", "pod"))
    assert not excepting(exception("e", "pod"), END)


def test_a_broken_exception_is_denied_with_the_place_of_what_is_wrong() -> None:
    assert "gpupolicyexception/e:" in excepting(exception("e", "pod", more="  expression: gpu.cuont == 1\n"))
    assert "the field 'expiresAt' is required" in excepting(exception("e", "pod").replace("expiresAt", "ends"))


def test_an_exception_of_more_than_a_year_after_its_creation_is_denied() -> None:
    long = "spec.expiresAt: the exception has no effect: got more than 366 days, want that at most"
    assert long in excepting(exception("e", "pod"), END - timedelta(days=367))
    made = exception("e", "pod").replace("{name: e}", "{name: e, creationTimestamp: '2026-01-02T03:04:05Z'}")
    assert long in excepting(made)
    assert not excepting(made.replace("2026-01", "2026-04"))


@pytest.mark.parametrize("made", ["2027-02-31T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-23:59", 7])
def test_an_exception_whose_time_of_creation_is_none_counts_its_year_from_now(made: object) -> None:
    text = exception("e", "pod").replace("{name: e}", f"{{name: e, creationTimestamp: {made!r}}}")
    assert not excepting(text)
    assert "got more than 366 days" in excepting(text, END - timedelta(days=367))


def test_an_exception_from_an_unknown_policy_warns() -> None:
    asked = review(document(exception("e", "pod", "dog")), kind=EXCEPTIONS, resource=RESOURCE)
    in_force = snapshot(_GOOD).policies
    assert replacement(decode_review(asked), in_force) == "no policy in force has the name dog"


def tightening(text: str) -> str:
    kind = {"group": "podberth.io", "version": "v1alpha1", "kind": "NamespacedGPUPolicy"}
    asked = review(document(text), kind=kind, resource={**RESOURCE, "resource": "namespacedgpupolicies"})
    return validate_policy(decode_review(asked), environment()).denial


def test_a_policy_of_a_namespace_is_let_in_and_a_broken_one_is_denied() -> None:
    good = own_policy("vision", "own", "gpu.count <= 2")
    assert not tightening(good)
    assert "spec.validations[0].expression" in tightening(good.replace("gpu.count", "gpu.cuont"))
    assert "unknown field 'mutations'" in tightening(f"{good}  mutations: []\n")


def test_a_policy_of_a_namespace_that_is_too_large_is_denied() -> None:
    large = own_policy("vision", "own", "true") + f"  description: {'x' * 20_000}\n"
    assert "want 16,384 at most; make several policies of it" in tightening(large)
