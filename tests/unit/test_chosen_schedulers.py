"""A namespace chooses its scheduler by an optional policy: its pods come out as that scheduler wants them."""

from typing import Any

import pytest

from builders import gpu_pod, review, workload_review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.facts.cluster import collect
from podberth.kube.patch import apply
from podberth.workload.systems import BY_NAME
from snapshots import cluster, library, over

JSON = dict[str, Any]
QUEUE = ("metadata", "annotations", "scheduling.volcano.sh/queue-name"), ("metadata", "labels", "kai.scheduler/queue")
SYSTEMS = [
    ("volcano", "volcano", QUEUE[0], "scheduling.volcano.sh/group-min-member"),
    ("kai", "kai-scheduler", QUEUE[1], "kai.scheduler/batch-min-member"),
]
_POD_GROUPS = {"name": "podgroups", "kind": "PodGroup"}
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def job(annotations: dict[str, str]) -> JSON:
    """Return an Indexed Job of four pods that find each other by a subdomain."""
    spec = {**gpu_pod(8)["spec"], "subdomain": "j", "restartPolicy": "Never"}
    whole = {"completionMode": "Indexed", "parallelism": 4, "completions": 4, "template": {"spec": spec}}
    metadata = {"name": "j", "namespace": "research", "uid": "u", "annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": whole}


def known(policy: str, mode: str, *objects: JSON) -> Snapshot:
    """Return the shipped policies and the optional one, over eight machines in two racks."""
    params = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "podberth-gang-topology", "namespace": "podberth-system"},
        "data": {"mode": mode},
    }
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "research", "labels": {f"podberth.io/{policy}-queue": "vision"}},
    }
    nodes = [_in_a_rack(each) for each in cluster(hgx_h100_8=8)]
    facts = collect([*nodes, namespace, params, *objects], now=None)
    return over(library(policy), facts)


def _in_a_rack(document: JSON) -> JSON:
    if document["kind"] != "Node":
        return document
    metadata = document["metadata"]
    rack = f"r{int(metadata['name'].rpartition('-')[2]) // 4}"
    labels = {**metadata.get("labels", {}), "topology.kubernetes.io/zone": rack}
    return {**document, "metadata": {**metadata, "labels": labels}, "spec": {"taints": [TAINT]}}


def made(policy: str, mode: str, annotations: dict[str, str]) -> JSON:
    """Return a pod of the Job as it is created."""
    owner = job(annotations)
    pod = gpu_pod(8, labels={"batch.kubernetes.io/job-completion-index": "0"}, subdomain="j")
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    pod["metadata"] |= {"namespace": "research", "ownerReferences": [reference]}
    outcome = decide.mutate(decode_review(review(pod, namespace="research")), known(policy, mode, owner))
    found: JSON = apply(pod, outcome.patch)
    return found


@pytest.mark.parametrize("mode", ["preferred", "required"])
@pytest.mark.parametrize(("policy", "scheduler", "queue", "least"), SYSTEMS)
def test_a_gang_with_a_minimum_is_left_to_its_scheduler(
    policy: str, scheduler: str, queue: tuple[str, ...], least: str, mode: str
) -> None:
    pod = made(policy, mode, {least: "4"})
    assert pod["spec"]["schedulerName"] == scheduler
    assert pod["metadata"][queue[1]][queue[2]] == "vision"
    assert [each["key"] for each in pod["spec"]["tolerations"]] == ["nvidia.com/gpu"]
    assert "affinity" not in pod["spec"]


@pytest.mark.parametrize(("policy", "least"), [(policy, least) for policy, _, _, least in SYSTEMS])
def test_a_gang_without_one_is_kept_together_and_its_author_reads_what_to_write(policy: str, least: str) -> None:
    pod = made(policy, "preferred", {})
    assert pod["spec"]["affinity"].keys() == {"podAffinity"}

    asked = workload_review(job({}), "jobs", namespace="research")
    lines = validate_workload(decode_review(asked), known(policy, "preferred")).warnings
    [line] = [line for line in lines if least in line]
    assert "got none" in line
    assert line.endswith("starts the 4 pods of this gang one by one; write 4")
    stated = workload_review(job({least: "4"}), "jobs", namespace="research")
    assert not [x for x in validate_workload(decode_review(stated), known(policy, "preferred")).warnings if least in x]


@pytest.mark.parametrize(
    ("system", "label", "scheduler"),
    [
        ("coscheduling", "scheduling.x-k8s.io/pod-group", "scheduler-plugins-scheduler"),
        ("koordinator", "pod-group.scheduling.sigs.k8s.io", "koord-scheduler"),
    ],
)
@pytest.mark.parametrize("served", [True, False])
def test_a_gang_gets_its_group_and_the_scheduler_that_counts_it_or_neither(
    system: str, label: str, scheduler: str, served: bool
) -> None:
    group_version = f"{BY_NAME[system].pod_groups}/v1alpha1"
    objects: list[JSON] = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "research", "labels": {"podberth.io/gang-system": system}},
        },
        {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": group_version, "resources": [_POD_GROUPS]},
    ]
    known = over(library("gang-system", "gang-scheduler"), collect(objects[: 1 + served], now=None))
    pod = gpu_pod(8, labels={"podberth.io/gang": "llama"}, annotations={"podberth.io/gang-size": "4"})
    pod["metadata"]["namespace"] = "research"
    outcome = decide.mutate(decode_review(review(pod, namespace="research")), known)
    found: JSON = apply(pod, outcome.patch)
    assert found["metadata"]["labels"].get(label) == ("llama" if served else None)
    assert found["spec"].get("schedulerName") == (scheduler if served else None)


def test_a_pod_whose_scheduler_kai_or_volcano_chooses_is_the_first_ones() -> None:
    labels = {"podberth.io/kai-queue": "vision", "podberth.io/volcano-queue": "vision"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research", "labels": labels}}
    known = over(library("kai", "volcano", "gang-scheduler"), collect([namespace], now=None))
    assert known.notes == ()
    outcome = decide.mutate(decode_review(review(gpu_pod(8), namespace="research")), known)
    assert apply(gpu_pod(8), outcome.patch)["spec"]["schedulerName"] == "kai-scheduler"
    assert not [line for line in outcome.warnings if "conflict" in line]
