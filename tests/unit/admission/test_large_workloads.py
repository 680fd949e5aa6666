"""The lists of a workload itself are bounded, and no check goes through one once for each role. Nothing is timed."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import pytest

from builders import gpu_pod, template, workload, workload_review
from calls import calls_of
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.workload import MOST_VALUES_TOGETHER, validate_workload
from podberth.group_checks.case import MOST_ROLES
from podberth.kube.pod_limits import MOST_VALUES as MOST_TEMPLATE_VALUES
from podberth.workload.extent import MOST_OBJECTS, MOST_VALUES
from snapshots import cluster, policy, snapshot

JSON = dict[str, Any]
WRITES = policy("writes", "  mutations:\n  - tolerations: \"[{'key': 'nvidia.com/gpu', 'operator': 'Exists'}]\"")
TRAINING = ("kubeflow.org/v1", "PyTorchJob")
BY_HAND = "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups", "yunikorn.apache.org/app-id"


def review(document: JSON, objects: Sequence[JSON] = ()) -> Outcome:
    by = snapshot(WRITES, objects=[*cluster(hgx_h100_8=1), *objects])
    return validate_workload(decode_review(workload_review(document, "many")), by)


def work(document: JSON, objects: Sequence[JSON] = ()) -> int:
    """Count the calls of a review; those of the first one fill what is remembered."""
    by = snapshot(WRITES, objects=[*cluster(hgx_h100_8=1), *objects])
    asked = decode_review(workload_review(document, "many"))
    validate_workload(asked, by)
    return calls_of(partial(validate_workload, asked, by))


def job_set(jobs: int, waits: int = 0, **fields: Any) -> JSON:
    before = [{"name": "r0", "status": "Complete"}] * waits
    roles = [
        {"name": f"r{at}", "dependsOn": before, "template": {"spec": {"template": template(gpu_pod(8, **fields))}}}
        for at in range(jobs)
    ]
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": roles})


def wrapped(*documents: JSON) -> JSON:
    components = [{"template": each} for each in documents]
    return workload("workload.codeflare.dev/v1beta2", "AppWrapper", {"components": components})


def trained(**fields: Any) -> JSON:
    return workload(*TRAINING, {"pytorchReplicaSpecs": {"Worker": {"template": template(gpu_pod(8))}}, **fields})


VALUES = f"outside its pod templates: got more than {MOST_VALUES:,} values, want so many at most"
OBJECTS = f"it wraps too many objects to be judged: got more than {MOST_OBJECTS}, want so many at most"
TOO_LARGE: dict[str, tuple[Callable[[int], JSON], str]] = {
    "jobs that a job waits for": (lambda times: job_set(2, waits=900 * times), VALUES),
    "roles elsewhere": (lambda times: trained(others={f"r{at}": {} for at in range(5_000 * times)}), VALUES),
    "scalars": (lambda times: trained(others=[0] * 5_000 * times), VALUES),
    "labels": (
        lambda times: trained() | {"metadata": {"labels": {str(at): "" for at in range(5_000 * times)}}},
        VALUES,
    ),
    "objects without templates": (lambda times: wrapped(*[{}] * 500 * times), OBJECTS),
    "objects with templates": (lambda times: wrapped(*[trained()] * 500 * times), OBJECTS),
    "no objects": (lambda times: wrapped(*cast("list[JSON]", [None, "a"] * 300 * times)), OBJECTS),
    "no objects in a wrapper": (lambda times: wrapped(wrapped(*cast("list[JSON]", ["a"] * 600 * times))), OBJECTS),
    "lists in a wrapper": (
        lambda times: wrapped({"apiVersion": "v1", "kind": "List", "items": [{}] * 500 * times}, trained()),
        OBJECTS,
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_workload_beyond_its_bounds_is_not_judged_and_its_author_reads_why(name: str) -> None:
    make, said = TOO_LARGE[name]
    outcome = review(make(1))
    assert outcome.verdict == "allowed"
    [warning] = outcome.warnings
    assert said in warning
    assert warning.endswith("; for all of it: podberth check")


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_larger_workload_beyond_its_bounds_takes_no_longer(name: str) -> None:
    make, _ = TOO_LARGE[name]
    assert work(make(4)) <= work(make(1)) + 10


def test_neither_templates_nor_status_nor_managed_fields_count() -> None:
    long = [{"name": f"v{at}", "value": "1"} for at in range(4_000)]
    document = trained(pytorchReplicaSpecs={"Worker": {"template": template(gpu_pod(8, env=long))}})
    document["status"] = {"conditions": [{}] * MOST_VALUES}
    document["metadata"]["managedFields"] = [{}] * MOST_VALUES
    assert review(document).warnings == review(trained()).warnings


def test_a_dictionary_that_looks_like_a_template_counts_all_the_same() -> None:
    hidden = {"containers": [], "template": {"spec": {"containers": [0] * MOST_VALUES}}}
    assert VALUES in review(trained(others=hidden)).warnings[0]


def ray_cluster(containers: int) -> JSON:
    """Return a cluster whose head has a template beyond its bounds; its workers are counted with it."""
    worker = {"groupName": "g", "replicas": 2, "template": template(gpu_pod(8))}
    head: JSON = {"template": {"spec": {"containers": [{}] * containers}}}
    return workload("ray.io/v1", "RayCluster", {"headGroupSpec": head, "workerGroupSpecs": [worker]})


def test_a_template_beyond_its_bounds_is_not_read_for_the_other_roles_either() -> None:
    assert work(ray_cluster(4_000)) <= work(ray_cluster(1_000)) + 10


def test_fields_that_no_check_knows_have_a_bound_too() -> None:
    unknown: dict[str, Any] = {f"k{at}": {} for at in range(MOST_TEMPLATE_VALUES + 1)}
    [warning] = review(trained(pytorchReplicaSpecs={"Worker": {"template": template(gpu_pod(8, **unknown))}})).warnings
    assert "the pod is too large to be decided on: got more than 31,000 values, want so many at most" in warning


def test_the_unknown_fields_of_all_templates_have_a_bound_together() -> None:
    outcome = review(job_set(3, unknown={f"k{at}": {} for at in range(MOST_VALUES_TOGETHER // 2)}))
    assert "only the first 1 are judged" in outcome.warnings[0]


def fourfold(make: Callable[[int], JSON]) -> float:
    """Return how much more a review of four times as many roles takes."""
    return work(make(MOST_ROLES)) / work(make(MOST_ROLES // 4))


def grouped(jobs: int) -> JSON:
    """Return roles that are each in a group of many task groups, and in one that is known nowhere."""
    groups = json.dumps([{"minMember": 1}] * 300)
    named = dict(zip(BY_HAND, ("g", groups, "application"), strict=True))
    return job_set(jobs, annotations={**named, "scheduling.k8s.io/group-name": "volcanos"})


def in_company(jobs: int) -> JSON:
    """Return roles that want company in many ways."""
    terms = [{"topologyKey": f"level-{at}", "labelSelector": {"matchLabels": {"a": "b"}}} for at in range(8)]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return job_set(jobs, waits=40, labels={"a": "b"}, affinity=affinity)


@pytest.mark.parametrize("make", [grouped, in_company])
def test_groups_are_checked_in_proportion_to_the_roles(make: Callable[[int], JSON]) -> None:
    # Of each pair of roles something is compared, which is less than a tenth of it all.
    assert fourfold(make) <= 5


def namespaces(number: int) -> list[JSON]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{at}"}} for at in range(number)]


def test_a_group_that_is_nowhere_is_looked_for_without_a_call_for_each_namespace() -> None:
    assert work(grouped(8), namespaces(400)) <= work(grouped(8), namespaces(10)) + 50


def queues(number: int) -> list[JSON]:
    local = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "LocalQueue",
            "metadata": {"name": f"q{at}", "namespace": "default"},
            "spec": {"clusterQueue": "c"},
        }
        for at in range(number)
    ]
    parents = [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": f"q{at}"},
            "spec": {"parentQueue": "p"},
        }
        for at in range(number)
    ]
    return [*local, *parents]


def test_queues_are_not_gone_through_for_each_role() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "none", "kai.scheduler/queue": "none"}
    assert work(job_set(8, labels=labels), queues(400)) <= work(job_set(8, labels=labels), queues(10)) + 50
