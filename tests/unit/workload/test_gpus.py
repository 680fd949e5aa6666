"""What a Pod asks of accelerators: pod in, facts out."""

from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, pod, sidecar
from podberth.devices.claims import ClaimRequest, KnownDevices
from podberth.devices.resources import Accelerator
from podberth.workload.gpus import GpuClaim, GpuRequest, gpu_facts

JSON = dict[str, Any]


def test_a_pod_without_accelerators_has_no_facts() -> None:
    facts = gpu_facts(pod(container(limits={"cpu": 2, "memory": "1Gi", "hugepages-2Mi": "4Mi"})))
    assert facts.as_cel() == {
        "count": 0,
        "devices": 0,
        "perContainer": 0,
        "kind": "none",
        "vendor": "",
        "memoryMiB": 0,
        "requests": [],
        "claims": [],
    }
    assert facts.totals == ()


def test_a_request_is_read_in_full() -> None:
    facts = gpu_facts(gpu_pod("2", resource="nvidia.com/mig-1g.10gb"))
    assert facts.as_cel() == {
        "count": 2,
        "devices": 2,
        "perContainer": 2,
        "kind": "mig",
        "vendor": "nvidia",
        "memoryMiB": 0,
        "requests": [
            {
                "container": "main",
                "init": False,
                "resource": "nvidia.com/mig-1g.10gb",
                "quantity": 2,
                "kind": "mig",
                "vendor": "nvidia",
                "profile": "1g.10gb",
            }
        ],
        "claims": [],
    }


@pytest.mark.parametrize("gpus", [4, "4", "4.0", "4000m"])
def test_an_amount_may_be_text_or_number(gpus: object) -> None:
    """tests/real-manifests.md 3 and 6: 955 strings and 753 integers; 4 is a whole GB200 node."""
    assert gpu_facts(gpu_pod(gpus)).count == 4


@pytest.mark.parametrize(
    ("resources", "count"),
    [
        ({"limits": {"nvidia.com/gpu": 8}, "requests": {"nvidia.com/gpu": 8}}, 8),
        ({"limits": {"nvidia.com/gpu": 8}}, 8),
        ({"requests": {"nvidia.com/gpu": 8}}, 8),
        ({"limits": {"nvidia.com/gpu": None}, "requests": {"nvidia.com/gpu": 8}}, 8),
        ({"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}}, 2),
        ({"limits": None, "requests": None}, 0),
        ({}, 0),
        (None, 0),
    ],
)
def test_the_limit_counts_and_without_one_the_request(resources: JSON | None, count: int) -> None:
    """tests/real-manifests.md 4 and 23: limits = requests, limits only, requests only, null beside request 8."""
    facts = gpu_facts(pod({"name": "main", "resources": resources}))
    assert facts.count == count
    assert len(facts.requests) == (1 if count else 0)


@pytest.mark.parametrize("zero", [0, "0", "0.0", None])
def test_zero_is_no_request(zero: object) -> None:
    """tests/real-manifests.md 3 and 5: MPI launchers and Ray heads write zero."""
    facts = gpu_facts(gpu_pod(zero))
    assert (facts.kind, facts.count, facts.requests, facts.totals) == ("none", 0, (), ())


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/rdma-vf",
        "nvidia.com/sriov-rdma-vf",
        "nvidia.com/mlnxnics",
        "nvidia.com/pgpu",
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        "nvidia.com/gpumem-percentage",
        "networking.gke.io.networks/rdma-0",
        "vpc.amazonaws.com/efa",
        "nvidia.com/something-new",
    ],
)
def test_a_vendors_name_does_not_make_a_gpu(resource: str) -> None:
    """tests/real-manifests.md 7: NICs, passthrough GPUs and modifiers are no GPUs."""
    facts = gpu_facts(pod(container(limits={resource: 30, "amd.com/gpu": 2})))
    assert (facts.count, facts.vendor, facts.kind) == (2, "amd", "whole")
    assert gpu_facts(gpu_pod(1, resource=resource)).kind == "none"


@pytest.mark.parametrize(
    ("resources", "kind", "vendor"),
    [
        (("nvidia.com/gpu",), "whole", "nvidia"),
        (("nvidia.com/gpu.shared",), "shared", "nvidia"),
        (("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"), "mig", "nvidia"),
        (("nvidia.com/gpu", "nvidia.com/mig-1g.5gb"), "mixed", "nvidia"),
        (("nvidia.com/gpu", "amd.com/gpu"), "whole", "mixed"),
        (("google.com/tpu",), "whole", "google"),
    ],
)
def test_several_kinds_or_vendors_are_mixed(resources: tuple[str, ...], kind: str, vendor: str) -> None:
    facts = gpu_facts(pod(container(limits=dict.fromkeys(resources, 1))))
    assert (facts.kind, facts.vendor, facts.count) == (kind, vendor, len(resources))
    assert facts.totals == tuple((resource, 1) for resource in sorted(resources))


@pytest.mark.parametrize(
    ("main", "init", "count"),
    [
        ([1, 2], [], 3),
        ([1], [("init", 4)], 4),
        ([4], [("init", 1), ("init", 2)], 4),
        ([1], [("sidecar", 2)], 3),
        ([0], [("sidecar", 2)], 2),
        ([1], [("sidecar", 2), ("init", 4)], 6),
        ([1], [("init", 4), ("sidecar", 2)], 4),
        ([1], [("sidecar", 1), ("init", 2), ("sidecar", 4)], 6),
        ([1], [("sidecar", 1), ("init", 2), ("sidecar", 4), ("init", 3)], 8),
    ],
)
def test_the_pods_amount_is_what_the_scheduler_reserves(
    main: list[int], init: list[tuple[str, int]], count: int
) -> None:
    """tests/real-manifests.md 20 and KEP-753: sidecars add to main; init containers run beside earlier sidecars."""
    makers = {"init": gpu_container, "sidecar": lambda name, gpus: sidecar(name, limits={"nvidia.com/gpu": gpus})}
    document = pod(
        *(gpu_container(f"main-{number}", gpus) for number, gpus in enumerate(main)),
        init=[makers[kind](f"{kind}-{number}", gpus) for number, (kind, gpus) in enumerate(init)],
    )
    facts = gpu_facts(document)
    assert facts.count == count
    assert facts.totals == (("nvidia.com/gpu", count),)


def test_resources_are_reserved_one_by_one() -> None:
    document = pod(gpu_container("main", 1, resource="nvidia.com/mig-1g.5gb"), init=[gpu_container("i", 2)])
    facts = gpu_facts(document)
    assert facts.totals == (("nvidia.com/gpu", 2), ("nvidia.com/mig-1g.5gb", 1))
    assert (facts.count, facts.per_container, facts.kind) == (3, 2, "mixed")


def test_per_container_is_the_most_that_one_container_has() -> None:
    """tests/real-manifests.md 20: eleven pods with two GPU containers."""
    assert gpu_facts(pod(gpu_container("a", 2), gpu_container("b", 4))).per_container == 4
    together = container("main", limits={"nvidia.com/gpu": 2, "nvidia.com/mig-1g.5gb": 3})
    assert gpu_facts(pod(together, gpu_container("b", 4))).per_container == 5


def test_an_init_container_is_distinguished_from_a_sidecar() -> None:
    """tests/real-manifests.md 20: GPUs in a native sidecar, and in a plain init container."""
    document = pod(init=[gpu_container("warmup"), sidecar("dcgm", limits={"nvidia.com/gpu": 1})])
    assert [(request.container, request.init) for request in gpu_facts(document).requests] == [
        ("warmup", True),
        ("dcgm", False),
    ]


def test_ephemeral_containers_hold_nothing() -> None:
    assert gpu_facts(pod(ephemeralContainers=[gpu_container("debug", 8)])).kind == "none"


def test_pod_level_resources_are_no_gpus() -> None:
    """tests/real-manifests.md 25: pod-level resources hold CPU and memory."""
    assert gpu_facts(pod(resources={"limits": {"cpu": 4, "nvidia.com/gpu": 1}})).kind == "none"


def test_a_pod_that_only_looks_after_gpus_asks_for_none() -> None:
    """tests/real-manifests.md 21: device plugins, exporters, download jobs."""
    document = pod(
        container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
        nodeSelector={"nvidia.com/gpu.deploy.dcgm-exporter": "true"},
        tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}],
    )
    assert gpu_facts(document).kind == "none"


CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}, {"name": "idle", "resourceClaimName": "x"}]


def test_a_claim_that_a_container_uses_makes_a_claim_pod() -> None:
    """tests/real-manifests.md 12: the pod names its claim, not what is in it."""
    facts = gpu_facts(pod(container(claims=["gpu"]), resourceClaims=CLAIMS))
    assert facts.kind == "claim"
    assert facts.claims == (GpuClaim("gpu", "", 0),)
    assert (facts.count, facts.totals) == (0, ())


def test_a_claim_that_nobody_uses_is_none() -> None:
    assert gpu_facts(pod(container(), resourceClaims=CLAIMS)).kind == "none"
    assert gpu_facts(pod(container(claims=["other"]), resourceClaims=CLAIMS)).claims == ()


def test_a_claim_beside_extended_gpus_is_no_gpu() -> None:
    """tests/real-manifests.md 10: all 36 of them are IMEX channels or NICs."""
    document = pod(container(limits={"nvidia.com/gpu": 4}, claims=["gpu"]), resourceClaims=CLAIMS)
    facts = gpu_facts(document)
    assert (facts.kind, facts.count) == ("whole", 4)
    assert facts.claims == (GpuClaim("gpu", "", 0),)


def test_the_implicit_resource_of_a_gpu_class_is_both_request_and_claim() -> None:
    """tests/real-manifests.md 11: deviceclass.resource.kubernetes.io/<class>."""
    name = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
    facts = gpu_facts(gpu_pod(2, resource=name))
    assert (facts.kind, facts.count, facts.totals) == ("whole", 2, ((name, 2),))
    assert facts.claims == (GpuClaim("", "gpu.nvidia.com", 2, "whole"),)
    assert facts.devices == 2


def test_the_implicit_resource_of_another_class_is_no_gpu() -> None:
    facts = gpu_facts(gpu_pod(1, resource="deviceclass.resource.kubernetes.io/imex.nvidia.com"))
    assert (facts.kind, facts.claims) == ("none", ())


def test_a_claim_is_looked_up_where_it_is_known_and_stays_unknown_elsewhere() -> None:
    claims = [
        {"name": "gpus", "resourceClaimTemplateName": "two"},
        {"name": "mixed", "resourceClaimName": "both"},
        {"name": "lost", "resourceClaimName": "nowhere"},
    ]
    document = pod(container(claims=("gpus", "mixed", "lost")), resourceClaims=claims)
    devices = KnownDevices(
        claims={("team", "both"): (ClaimRequest("gpu.nvidia.com", 1), ClaimRequest("nic.example.com", 0))},
        templates={("team", "two"): (ClaimRequest("gpu.nvidia.com", 2),)},
    )
    known = gpu_facts(document, "team", devices)
    assert known.claims == (
        GpuClaim("gpus", "gpu.nvidia.com", 2, "whole"),
        GpuClaim("mixed", "gpu.nvidia.com", 1, "whole", shared=True),
        GpuClaim("mixed", "nic.example.com", 0, shared=True),
        GpuClaim("lost", "", 0, shared=True),
    )
    unknown = gpu_facts(document, "other", devices)
    assert unknown.claims == tuple(GpuClaim(name, "", 0, shared=name != "gpus") for name in ("gpus", "mixed", "lost"))
    assert (known.kind, known.count) == (unknown.kind, unknown.count) == ("claim", 0)
    # A claim for an unknown number, and a device of an unknown kind, count as one.
    assert (known.devices, unknown.devices) == (2 + 1 + 1 + 1, 3)


CHANNEL, NIC, GPU = (
    ClaimRequest(name, 1) for name in ("compute-domain-default-channel.nvidia.com", "nic.example.com", "own")
)
OWN = {"deviceclass.resource.kubernetes.io/own": Accelerator("nvidia", "mig")}


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ((CHANNEL,), "none"),
        ((NIC,), "none"),
        ((CHANNEL, NIC), "none"),
        ((), "none"),  # adminAccess only: to devices that others have
        ((GPU,), "claim"),
        ((CHANNEL, GPU), "claim"),
        ((ClaimRequest("never-seen", 1),), "claim"),
        ((ClaimRequest("vfio.gpu.nvidia.com", 1),), "none"),
    ],
)
def test_a_claim_for_a_channel_or_a_nic_is_no_gpu(asked: tuple[ClaimRequest, ...], kind: str) -> None:
    devices = KnownDevices(templates={("team", "t"): asked}, resources=OWN, others=frozenset({"nic.example.com"}))
    document = pod(container(claims=["c"]), resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}])
    assert gpu_facts(document, "team", devices).kind == kind
    # Where two members of a group may see different snapshots, a claim is a claim.
    assert gpu_facts(document, "team", devices, believe_claims=False).kind == ("claim" if asked else "none")
    assert gpu_facts(document, "team").kind == "claim"
    beside = pod(
        container(limits={"nvidia.com/gpu": 4}, claims=["c"]), resourceClaims=document["spec"]["resourceClaims"]
    )
    assert (gpu_facts(beside, "team", devices).kind, gpu_facts(beside, "team", devices).count) == ("whole", 4)


def test_a_claim_of_the_pods_group_is_shared_and_one_of_its_own_is_not() -> None:
    """1.36, DRAWorkloadResourceClaims: the same name and template as in the PodGroup."""
    claims = [
        {"name": "ring", "resourceClaimTemplateName": "channel"},
        {"name": "own", "resourceClaimTemplateName": "x"},
    ]
    document = pod(
        container(claims=["ring", "own"]), resourceClaims=claims, schedulingGroup={"podGroupName": "training"}
    )
    devices = KnownDevices(
        groups={("team", "training"): frozenset({("ring", "channel")})},
        templates={("team", "channel"): (CHANNEL,)},
    )
    assert gpu_facts(document, "team", devices).claims == (
        GpuClaim("ring", CHANNEL.device_class, 1, "none", shared=True),
        GpuClaim("own", "", 0),
    )


def test_resources_of_classes_count_beside_claims() -> None:
    """One pod: nvidia.com/gpu that a class serves, the implicit name of a class of the cluster's own, and a claim."""
    implicit = "deviceclass.resource.kubernetes.io/own"
    document = pod(
        container(limits={"nvidia.com/gpu": 2, implicit: 1}, claims=["c"]),
        resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}],
    )
    facts = gpu_facts(document, "team", KnownDevices(templates={("team", "t"): (CHANNEL,)}, resources=OWN))
    assert (facts.kind, facts.count, facts.totals) == ("mixed", 3, ((implicit, 1), ("nvidia.com/gpu", 2)))
    assert facts.claims == (GpuClaim("c", CHANNEL.device_class, 1, "none"), GpuClaim("", "own", 1, "mig"))
    assert facts.devices == 3


def test_a_resource_of_a_known_class_is_a_request_for_gpus() -> None:
    devices = KnownDevices(resources={"example.com/gpu": Accelerator("nvidia", "whole")})
    document = gpu_pod(2, resource="example.com/gpu")
    assert gpu_facts(document).kind == "none"
    known = gpu_facts(document, "team", devices)
    assert (known.kind, known.count, known.vendor) == ("whole", 2, "nvidia")


@pytest.mark.parametrize(
    ("text", "mib"),
    [("10Gi", 10240), ("10G", 9537), ("40960Mi", 40960), ("1Mi", 1), ("1048577", 2), ("1.5Gi", 1536), ("1e10", 9537)],
)
def test_the_memory_need_is_read_in_mib_and_rounded_up(text: str, mib: int) -> None:
    facts = gpu_facts(gpu_pod(1, annotations={"podberth.io/gpu-memory": text}))
    assert facts.memory_mib == mib
    assert facts.problems == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ten", 'got "ten", want a quantity such as 2, 500m or 10Gi'),
        ("10GB", 'got "10GB", want a quantity such as 2, 500m or 10Gi'),
        ("", 'got "", want a quantity such as 2, 500m or 10Gi'),
        ("10", 'got "10", want at least 1Mi; give the unit, as in 10Gi'),
        ("-1Gi", 'got "-1Gi", want at least 1Mi; give the unit, as in 10Gi'),
    ],
)
def test_a_memory_need_that_makes_no_sense_is_a_problem_and_unknown(text: str, said: str) -> None:
    facts = gpu_facts(gpu_pod(1, annotations={"podberth.io/gpu-memory": text}))
    assert facts.memory_mib == 0
    assert facts.problems == (f"metadata.annotations[podberth.io/gpu-memory]: {said}",)


def test_an_amount_that_is_no_count_is_a_problem_at_its_place() -> None:
    """tests/real-manifests.md 23: unexpanded placeholders where a number belongs."""
    document = pod(
        container("a"), container("b", limits={"nvidia.com/gpu": "$GPUS"}), init=[gpu_container("i", "500m")]
    )
    facts = gpu_facts(document)
    assert facts.kind == "none"
    assert facts.problems == (
        'spec.containers[1].resources.limits[nvidia.com/gpu]: got "$GPUS", want a whole number of devices',
        'spec.initContainers[0].resources.limits[nvidia.com/gpu]: got "500m", want a whole number of devices',
    )


def test_amounts_stay_within_cels_integers() -> None:
    facts = gpu_facts(
        pod(gpu_container("a", "8E"), gpu_container("b", "8E"), container("c", limits={"amd.com/gpu": "8E"}))
    )
    assert facts.count == 2**63 - 1
    assert max(quantity for _, quantity in facts.totals) == 2**63 - 1


def test_the_dialect_is_named_beside_the_facts() -> None:
    """tests/real-manifests.md 8: a sharing dialect changes nothing of what is asked."""
    document = pod(container(limits={"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000}))
    facts = gpu_facts(document)
    assert (facts.dialect, facts.kind, facts.count) == ("hami", "whole", 1)


def test_facts_are_values() -> None:
    assert gpu_facts(gpu_pod(2)) == gpu_facts(gpu_pod("2"))
    assert hash(gpu_facts(gpu_pod())) == hash(gpu_facts(gpu_pod()))
    request = GpuRequest(
        container="main", init=False, resource="nvidia.com/gpu", quantity=1, kind="whole", vendor="nvidia", profile=""
    )
    assert gpu_facts(gpu_pod()).requests == (request,)
