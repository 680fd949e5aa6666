from datetime import UTC, datetime
from typing import Any

import pytest

from node_builders import machines, node_manifest
from podberth.devices.claims import ClaimRequest, KnownDevices
from podberth.facts.cluster import collect
from podberth.topology.heartbeats import is_stale
from podberth.wellknown import NAMESPACE

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def lease(name: str, renewed: Any, seconds: Any = 40, namespace: str = NAMESPACE) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"renewTime": renewed, "leaseDurationSeconds": seconds},
    }


def thing(version: str, kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}


def test_objects_are_sorted_by_what_they_are() -> None:
    job = thing("batch/v1", "Job", "train", uid="u-1")
    jobset = thing("jobset.x-k8s.io/v1alpha2", "JobSet", "set", uid="u-2")
    parameters = thing("v1", "ConfigMap", "limits", namespace="podberth-system")
    objects = collect(
        [
            *machines("l4-1", 2),
            thing("v1", "Namespace", "team-a"),
            parameters,
            thing("scheduling.k8s.io/v1alpha2", "PodGroup", "gang", namespace="team-a"),
            thing("scheduling.k8s.io/v1beta1", "PodGroup", "gang-2"),
            thing("scheduling.volcano.sh/v1beta1", "PodGroup", "vc"),
            thing("resource.k8s.io/v1", "ResourceSlice", "slice"),
            job,
            jobset,
            thing("v1", "Pod", "p"),
            thing("v1", "Pod", "q"),
        ],
        now=None,
    )
    assert [node.name for node in objects.nodes] == ["l4-1-0", "l4-1-1"]
    assert all(node.topology is not None for node in objects.nodes)
    assert set(objects.namespaces) == {"team-a"}
    assert objects.config_maps == {("podberth-system", "limits"): parameters}
    assert objects.native_groups == {"team-a": {"gang"}, "default": {"gang-2"}}
    assert {uid: owner["metadata"]["namespace"] for uid, owner in objects.owners.items()} == {
        "u-1": "default",
        "u-2": "default",
    }
    assert objects.problems == (
        "resource.k8s.io/v1 ResourceSlice: passed over 1; nothing is known from this kind",
        "v1 Pod: passed over 2; nothing is known from this kind",
    )


def test_lists_are_read_as_kubectl_and_as_the_api_print_them() -> None:
    plain = node_manifest("a")
    bare = {key: value for key, value in node_manifest("b").items() if key not in {"kind", "apiVersion"}}
    objects = collect(
        [
            {"apiVersion": "v1", "kind": "List", "items": [plain, {"apiVersion": "v1", "kind": "List", "items": []}]},
            {"apiVersion": "v1", "kind": "NodeList", "items": [bare]},
        ],
        now=None,
    )
    assert [node.name for node in objects.nodes] == ["a", "b"]


@pytest.mark.parametrize(
    "rubbish", [None, 1, "text", [], {}, {"kind": "Node"}, {"kind": "List", "items": [3]}, {"metadata": 3}]
)
def test_rubbish_costs_only_itself(rubbish: Any) -> None:
    objects = collect([rubbish, node_manifest("a")], now=None)
    assert [node.name for node in objects.nodes] == ["a"]
    assert len(objects.problems) == 1


def test_a_broken_topology_is_a_problem_and_the_node_is_known_by_its_labels() -> None:
    node, topology = machines("l4-1", 1)
    topology["data"]["topology.json"] = "{"
    objects = collect([topology, node], now=None)
    assert objects.nodes[0].topology is None
    assert "ConfigMap l4-1-0: data['topology.json']: not JSON" in objects.problems[0]


def test_a_topology_from_another_namespace_is_not_believed() -> None:
    node, topology = machines("l4-1", 1)
    topology["metadata"]["namespace"] = "team-a"
    objects = collect([topology, node], now=None)
    assert objects.nodes[0].topology is None
    assert objects.config_maps == {}
    assert "outside of podberth-system" in objects.problems[0]


def test_a_topology_without_its_node_and_a_node_given_twice_are_problems() -> None:
    _, topology = machines("l4-1", 1)
    objects = collect([topology, node_manifest("a"), node_manifest("a", labels={"later": "yes"})], now=None)
    assert objects.nodes[0].labels["later"] == "yes"
    assert objects.problems == (
        "ConfigMap l4-1-0: topology of a node that is not there",
        "Node a: given twice; the later one counts",
    )


@pytest.mark.parametrize(
    ("renewed", "seconds", "stale"),
    [
        ("2026-01-31T11:59:30.000000Z", 40, False),
        ("2026-01-31T11:59:00.000000Z", 40, True),
        (datetime(2026, 1, 31, 11, 59, 30, tzinfo=UTC), 40, False),
        ("2026-01-31T11:59:30", 40, True),
        ("never", 40, True),
        (None, 40, True),
        ("2026-01-31T11:59:30Z", "40", True),
        ("2026-01-31T11:59:30Z", 10**12, True),
    ],
)
def test_a_heartbeat_is_stale_when_its_lease_has_run_out_or_cannot_be_read(
    renewed: Any, seconds: Any, *, stale: bool
) -> None:
    assert is_stale(lease("l4-1-0", renewed, seconds), NOW) is stale


def test_without_a_lease_or_without_a_time_nothing_is_stale() -> None:
    assert not is_stale(None, NOW)
    old = lease("l4-1-0", "2020-01-01T00:00:00Z")
    assert collect([*machines("l4-1", 1), old], now=None).nodes[0].transient == ""
    assert collect([*machines("l4-1", 1), old], now=NOW).nodes[0].transient == "stale"
    elsewhere = lease("l4-1-0", "2020-01-01T00:00:00Z", namespace="kube-node-lease")
    assert collect([*machines("l4-1", 1), elsewhere], now=NOW).nodes[0].transient == ""


def test_device_classes_state_what_dra_serves() -> None:
    explicit = thing("resource.k8s.io/v1", "DeviceClass", "mig-small")
    explicit["spec"] = {"extendedResourceName": "nvidia.com/mig-1g.12gb"}
    objects = collect([explicit, thing("resource.k8s.io/v1", "DeviceClass", "gpu.nvidia.com")], now=None)
    assert objects.class_resources == {
        "nvidia.com/mig-1g.12gb",
        "deviceclass.resource.kubernetes.io/mig-small",
        "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
    }


def test_pod_groups_state_how_many_start_together_each_in_its_own_api_group() -> None:
    native = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    objects = collect(
        [
            {**thing("scheduling.k8s.io/v1alpha2", "PodGroup", "a", namespace="team"), "spec": native},
            {**thing("scheduling.k8s.io/v1alpha2", "PodGroup", "basic", namespace="team"), "spec": {}},
            {**thing("scheduling.volcano.sh/v1beta1", "PodGroup", "a", namespace="team"), "spec": {"minMember": 3}},
            {**thing("scheduling.run.ai/v2alpha2", "PodGroup", "one"), "spec": {"minMember": 1}},
            {**thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "wrong"), "spec": {"minMember": "8"}},
        ],
        now=None,
    )
    assert {key: objects.group_size(key) for key in objects.pod_groups} == {
        ("scheduling.k8s.io", "team", "a"): 4,
        ("scheduling.volcano.sh", "team", "a"): 3,
        ("scheduling.k8s.io", "team", "basic"): 0,
        ("scheduling.run.ai", "default", "one"): 0,
        ("scheduling.x-k8s.io", "default", "wrong"): 0,
    }
    assert objects.group_size(("scheduling.k8s.io", "team", "unknown")) == 0
    assert objects.native_groups == {"team": {"a", "basic"}}


def test_groups_state_what_they_share_domains_their_channel_and_classes_that_they_are_no_gpus() -> None:
    nics = {"selectors": [{"cel": {"expression": "device.driver == 'nic.example.com'"}}]}
    shared = {"resourceClaims": [{"name": "ring", "resourceClaimTemplateName": "channel"}]}
    domain = {"channel": {"resourceClaimTemplate": {"name": "channel"}, "allocationMode": "All"}}
    objects = collect(
        [
            {**thing("scheduling.k8s.io/v1alpha2", "PodGroup", "a", namespace="team"), "spec": shared},
            {**thing("resource.nvidia.com/v1beta1", "ComputeDomain", "d", namespace="team"), "spec": domain},
            {**thing("resource.k8s.io/v1", "DeviceClass", "nics"), "spec": nics},
        ],
        now=None,
    )
    assert objects.devices == KnownDevices(
        templates={("team", "channel"): (ClaimRequest("compute-domain-default-channel.nvidia.com", 0),)},
        groups={("team", "a"): frozenset({("ring", "channel")})},
        others=frozenset({"nics"}),
    )
    assert objects.problems == ()


def test_claims_and_templates_state_what_is_asked_for_and_generated_claims_are_nobodys() -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}
    made = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    objects = collect(
        [
            {**thing("resource.k8s.io/v1", "ResourceClaim", "shared", namespace="team"), "spec": spec},
            {**thing("resource.k8s.io/v1", "ResourceClaim", "pod-gpu-x", annotations=made), "spec": spec},
            {**thing("resource.k8s.io/v1", "ResourceClaimTemplate", "t", namespace="team"), "spec": {"spec": spec}},
        ],
        now=None,
    )
    asked = (ClaimRequest("gpu.nvidia.com", 2, (("r", 2),)),)
    assert objects.devices == KnownDevices(claims={("team", "shared"): asked}, templates={("team", "t"): asked})


def test_the_default_priority_class_is_the_one_that_the_apiserver_would_take() -> None:
    def priority(name: str, value: Any, *, default: bool) -> dict[str, Any]:
        return {**thing("scheduling.k8s.io/v1", "PriorityClass", name), "value": value, "globalDefault": default}

    found = collect(
        [
            priority("a", 9, default=True),
            priority("b", 5, default=True),
            priority("c", 1, default=False),
            priority("d", "0", default=True),
        ],
        now=None,
    )
    assert found.default_priority_class == "b"
    assert found.problems == ()
    assert collect([priority("c", 1, default=False)], now=None).default_priority_class == ""
