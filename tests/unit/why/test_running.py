"""The devices of a pod that runs: unhealthy ones, and GPUs of one container in more than one link domain."""

from collections.abc import Sequence
from typing import Any

import pytest

from builders import container, gpu_pod, pod
from e2e.dra import GPU_DRIVER, resource_slice
from podberth.topology.codec import encode_topology
from podberth.topology.node import Gpu, Links, NodeTopology
from podberth.wellknown import FREE_LINKED_LABEL, NAMESPACE
from podberth.why.diagnosis import Diagnosis
from podberth.why.picture import Ref
from why_pictures import Document, forbidden, node, picture, placed, why

UUIDS = [f"GPU-00000000-0000-0000-0000-00000000000{number}" for number in range(8)]
QUADS = ((0, 1, 2, 3), (4, 5, 6, 7))
TOPOLOGY = Ref("", ("v1",), "configmaps", NAMESPACE, "a")
SLICES = Ref("resource.k8s.io", ("v1", "v1beta2", "v1beta1"), "resourceslices", fields="spec.nodeName=a")
CLAIM = Ref("resource.k8s.io", ("v1", "v1beta2", "v1beta1"), "resourceclaims", "default", "four")


def topology(domains: Sequence[Sequence[int]] = QUADS, gpus: int = 8, cut: int = -1) -> Document:
    links = Links(shape="islands" if domains else "none", domains=tuple(map(tuple, domains)))
    found = tuple(
        Gpu(index=n, uuid=UUIDS[n], mig_enabled=n == cut, mig_pending=n == cut, memory_mib=81920) for n in range(gpus)
    )
    return encode_topology("a", NodeTopology(gpus=found, links=links))


def given(*ids: str, unhealthy: Sequence[str] = (), name: str = "main", **more: Any) -> list[Document]:
    resources = [{"resourceID": each, "health": "Unhealthy" if each in unhealthy else "Healthy"} for each in ids]
    return [{"name": name, "allocatedResourcesStatus": [{"name": "nvidia.com/gpu", "resources": resources}], **more}]


def of(*gpus: int, others: Sequence[Document] = (), read: object = None) -> Diagnosis:
    """Return the diagnosis about a pod on node ``a`` with these GPUs of the device plugin."""
    return with_ids(*(UUIDS[each] for each in gpus), others=others, read=read)


def with_ids(*ids: str, others: Sequence[Document] = (), read: object = None) -> Diagnosis:
    own = placed(gpu_pod(len(ids)), "a", containerStatuses=given(*ids))
    return why(own, node("a"), *others, read={TOPOLOGY: read or topology()}).diagnosis


def test_gpus_of_two_link_domains_are_named_by_domain() -> None:
    found = of(5, 0, 1, 4)
    assert (found.cause, found.waits) == ("unlinked", False)
    assert found.title == (
        "it runs on node a, but the 4 GPUs of container main are in 2 link domains: GPU 0, 1 and GPU 4, 5"
    )
    assert found.evidence == ("link domains of a: GPU 0, 1, 2, 3; GPU 4, 5, 6, 7",)
    assert found.do[0] == "make the pod again when 4 linked GPUs are free: kubectl delete pod pod -n default"
    assert "free-linked" in found.do[1]


def test_nodes_with_enough_free_linked_gpus_are_evidence() -> None:
    others = [node(name, labels={FREE_LINKED_LABEL: free}) for name, free in (("b", "4"), ("c", "3"), ("d", "x"))]
    found = of(0, 1, 4, 5, others=[*others, node("e", labels={FREE_LINKED_LABEL: "8"})])
    assert found.evidence[1] == f"4 linked GPUs or more are free on b, e ({FREE_LINKED_LABEL})"
    assert found.do[0] == "make the pod again now: kubectl delete pod pod -n default"


def test_of_more_gpus_than_any_domain_has_the_remedy_is_a_smaller_number() -> None:
    found = of(*range(8))
    assert found.title.endswith("are in 2 link domains: GPU 0, 1, 2, 3 and GPU 4, 5, 6, 7")
    assert found.do == ("ask for 4 GPUs in each container at most: the largest link domain of a has 4",)


def test_a_gpu_without_links_is_alone() -> None:
    assert of(0, 2, read=topology([(0, 1)], gpus=3)).title.endswith("in 2 link domains: GPU 0 and GPU 2")


@pytest.mark.parametrize(
    ("ids", "read"),
    [
        (UUIDS[:4], topology()),
        (UUIDS[:1], topology()),
        ((UUIDS[0], UUIDS[4]), topology([])),  # the node has no links
        ((UUIDS[0], UUIDS[4]), topology([(4, 5)], gpus=6, cut=0)),  # GPU 0 is partitioned
        ((UUIDS[0], UUIDS[7]), topology([(0, 1)], gpus=4)),  # the topology does not have GPU 7
        ((UUIDS[0], UUIDS[4]), {"metadata": {"name": "a"}}),
        ((UUIDS[0], UUIDS[4]), forbidden("get configmaps in podberth-system")),
        ((f"{UUIDS[0]}::0", f"{UUIDS[4]}::1"), topology()),  # shares of time-sliced GPUs
        (("MIG-00000000-0000-0000-0000-000000000000", UUIDS[4]), topology()),
        (("0", "4"), topology()),
    ],
)
def test_of_linked_gpus_and_of_unknown_ones_nothing_is_said(ids: Sequence[str], read: object) -> None:
    found = with_ids(*ids, read=read)
    assert (found.cause, found.title) == ("running", "it runs on node a, since 30 min")


def test_the_topology_is_read_only_for_a_running_pod_with_several_gpus_in_a_container() -> None:
    several = placed(gpu_pod(2), "a", containerStatuses=given(*UUIDS[:2]))
    assert TOPOLOGY in picture(several, node("a")).read
    one_each = [*given(UUIDS[0]), *given(UUIDS[4], name="other")]
    for own in (
        placed(pod(container("main"), container("other")), "a", containerStatuses=one_each),
        placed(gpu_pod(2), "a", phase="Pending", containerStatuses=given(*UUIDS[:2])),
        {**several, "metadata": {**several["metadata"], "deletionTimestamp": "2026-01-31T11:59:00Z"}},
    ):
        assert TOPOLOGY not in picture(own, node("a")).read


def claimed(driver: str = GPU_DRIVER, used: str = "", **result: Any) -> Diagnosis:
    """Return the diagnosis about a container that uses a claim, of GPU 0 and GPU 4, or the claim's request ``used``."""
    own = placed(pod(container("main")), "a")
    own["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpus", **({"request": used} if used else {})}]}
    own["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "four"}]
    own["status"]["resourceClaimStatuses"] = [{"name": "gpus", "resourceClaimName": "four"}]
    slices, old = (resource_slice("a", GPU_DRIVER, *["pci0000:00"] * number) for number in (8, 1))
    for number, device in enumerate(slices["spec"]["devices"]):
        device["attributes"]["uuid"] = {"string": UUIDS[number]}
    old["spec"]["devices"][0]["attributes"]["uuid"] = {"string": UUIDS[5]}
    slices["spec"]["pool"]["generation"] = 2
    held = [{"driver": driver, "pool": "a", "device": f"gpu-{number}", "request": "gpu", **result} for number in (0, 4)]
    claim = {"metadata": {"name": "four"}, "status": {"allocation": {"devices": {"results": held}}}}
    read = {TOPOLOGY: topology(), CLAIM: claim, SLICES: {"items": [slices, old]}}
    return why(own, node("a"), read=read).diagnosis


def test_the_gpus_of_a_claim_are_known_by_the_uuids_that_the_driver_publishes() -> None:
    for found in (claimed(), claimed(used="gpu"), claimed(used="gpu", request="gpu/large")):
        assert found.title.endswith("the 2 GPUs of container main are in 2 link domains: GPU 0 and GPU 4")


def test_devices_of_another_driver_or_request_are_not_the_containers_gpus() -> None:
    for found in (claimed("other.example.com"), claimed(used="nic"), claimed(adminAccess=True)):
        assert found.cause == "running"


# ---- health ----------------------------------------------------------------------------------------------------------


def test_an_unhealthy_device_of_a_running_pod_comes_before_its_links() -> None:
    status = given(UUIDS[0], UUIDS[4], unhealthy=[UUIDS[4]])
    status[0]["allocatedResourcesStatus"][0]["resources"][1]["message"] = "XID\n79"
    own = placed(gpu_pod(2), "a", containerStatuses=status)
    found = why(own, node("a"), read={TOPOLOGY: topology()}).diagnosis
    assert (found.cause, found.title) == ("unhealthy device", "it runs on node a, but a device of it is unhealthy")
    assert found.evidence == (f"unhealthy: nvidia.com/gpu {UUIDS[4]} of container main: XID 79",)
    assert found.do[0].endswith("kubectl describe node a")


def test_unhealthy_devices_are_counted() -> None:
    own = placed(gpu_pod(2), "a", containerStatuses=given(*UUIDS[:2], unhealthy=UUIDS))
    assert why(own, node("a")).diagnosis.title == "it runs on node a, but 2 of its devices are unhealthy"


def test_a_pod_that_crashes_on_an_unhealthy_device_has_both() -> None:
    crash = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    own = placed(gpu_pod(1), "a", containerStatuses=given(UUIDS[0], unhealthy=UUIDS, state=crash, restartCount=4))
    found = why(own, node("a")).diagnosis
    assert found.cause == "crash"
    assert any(each.startswith(f"unhealthy: nvidia.com/gpu {UUIDS[0]}") for each in found.evidence)
    assert "describe node a" in found.do[-1]
