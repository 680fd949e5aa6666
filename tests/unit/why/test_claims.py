"""Claims of devices that cannot be made, that want devices of one sort, or that take alternatives."""

import pytest

from builders import pod
from podberth.why.picture import Picture, Ref
from why_pictures import NOW, Document, node, waiting, why

VERSIONS = ("v1", "v1beta2", "v1beta1")
TEMPLATE = Ref("resource.k8s.io", VERSIONS, "resourceclaimtemplates", "default", "one-gpu")
EVENTS = Picture(now=NOW, namespace="default", kind="pod", name="it", pod={"metadata": {"name": "it"}}).events
# The words of kube-controller-manager 1.36 and of the API server's quotas.
NO_QUOTA = (
    'PodResourceClaim gpu: create ResourceClaim : resourceclaims.resource.k8s.io "it-gpu-7x2kq" is forbidden: exceeded '
    "quota: no-claims, requested: count/resourceclaims.resource.k8s.io=1, used: "
    "count/resourceclaims.resource.k8s.io=0, limited: count/resourceclaims.resource.k8s.io=0"
)


def templated(**status: object) -> Document:
    """Return a pod that waits for a claim of template ``one-gpu``."""
    made = waiting(pod(name="it", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]))
    return {**made, "metadata": {**made["metadata"], "uid": "u1"}, "status": {**made["status"], **status}}


def event(message: str, uid: str = "u1") -> Document:
    return {
        "reason": "FailedResourceClaimCreation",
        "involvedObject": {"kind": "Pod", "name": "it", "uid": uid},
        "message": message,
        "lastTimestamp": "2026-01-31T11:59:00Z",
    }


def test_a_quota_of_claims_is_the_cause_and_not_the_scheduler() -> None:
    found = why(templated(), node("a"), read={TEMPLATE: {}, EVENTS: {"items": [event(NO_QUOTA)]}})
    assert (found.diagnosis.cause, found.then) == ("claim", ())
    assert found.diagnosis.title == "ResourceQuota no-claims leaves no room for a ResourceClaim of template one-gpu"
    assert found.diagnosis.evidence == (
        "the last try to make a claim of it was 60 s ago; until then no scheduler looks at the pod",
        NO_QUOTA,
    )
    assert found.diagnosis.do[-1] == "kubectl describe quota no-claims -n default"


def test_another_refusal_of_a_claim_is_shown_in_its_own_words() -> None:
    message = 'PodResourceClaim gpu: admission webhook "claims.example.com" denied the request: too many devices'
    found = why(templated(), node("a"), read={TEMPLATE: {}, EVENTS: {"items": [event(message)]}}).diagnosis
    assert found.title == "Kubernetes cannot make a ResourceClaim of ResourceClaimTemplate one-gpu"
    assert found.evidence[-1] == message


@pytest.mark.parametrize("events", [[], [event(NO_QUOTA, uid="of an earlier pod")]])
def test_a_claim_that_nobody_makes_is_the_cause_without_an_event(events: list[Document]) -> None:
    found = why(templated(), node("a"), read={TEMPLATE: {}, EVENTS: {"items": events}})
    assert found.diagnosis.title == "no ResourceClaim is made of ResourceClaimTemplate one-gpu for 12 min"
    assert found.then == ()


def test_a_young_pod_waits_for_its_claims_without_blame() -> None:
    young = templated()
    young["metadata"]["creationTimestamp"] = NOW.isoformat()
    assert why(young, node("a"), read={TEMPLATE: {}}).diagnosis.cause == "new"


def test_an_item_that_needs_no_claim_is_not_awaited() -> None:
    done = templated(resourceClaimStatuses=[{"name": "gpu"}])
    assert why(done, node("a"), read={TEMPLATE: {}}).diagnosis.cause == "scheduler"


def test_a_template_that_is_missing_comes_before_a_claim_that_is_not_made() -> None:
    asked = templated()
    asked["spec"]["resourceClaims"].append({"name": "nic", "resourceClaimTemplateName": "gone"})
    found = why(asked, node("a"), read={TEMPLATE: {}})
    assert found.diagnosis.title == "ResourceClaimTemplate gone does not exist"
