import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from builders import JSON, container, gpu_container, gpu_pod, owned, pod, sidecar, template, workload
from named_owners import gang_of
from podberth.conventions import MACHINE_LABELS, STATE_LABELS
from podberth.facts.cluster import ClusterFacts, collect
from podberth.facts.pseudonyms import anonymised
from podberth.facts.trim import as_list, trim
from podberth.wellknown import NAMESPACE
from podberth.workload.stages import stages_of
from topology_scenes import as_list as listed
from topology_scenes import cluster, hostile


def is_param(namespace: str, name: str, labels: Mapping[str, Any]) -> bool:
    return (namespace, name) == (NAMESPACE, "wanted") or "chosen" in labels


def kept(*documents: JSON) -> list[JSON]:
    return trim(documents, is_param=is_param)


def thing(version: str, kind: str, name: str = "x", **fields: Any) -> JSON:
    metadata = {"name": name, "managedFields": [{}], "resourceVersion": "7", **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "status": {"secret": 1}, **fields}


MADE = {"resource.kubernetes.io/pod-claim-name": "gpu"}
ASKED = {
    "devices": {
        "constraints": ["secret"],
        "requests": [
            {"name": "a", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2, "selectors": ["secret"]}},
            {
                "name": "b",
                "firstAvailable": [{"name": "c", "deviceClassName": "mig.nvidia.com", "selectors": "secret"}],
            },
            {"name": "d", "deviceClassName": "old.example.com", "allocationMode": "All"},
            "rubbish",
        ],
    }
}
NOISE = {"kubectl.kubernetes.io/last-applied-configuration": "secret"}
OTHERS = [
    thing("v1", "Namespace", "research", metadata={"labels": {"team": "a"}, "annotations": {**NOISE, "owner": "b"}}),
    thing("v1", "ConfigMap", "wanted", metadata={"namespace": NAMESPACE, "annotations": NOISE}, data={"mode": "x"}),
    thing("v1", "ConfigMap", "by-label", metadata={"labels": {"chosen": ""}}, data={"a": "b"}),
    thing("v1", "ConfigMap", "secret", data={"password": "secret"}),
    thing("v1", "Secret", data={"password": "secret"}),
    thing("v1", "Pod", spec={"containers": []}),
    thing("coordination.k8s.io/v1", "Lease", metadata={"namespace": NAMESPACE}, spec={"renewTime": "2026"}),
    thing(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        metadata={"namespace": "research"},
        spec={
            "secret": 1,
            "schedulingPolicy": {"gang": {"minCount": 4, "of": "secret"}},
            "resourceClaims": [
                {"name": "ring", "resourceClaimTemplateName": "ch"},
                {"name": "x", "resourceClaimName": "secret"},
            ],
        },
    ),
    thing("scheduling.volcano.sh/v1beta1", "PodGroup", "vc", spec={"minMember": 3, "queue": "secret"}),
    thing(
        "scheduling.volcano.sh/v1beta1",
        "Queue",
        "vq",
        spec={"weight": "secret"},
        status={"state": "Closed", "x": "secret"},
    ),
    thing("scheduling.run.ai/v2", "Queue", "kq", spec={"parentQueue": "top", "displayName": "secret"}),
    thing(
        "kueue.x-k8s.io/v1beta2",
        "LocalQueue",
        "lq",
        metadata={"namespace": "research"},
        spec={"clusterQueue": "cq", "stopPolicy": "Hold", "fairSharing": "secret"},
    ),
    thing(
        "kueue.x-k8s.io/v1beta2",
        "ClusterQueue",
        "cq",
        spec={
            "cohortName": "secret",
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "secret"}]}],
        },
        status={"conditions": [{"type": "Active", "status": "False", "reason": "Gone", "message": "secret"}]},
    ),
    thing(
        "resource.nvidia.com/v1beta1",
        "ComputeDomain",
        "d",
        spec={"numNodes": 3, "channel": {"resourceClaimTemplate": {"name": "ch", "other": "secret"}}},
    ),
    thing("resource.nvidia.com/v1beta1", "ComputeDomain", "old", spec={"numNodes": 3}),
    thing("resource.k8s.io/v1", "ResourceClaim", "mine", spec=ASKED),
    thing("resource.k8s.io/v1", "ResourceClaim", "made", metadata={"annotations": MADE}, spec=ASKED),
    thing("resource.k8s.io/v1", "ResourceClaimTemplate", "t", spec={"metadata": {"a": "secret"}, "spec": ASKED}),
    thing("scheduling.k8s.io/v1", "PriorityClass", "default", globalDefault=True, value=7, description="secret"),
    thing("scheduling.k8s.io/v1", "PriorityClass", "other", value=8),
    thing("resource.k8s.io/v1", "DeviceClass", spec={"extendedResourceName": "example.com/g", "selectors": ["secret"]}),
    thing(
        "resource.k8s.io/v1",
        "DeviceClass",
        "own",
        spec={
            "extendedResourceName": "example.com/own",
            "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}, "other": "secret"}],
            "config": ["secret"],
        },
    ),
    thing(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        metadata={"uid": "u1", "namespace": "research", "annotations": {"a": "secret"}},
        spec={
            "replicatedJobs": [
                {
                    "name": "w",
                    "replicas": 2,
                    "template": {
                        "spec": {
                            "parallelism": 3,
                            "template": {
                                "spec": {"containers": [{"name": "m", "env": [{"name": "T", "value": "secret"}]}]}
                            },
                        }
                    },
                }
            ]
        },
    ),
]


def test_only_what_is_read_is_kept() -> None:
    found = kept(*OTHERS)
    names = [f"{each['kind']} {each['metadata']['name']}" for each in found]
    assert names == [
        "ConfigMap by-label",
        "ConfigMap wanted",
        "Namespace research",
        "JobSet x",
        "ClusterQueue cq",
        "LocalQueue lq",
        "DeviceClass own",
        "DeviceClass x",
        "ResourceClaim mine",
        "ResourceClaimTemplate t",
        "ComputeDomain d",
        "PodGroup x",
        "PriorityClass default",
        "PriorityClass other",
        "Queue kq",
        "PodGroup vc",
        "Queue vq",
    ]
    text = json.dumps(found)
    assert not [word for word in ("secret", "managedFields", "resourceVersion") if word in text]


def test_a_condition_whose_type_is_no_text_is_left_out() -> None:
    queue = thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", status={"conditions": [{"type": ["Active"]}]})
    assert [each.keys() for each in kept(queue)] == [{"apiVersion", "kind", "metadata"}]


def test_which_pod_groups_are_served_is_kept_once_for_an_api_group() -> None:
    def discovery(version: str, *plurals: str) -> dict[str, Any]:
        listed = [{"name": each, "verbs": ["list"]} for each in plurals]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}

    documents = [
        discovery("scheduling.k8s.io/v1", "priorityclasses"),
        discovery("scheduling.k8s.io/v1alpha3", "podgroups", "workloads"),
        discovery("scheduling.k8s.io/v1beta1", "podgroups", "workloads"),
        discovery("scheduling.x-k8s.io/v1alpha1", "podgroups"),
        discovery("example.com/v1", "podgroups"),
        {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": 1, "resources": [1]},
    ]
    found = kept(*documents)
    assert [each["groupVersion"] for each in found] == ["scheduling.k8s.io/v1beta1", "scheduling.x-k8s.io/v1alpha1"]
    served = collect(documents, now=None)
    assert (
        served.served_groups == collect(found, now=None).served_groups == {"scheduling.k8s.io", "scheduling.x-k8s.io"}
    )
    assert served.problems == ()


def same(one: ClusterFacts, other: ClusterFacts) -> bool:
    fields = (
        "nodes",
        "pod_groups",
        "served_groups",
        "queues",
        "class_resources",
        "devices",
        "default_priority_class",
    )
    mappings = ("namespaces", "owners")
    return all(getattr(one, each) == getattr(other, each) for each in fields) and all(
        getattr(one, each).keys() == getattr(other, each).keys() for each in mappings
    )


def test_what_is_made_of_it_is_what_is_made_of_the_originals() -> None:
    everything = [*cluster(), *hostile(), *OTHERS]
    assert same(collect(kept(*everything), now=None), collect(everything, now=None))


def test_a_node_is_kept_without_what_ages() -> None:
    [node, *_] = cluster()
    noisy = copy.deepcopy(node)
    noisy["metadata"] |= {"resourceVersion": "9", "annotations": {"a": "b"}, "managedFields": []}
    noisy["status"] |= {"images": ["many"], "addresses": [], "nodeInfo": {"bootID": "b"}}
    noisy["status"]["conditions"] = [
        {"type": "MemoryPressure", "status": "False"},
        {**noisy["status"]["conditions"][0], "lastHeartbeatTime": "now"},
    ]
    assert kept(noisy) == kept(node)
    assert set(kept(node)[0]["status"]["allocatable"]) == {"nvidia.com/gpu"}


def test_the_same_cluster_gives_the_same_bytes_whatever_the_order_and_the_wrapping() -> None:
    documents = [*cluster(), *OTHERS]
    nodes = {"apiVersion": "v1", "kind": "NodeList", "items": [each for each in documents if each["kind"] == "Node"]}
    rest = [each for each in documents if each["kind"] != "Node"]
    one, other = kept(*documents), kept(listed(rest[::-1]), nodes)
    assert list(as_list(one, json.dumps)) == list(as_list(other, json.dumps))


def test_it_is_a_list_with_an_object_to_a_line() -> None:
    found = kept(*cluster())
    lines = list(as_list(found, json.dumps))
    assert json.loads("\n".join(lines)) == {"apiVersion": "v1", "kind": "List", "items": found}
    assert len(lines) == len(found) + 2
    assert json.loads("\n".join(as_list([], json.dumps)))["items"] == []


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"apiVersion": "v1", "kind": "Node"},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x", "labels": {"a": 1}}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}, "spec": {"taints": ["a"]}},
        {"apiVersion": 1, "kind": "Node", "metadata": {"name": "x"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ["x"], "namespace": {}}},
        {"apiVersion": "v1", "kind": "PodGroup", "metadata": {"name": "x", "namespace": []}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "x", "namespace": NAMESPACE, "labels": {"podberth.io/topology": "v1"}},
            "data": {"topology.json": "{"},
        },
    ],
)
def test_what_cannot_be_used_is_left_out(broken: JSON) -> None:
    assert kept(broken) == []


def test_an_owner_that_makes_no_more_pods_is_left_out() -> None:
    finished = {"conditions": [{"type": "Complete", "status": "True"}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "uid": "u"}, "spec": {"parallelism": 4}}
    assert [each["kind"] for each in kept(job)] == ["Job"]
    assert kept({**job, "status": finished}) == []


# ---- what the roles of a gang ask for -------------------------------------------------------------------------------


def ray_cluster(name: str) -> JSON:
    """Return a RayCluster whose templates choose nodes, one by name, and hold a secret."""
    required = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]}
    head = pod(
        container(limits={"nvidia.com/gpu": "1", "cpu": "secret"}, env=[{"name": "T", "value": "secret"}]),
        init=[sidecar(limits={"nvidia.com/gpu": "2"})],
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}, "podAffinity": {}},
        tolerations=[{"key": "team"}],
    )
    worker = pod(
        gpu_container(gpus="8", claims=["nic"]),
        nodeSelector={"pool": "a"},
        resourceClaims=[{"name": "nic", "resourceClaimTemplateName": "t"}],
    )
    spec = {
        "headGroupSpec": {"template": template(head), "rayStartParams": {"password": "secret"}},
        "workerGroupSpecs": [{"replicas": 2, "template": template(worker)}],
    }
    made = workload("ray.io/v1", "RayCluster", spec, name="rc")
    made["metadata"] |= {"uid": "u", "namespace": "research"}
    return made


def test_what_roles_ask_of_a_node_stays_and_nothing_else_of_their_templates() -> None:
    name = next(node.name for node in collect(cluster(), now=None).nodes)
    member = owned(gpu_pod(8, labels={"ray.io/cluster": "rc", "ray.io/node-type": "worker"}), "RayCluster", uid="u")
    whole = ray_cluster(name)
    found = kept(*cluster(), whole)
    expected = gang_of(member, "research", {"u": whole})
    assert len(expected.roles) == 2
    assert gang_of(member, "research", collect(found, now=None).owners) == expected

    hidden = anonymised(found)
    assert "secret" not in json.dumps(found)
    assert f'"{name}"' not in json.dumps(hidden)
    renamed = gang_of(member, "research", collect(hidden, now=None).owners)
    [head, worker] = [role.asks for role in renamed.roles]
    assert head is not None
    assert head.choice.replace("node-01", name) == (expected.roles[0].asks and expected.roles[0].asks.choice)
    assert worker == expected.roles[1].asks


# ---- other names ----------------------------------------------------------------------------------------------------


def test_names_are_replaced_everywhere_and_alike() -> None:
    found = anonymised(kept(*cluster(), *OTHERS))
    text = json.dumps(found)
    real = [*(node.name for node in collect(cluster(), now=None).nodes), "research"]
    assert not [name for name in real if f'"{name}"' in text]
    assert "GPU-" not in text
    objects = collect(found, now=None)
    assert objects.problems == ()
    assert [node.name for node in objects.nodes] == [f"node-{number:02}" for number in range(1, 12)]
    assert all(node.labels["kubernetes.io/hostname"] == node.name for node in objects.nodes)
    assert sum(node.topology is not None for node in objects.nodes) == 10
    assert list(objects.namespaces) == ["namespace-1"]
    assert objects.native_groups == {"namespace-1": {"x"}}


def test_states_of_a_node_are_kept_and_names_of_its_machine_are_not() -> None:
    labels = {**dict.fromkeys(MACHINE_LABELS, "i-0abc"), **dict.fromkeys(STATE_LABELS, "3")}
    [node] = anonymised([thing("v1", "Node", "gpu-1", metadata={"labels": labels})])
    assert node["metadata"]["labels"] == {
        **dict.fromkeys(MACHINE_LABELS, "node-1"),
        **dict.fromkeys(STATE_LABELS, "3"),
    }


def test_what_decisions_are_made_by_stays() -> None:
    before = collect(kept(*cluster()), now=None).nodes
    after = collect(anonymised(kept(*cluster())), now=None).nodes
    of = {node.name: node for node in before}
    for number, name in enumerate(sorted(of), 1):
        [renamed] = [node for node in after if node.name == f"node-{number:02}"]
        assert (renamed.transient, renamed.taints, renamed.allocatable) == (
            of[name].transient,
            of[name].taints,
            of[name].allocatable,
        )
        hidden = {key for key, value in of[name].labels.items() if renamed.labels[key] != value}
        assert hidden == {"kubernetes.io/hostname"}


def test_the_namespaces_that_every_cluster_has_keep_their_names() -> None:
    common = [thing("v1", "Namespace", name) for name in ("default", "kube-system", NAMESPACE)]
    assert {each["metadata"]["name"] for each in anonymised(kept(*common))} == {"default", "kube-system", NAMESPACE}


@pytest.mark.parametrize(
    "owner",
    [
        workload(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [{"name": "a"}, {"name": "b"}]},
        ),
        workload("kubeflow.org/v2beta1", "MPIJob", {"launcherCreationPolicy": "WaitForWorkersReady"}),
    ],
    ids=lambda owner: owner["kind"],
)
def test_that_pods_start_in_stages_is_kept(owner: JSON) -> None:
    owner["metadata"]["uid"] = "u1"
    assert stages_of(owner)
    [trimmed] = kept(owner)
    assert stages_of(trimmed) == stages_of(owner)
