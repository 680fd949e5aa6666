"""A GPUPolicy that is about to be stored: refused if it is broken, whatever else there is."""

from typing import Any

import pytest

from builders import pod, review
from podberth.admission.decide import validate_policy
from podberth.admission.review import decode_review
from podberth.errors import ReviewError
from podberth.kube.documents import load_documents
from podberth.kube.yaml_text import as_yaml
from podberth.lint.model import Level
from podberth.lint.runner import lint
from snapshots import environment, policy, snapshot

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


def ask(stored: dict[str, Any]) -> str:
    kind = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
    resource = {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies"}
    outcome = validate_policy(decode_review(review(stored, kind=kind, resource=resource)), snapshot())
    assert (outcome.verdict == "denied") == bool(outcome.denial)
    return outcome.denial


def test_a_policy_that_compiles_is_let_in() -> None:
    assert not ask(document(_GOOD))


@pytest.mark.parametrize("text", [_BROKEN, _MISSPELLED])
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
    with pytest.raises(ReviewError, match=r"^request\.object: got Pod, want a GPUPolicy$"):
        validate_policy(decode_review(review(pod())), snapshot())
