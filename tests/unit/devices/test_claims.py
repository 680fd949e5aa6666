"""The devices that claims ask for, and the accelerators of DeviceClasses, read from unchecked objects."""

from typing import Any

import pytest

from podberth.devices.claims import (
    ClaimRequest,
    KnownDevices,
    class_accelerators,
    class_resources,
    hands_out_others,
    is_generated,
    read_claim,
    read_compute_domain,
    read_template,
    shared_claims,
)
from podberth.devices.resources import Accelerator

JSON = dict[str, Any]


def claim(*requests: Any) -> JSON:
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": list(requests)}}}


def exactly(name: Any, **fields: Any) -> JSON:
    return {"name": "r", "exactly": {"deviceClassName": name, **fields}}


def first(*alternatives: tuple[str, int]) -> JSON:
    return {"name": "r", "firstAvailable": [{"deviceClassName": name, "count": count} for name, count in alternatives]}


@pytest.mark.parametrize(
    ("document", "asked"),
    [
        (claim(exactly("gpu")), [("gpu", 1)]),
        (claim(exactly("gpu", count=4, allocationMode="ExactCount")), [("gpu", 4)]),
        (claim(exactly("gpu", allocationMode="All")), [("gpu", 0)]),
        (claim(exactly("gpu", allocationMode="Newer", count=3)), [("gpu", 0)]),
        (claim({"name": "r", "deviceClassName": "gpu", "count": 2}), [("gpu", 2)]),  # v1beta1
        (claim(exactly("gpu", count=2), exactly("nic"), exactly("gpu")), [("gpu", 3), ("nic", 1)]),
        (claim(exactly("gpu", count=2), exactly("gpu", allocationMode="All")), [("gpu", 0)]),
        (claim(first(("mig.nvidia.com", 1), ("gpu.nvidia.com", 1))), [("mig.nvidia.com", 1)]),
        (claim(first(("gpu.nvidia.com", 1), ("mig.nvidia.com", 2))), [("gpu.nvidia.com", 0)]),
        (claim(first(("mig.nvidia.com", 1), ("other.example.com", 1))), [("", 1)]),
        (claim(exactly("gpu", allocationMode="All"), exactly("gpu", count=2)), [("gpu", 0)]),
        (claim(first(("gpu", 2), ("gpu", 2))), [("gpu", 2)]),
        (claim(first(("gpu", 1), ("gpu", 2))), [("gpu", 0)]),
        (claim(first(("big", 1), ("small", 2))), [("", 0)]),
        (claim(first(("big", 2), ("small", 2))), [("", 2)]),
        (claim(exactly("gpu", adminAccess=True), exactly("nic")), [("nic", 1)]),
        (claim(exactly("gpu", adminAccess=True)), []),
        # Consumable capacity: a part of each device. Partitionable devices are devices like others.
        (claim(exactly("gpu", count=2, capacity={"requests": {"memory": "10Gi"}})), [("gpu", 2)]),
        (claim(exactly("mig.nvidia.com", selectors=[{"cel": {"expression": "true"}}])), [("mig.nvidia.com", 1)]),
        (claim(exactly("gpu", count=2**31 - 1), exactly("gpu", count=2**31 - 1)), [("gpu", 2**31 - 1)]),
    ],
)
def test_a_claim_asks_for_a_number_of_each_class_or_an_unknown_one(
    document: JSON, asked: list[tuple[str, int]]
) -> None:
    assert [(each.device_class, each.count) for each in read_claim(document)] == asked
    assert read_template({"spec": {"spec": document["spec"]}}) == read_claim(document)


@pytest.mark.parametrize("rubbish", [None, 3, "x", [], {"devices": 1}, {"devices": {"requests": {}}}])
def test_a_claim_that_makes_no_sense_asks_for_nothing_that_is_known(rubbish: Any) -> None:
    assert read_claim({"spec": rubbish}) == ()
    assert read_template({"spec": rubbish}) == ()
    assert read_template({"spec": {"spec": rubbish}}) == ()


@pytest.mark.parametrize("odd", [{}, exactly(3), exactly("gpu", count="2"), {"firstAvailable": [None]}])
def test_a_request_that_makes_no_sense_has_neither_class_nor_count_to_rely_on(odd: Any) -> None:
    [found] = read_claim(claim(None, 3, odd))
    assert (found.device_class, found.count) in {("", 1), ("gpu", 0)}


def test_more_requests_than_the_api_takes_are_not_read() -> None:
    [found] = read_claim(claim(*[exactly("gpu")] * 1000))
    assert found.count == len(found.parts) == 32


def test_a_pods_entry_is_looked_up_in_its_namespace() -> None:
    asked, other = (ClaimRequest("gpu", 2),), (ClaimRequest("nic", 1),)
    known = KnownDevices(claims={("team", "x"): asked}, templates={("team", "x"): other})
    assert known.asked("team", {"name": "c", "resourceClaimName": "x"}) == asked
    assert known.asked("team", {"name": "c", "resourceClaimTemplateName": "x"}) == other
    assert known.asked("other", {"name": "c", "resourceClaimName": "x"}) is None
    assert known.asked("team", {"name": "c"}) is None


def test_a_template_that_a_policy_declares_is_known_before_it_is_made_and_another_of_its_name_counts() -> None:
    declared, made = (ClaimRequest("gpu", 2),), (ClaimRequest("nic", 1),)
    known = KnownDevices(declared={"pair-0a1b2c3d": declared}, templates={("team", "pair-0a1b2c3d"): made})
    entry = {"name": "c", "resourceClaimTemplateName": "pair-0a1b2c3d"}
    assert known.asked("other", entry) == declared
    assert known.asked("team", entry) == made


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpu.nvidia.com", "whole"),
        ("mig.nvidia.com", "mig"),
        ("vfio.gpu.nvidia.com", "passthrough"),
        ("compute-domain-default-channel.nvidia.com", "none"),
        ("compute-domain-daemon.nvidia.com", "none"),
        ("mrdma.google.com", "none"),
        ("own", "whole"),
        ("nics", "none"),
        ("never-seen", ""),
        ("", ""),
    ],
)
def test_a_class_is_a_gpus_or_none_or_not_known(name: str, kind: str) -> None:
    own = class_accelerators(device_class("device.driver == 'gpu.nvidia.com'"))
    assert KnownDevices(resources=own, others=frozenset({"nics"})).kind(name) == kind


@pytest.mark.parametrize(
    ("selectors", "others"),
    [
        (["device.driver == 'nic.example.com'"], True),
        (["device.driver == 'compute-domain.nvidia.com'"], True),
        (["device.driver == 'nic.example.com' || device.driver == 'gpu.nvidia.com'"], False),
        (["device.driver == 'gpu.nvidia.com'"], False),
        (["device.attributes['x'].y == 'z'"], False),
        ([], False),
    ],
)
def test_a_class_of_another_driver_hands_out_no_accelerators(selectors: list[str], *, others: bool) -> None:
    assert hands_out_others(device_class(*selectors)) is others


def test_the_channel_of_a_compute_domain_is_known_by_the_domain() -> None:
    """resource.nvidia.com/v1beta1, ComputeDomainSpec."""

    def domain(**channel: Any) -> JSON:
        return {"metadata": {"name": "d"}, "spec": {"numNodes": 0, "channel": channel}}

    name = {"name": "d-channel"}
    one = ("d-channel", (ClaimRequest("compute-domain-default-channel.nvidia.com", 1),))
    assert read_compute_domain(domain(resourceClaimTemplate=name)) == one
    assert read_compute_domain(domain(resourceClaimTemplate=name, allocationMode="Single")) == one
    every = ("d-channel", (ClaimRequest("compute-domain-default-channel.nvidia.com", 0),))
    assert read_compute_domain(domain(resourceClaimTemplate=name, allocationMode="All")) == every
    for rubbish in ({}, {"spec": 3}, domain(), domain(resourceClaimTemplate={"name": 3})):
        assert read_compute_domain(rubbish) is None


def test_a_group_shares_the_claims_of_its_templates() -> None:
    claims = [
        {"name": "ring", "resourceClaimTemplateName": "channel"},
        {"name": "by-name", "resourceClaimName": "x"},
        {"name": 3, "resourceClaimTemplateName": "y"},
        None,
    ]
    assert shared_claims({"spec": {"resourceClaims": claims}}) == {("ring", "channel")}
    assert shared_claims({"spec": None}) == frozenset()


@pytest.mark.parametrize(
    ("entry", "group", "shared"),
    [
        ({"name": "ring", "resourceClaimTemplateName": "channel"}, "g", True),
        ({"name": "other", "resourceClaimTemplateName": "channel"}, "g", False),
        ({"name": "ring", "resourceClaimTemplateName": "another"}, "g", False),
        ({"name": "ring", "resourceClaimTemplateName": "channel"}, "h", False),
        ({"name": "ring", "resourceClaimTemplateName": "channel"}, None, False),
        ({"name": "x", "resourceClaimName": "exists"}, None, True),
    ],
)
def test_a_claim_is_shared_where_its_group_has_it_or_it_exists_by_name(
    entry: JSON, group: object, *, shared: bool
) -> None:
    known = KnownDevices(groups={("team", "g"): frozenset({("ring", "channel")})})
    assert known.shares("team", group, entry) is shared
    assert not known.shares("other", group, entry) or "resourceClaimName" in entry


def test_a_claim_that_was_made_for_a_pod_is_generated() -> None:
    for key in ("resource.kubernetes.io/pod-claim-name", "resource.kubernetes.io/extended-resource-claim"):
        assert is_generated({"metadata": {"name": "x", "annotations": {key: "y"}}})
    for metadata in ({}, {"annotations": None}, {"annotations": {"a": "b"}}, None):
        assert not is_generated({"metadata": metadata})


def device_class(*selectors: Any, name: str = "own", resource: Any = None) -> JSON:
    spec: JSON = {"selectors": [{"cel": {"expression": each}} for each in selectors]}
    return {
        "metadata": {"name": name},
        "spec": spec if resource is None else {**spec, "extendedResourceName": resource},
    }


IMPLICIT = "deviceclass.resource.kubernetes.io/own"


@pytest.mark.parametrize(
    ("selector", "accelerator"),
    [
        ("device.driver == 'gpu.nvidia.com'", Accelerator("nvidia", "whole")),
        (
            """device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig" """,
            Accelerator("nvidia", "mig"),
        ),
        (
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'",
            Accelerator("nvidia", "passthrough"),
        ),
        ("device.driver=='gpu.amd.com'", Accelerator("amd", "whole")),
        ("device.driver == 'nic.example.com'", None),
        ("device.driver == 'gpu.nvidia.com' || device.driver == 'gpu.amd.com'", None),
        ("device.driver != 'gpu.nvidia.com'", None),
    ],
)
def test_a_custom_class_hands_out_the_devices_of_its_driver(selector: str, accelerator: Accelerator | None) -> None:
    made = device_class(selector, resource="example.com/gpu")
    expected = {"example.com/gpu": accelerator, IMPLICIT: accelerator} if accelerator else {}
    assert class_accelerators(made) == expected
    assert class_resources(made) == {"example.com/gpu", IMPLICIT}


def test_names_in_the_table_keep_their_meaning() -> None:
    made = device_class("device.driver == 'gpu.nvidia.com'", resource="nvidia.com/mig-1g.12gb")
    assert set(class_accelerators(made)) == {IMPLICIT}
    assert class_accelerators(device_class(name="gpu.nvidia.com", resource="nvidia.com/gpu")) == {}
    renamed = device_class(name="gpu.nvidia.com", resource="example.com/gpu")
    assert class_accelerators(renamed) == {"example.com/gpu": Accelerator("nvidia", "whole")}


ODD_SELECTORS = [None, {"cel": 3}, {"cel": {"expression": 3}}]


@pytest.mark.parametrize("spec", [None, 3, {"selectors": 3}, {"selectors": ODD_SELECTORS}])
def test_a_class_that_makes_no_sense_hands_out_nothing_that_is_known(spec: Any) -> None:
    made = {"metadata": {"name": "own"}, "spec": spec}
    assert class_accelerators(made) == {}
    assert class_resources(made) == {IMPLICIT}


GPU, NIC, OWN = "gpu.nvidia.com", "nic.example.com", "own.example.com"


def named(name: str, device_class: str, count: int = 1, **more: Any) -> JSON:
    return {"name": name, "exactly": {"deviceClassName": device_class, "count": count, **more}}


@pytest.mark.parametrize(
    ("requests", "resource", "of", "count"),
    [
        ([named("g", GPU, 2), named("n", NIC)], "nvidia.com/gpu", (), 2),
        ([named("g", GPU, 2), named("n", NIC)], "rdma/hca", (), 1),
        ([named("a", GPU, 2), named("b", GPU, 3)], "nvidia.com/gpu", (), 5),
        ([named("a", GPU, 2), named("b", GPU, 3)], "nvidia.com/gpu", ("b",), 3),
        ([named("a", GPU, 2), named("n", NIC)], "nvidia.com/gpu", ("n",), 0),
        ([named("n", NIC)], "nvidia.com/gpu", (), 0),
        ([named("g", GPU, allocationMode="All")], "nvidia.com/gpu", (), None),
        ([named("a", GPU, allocationMode="All"), named("b", GPU, 3)], "nvidia.com/gpu", ("b",), 3),
        ([first((GPU, 2), ("mig.nvidia.com", 2))], "nvidia.com/gpu", (), 2),
        ([first((GPU, 1), (GPU, 2))], "nvidia.com/gpu", (), None),
        ([first((GPU, 1), ("mig.nvidia.com", 2))], "nvidia.com/gpu", (), None),
        # An unknown class counts as of the wanted sort, if no other class is.
        ([named("o", OWN, 2), named("n", NIC)], "nvidia.com/gpu", (), 2),
        ([named("o", OWN, 2), named("g", GPU)], "nvidia.com/gpu", (), 1),
        ([named("o", OWN, 2), named("p", "other.example.com")], "nvidia.com/gpu", (), None),
        ([named("g", GPU, 2)], "example.com/unheard-of", (), 2),
        ([named("g", GPU), named("m", "mig.nvidia.com")], "example.com/unheard-of", (), None),
        ([named("g", GPU, 4)], "example.com/gpu", (), 4),
        ([], "nvidia.com/gpu", (), 0),
    ],
)
def test_devices_stand_for_a_resource_of_their_sort(
    requests: list[JSON], resource: str, of: tuple[str, ...], count: int | None
) -> None:
    known = KnownDevices(
        declared={"t": read_claim(claim(*requests))},
        resources={"example.com/gpu": Accelerator("nvidia", "whole")},
        others=frozenset({NIC}),
    )
    assert known.in_stead("team", {"resourceClaimTemplateName": "t"}, resource, of) == count


def test_the_number_of_an_unknown_template_is_not_known() -> None:
    assert KnownDevices().in_stead("team", {"resourceClaimTemplateName": "t"}, "nvidia.com/gpu") is None
