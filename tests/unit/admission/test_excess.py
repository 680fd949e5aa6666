"""A pod beyond the budget is an error of every policy that would be asked, and no expression is evaluated."""

from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, pod, review
from podberth.admission import decide
from podberth.admission.creation import request_of
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.kube.pod_limits import CONTAINERS, GPU_CLAIMS, GPU_REQUESTS, MAX_BYTES
from snapshots import policy, snapshot

WRITES = "  mutations:\n  - labels: {a: \"'b'\"}\n"
JUDGES = "  validations:\n  - {expression: 'true', message: wrong}\n  validationActions: [Deny]\n"
TOO_LARGE = "the pod is too large to be decided on"


def too_long() -> dict[str, Any]:
    found = gpu_pod()
    found["spec"]["volumes"] = [{"name": f"v{number}", "emptyDir": {}} for number in range(1_001)]
    return found


def too_large() -> dict[str, Any]:
    found = gpu_pod()
    found["spec"]["containers"][0]["args"] = ["x" * MAX_BYTES]
    return found


def too_many_resources() -> dict[str, Any]:
    limits = {f"nvidia.com/mig-1g.{number}gb": 1 for number in range(GPU_REQUESTS + 1)}
    container = gpu_container("main", 1)
    container["resources"]["limits"] = limits
    return pod(container)


CLASSES = GPU_CLAIMS // CONTAINERS + 1
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "many", "namespace": "default"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [{"name": f"r{at}", "exactly": {"deviceClassName": f"c{at}"}} for at in range(CLASSES)]
            }
        }
    },
}


def claiming(number: int) -> dict[str, Any]:
    claims = [{"name": f"c{at}", "resourceClaimTemplateName": "many"} for at in range(number)]
    return pod(container("main", claims=[claim["name"] for claim in claims]), resourceClaims=claims)


@pytest.mark.parametrize(("number", "verdict"), [(GPU_CLAIMS // CLASSES, "mutated"), (CONTAINERS, "denied")])
def test_claims_for_many_devices_are_counted_by_what_the_cluster_knows_of_them(number: int, verdict: str) -> None:
    outcome = decide.mutate(decode_review(review(claiming(number))), snapshot(policy("p", WRITES), objects=[TEMPLATE]))
    assert (outcome.verdict, "gpu.claims: got" in (outcome.denial or "")) == (verdict, verdict == "denied")


def beyond_json() -> dict[str, Any]:
    return gpu_pod(terminationGracePeriodSeconds=2**64)


POD_OF = {"long": too_long, "large": too_large, "resources": too_many_resources}


def mutate(document: dict[str, Any], *policies: str, **more: Any) -> Outcome:
    return decide.mutate(decode_review(review(document, **more)), snapshot(*policies))


@pytest.mark.parametrize("kind", POD_OF)
def test_under_fail_it_is_denied(kind: str) -> None:
    outcome = mutate(POD_OF[kind](), policy("p", WRITES))
    assert outcome.verdict == "denied"
    assert TOO_LARGE in outcome.denial
    judged = decide.validate(decode_review(review(POD_OF[kind]())), snapshot(policy("p", JUDGES)))
    assert judged.verdict == "denied"
    assert TOO_LARGE in judged.decisions[0].message


@pytest.mark.parametrize("kind", POD_OF)
def test_under_ignore_it_passes_with_a_warning(kind: str) -> None:
    outcome = mutate(POD_OF[kind](), policy("p", f"  failurePolicy: Ignore\n{WRITES}"))
    assert (outcome.verdict, outcome.patch) == ("allowed", [])
    assert any(TOO_LARGE in warning for warning in outcome.warnings)


def test_no_condition_is_asked_not_even_one_that_is_false() -> None:
    conditions = "  matchConditions:\n  - {name: never, expression: 'false'}\n"
    assert mutate(too_long(), policy("p", conditions + WRITES)).verdict == "denied"


def test_a_policy_that_is_not_about_the_request_has_no_error() -> None:
    elsewhere = "  matchConstraints:\n    objectSelector: {matchLabels: {team: none}}\n"
    assert mutate(too_long(), policy("p", elsewhere + WRITES)).verdict == "allowed"


def test_the_old_pod_counts_too() -> None:
    rules = (
        "  matchConstraints:\n    resourceRules:\n"
        "    - {operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}\n"
    )
    given = review(gpu_pod(), operation="UPDATE")
    given["request"]["oldObject"] = too_long()
    outcome = decide.validate(decode_review(given), snapshot(policy("p", rules + JUDGES)))
    assert outcome.verdict == "denied"
    assert TOO_LARGE in outcome.decisions[0].message


def test_a_decision_remembered_for_its_like_is_not_given_to_a_pod_that_is_too_large() -> None:
    known = snapshot(policy("p", WRITES))
    small, large = gpu_pod(), too_long()
    for document, verdict in ((small, "mutated"), (large, "denied"), (small, "mutated"), (large, "denied")):
        assert decide.mutate(decode_review(review(document)), known).verdict == verdict


def test_a_number_that_only_a_file_can_hold_is_an_error_of_the_policies_too() -> None:
    request = request_of({"object": beyond_json()})
    denied = decide.mutate(request, snapshot(policy("p", WRITES)))
    ignored = decide.mutate(request, snapshot(policy("p", f"  failurePolicy: Ignore\n{WRITES}")))

    assert "no API server sends such a pod" in denied.denial
    assert (ignored.verdict, [each.action for each in ignored.decisions]) == ("allowed", ["error"])
