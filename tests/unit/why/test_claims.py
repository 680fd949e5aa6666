"""Claims of devices that cannot be made, that want devices of one sort, or that take alternatives."""

from typing import Any

import pytest

from builders import pod
from e2e.dra import GPU_DRIVER, PCIE_ROOT, allocated_claim, device_class, resource_slice
from podberth.why.diagnosis import Diagnosis
from podberth.why.picture import Picture, Ref
from why_pictures import NO_NODE, NOW, Document, forbidden, node, placed, waiting, why

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


# ---- devices that have to be alike, alternatives, and holders ------------------------------------------------------

SLICE = resource_slice("b", GPU_DRIVER, "root-0", "root-0", "root-1", "root-1")


def ref(plural: str, namespace: str = "", name: str = "") -> Ref:
    return Ref("resource.k8s.io", VERSIONS, plural, namespace, name)


def lacking(spec: Document, *held: Document, pods: tuple[Document, ...] = (), **read: Any) -> Diagnosis:
    """Return the diagnosis of a pod whose claim of this spec gets none of the four GPUs of node ``b``."""
    asked = pod(name="it", resourceClaims=[{"name": "x", "resourceClaimName": "mine"}])
    known = {
        ref("resourceclaims", "default", "mine"): {"spec": {"devices": spec}},
        ref("deviceclasses", name="gpu.nvidia.com"): device_class("gpu.nvidia.com", GPU_DRIVER, "gpu"),
        ref("deviceclasses", name="mig.nvidia.com"): device_class("mig.nvidia.com", GPU_DRIVER, "mig"),
        ref("resourceslices"): {"items": [SLICE]},
        ref("resourceclaims"): read.get("claims", {"items": list(held)}),
    }
    message = f"{NO_NODE}1 cannot allocate all claims."
    return why(waiting(asked, message), node("b"), pods=pods, read=known).diagnosis


def gpus(count: int, attribute: str = PCIE_ROOT, **exactly: Any) -> Document:
    """Return a claim's devices: so many GPUs with one value of an attribute."""
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count, **exactly}}
    return {"requests": [request], "constraints": [{"requests": ["gpu"], "matchAttribute": attribute}]}


def test_devices_that_are_free_and_not_alike_are_not_waited_for() -> None:
    found = lacking(gpus(3))
    assert found.cause == "claim unallocated"
    assert found.title == (
        "4 devices of gpu.nvidia.com are free on b, but at most 2 on one node share resource.kubernetes.io/pcieRoot; "
        "ResourceClaim mine wants 3"
    )
    assert found.evidence[:2] == (
        "constraint of the claim: matchAttribute resource.kubernetes.io/pcieRoot",
        "b: 4 free, at most 2 alike",
    )
    assert found.do == ("ask for 2, or drop the constraint",)


def test_devices_that_would_be_alike_if_a_claim_ended_are_waited_for() -> None:
    found = lacking(gpus(2), allocated_claim("b", "gpu-0"), allocated_claim("b", "gpu-2"))
    assert "but no two on one node share resource.kubernetes.io/pcieRoot" in found.title
    assert found.do == (
        "ask for 1, or drop the constraint",
        "or wait until a claim of such devices is released",
    )


def test_devices_without_the_attribute_meet_no_constraint() -> None:
    found = lacking(gpus(1, "gpu.nvidia.com/other"))
    assert "are free on b, but none has gpu.nvidia.com/other" in found.title
    assert found.do == ("drop the constraint: no free device meets it",)


@pytest.mark.parametrize(
    "spec",
    [
        gpus(5),  # more than are free, alike or not
        gpus(4, "gpu.nvidia.com/type"),  # the driver's own attribute, which all of them share
        gpus(2),  # as many as are alike: something else keeps them
        gpus(3, selectors=[{"cel": {"expression": "true"}}]),
        gpus(3, tolerations=[{"operator": "Exists"}]),
        {**gpus(3), "constraints": [{"requests": ["other"], "matchAttribute": PCIE_ROOT}]},
    ],
)
def test_a_constraint_is_blamed_only_if_it_certainly_keeps_the_devices(spec: Document) -> None:
    assert lacking(spec).title == "no node that fits has free devices for ResourceClaim mine"


def test_a_constraint_is_not_blamed_if_the_holders_are_unknown() -> None:
    assert lacking(gpus(3), claims=forbidden("list resourceclaims")).title.startswith("no node that fits has free")


def test_alternatives_of_a_claim_are_all_named() -> None:
    either = [
        {"name": "mig", "deviceClassName": "mig.nvidia.com"},
        {"name": "all", "deviceClassName": "gpu.nvidia.com"},
    ]
    found = lacking({"requests": [{"name": "gpu", "firstAvailable": either}]})
    assert found.evidence[0] == "it asks for 1 of DeviceClass mig.nvidia.com or 1 of DeviceClass gpu.nvidia.com"


def test_the_holder_of_a_claims_devices_is_shown_with_its_age() -> None:
    held = allocated_claim("b", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    holder = pod(name="train-0")
    holder["metadata"]["namespace"] = "team"
    found = lacking({"requests": gpus(1)["requests"]}, held, pods=(placed(holder, "b"),))
    assert found.evidence[-1] == "b: 0 of 4 gpu.nvidia.com free; held by team/train-0 (4, 30 min)"
