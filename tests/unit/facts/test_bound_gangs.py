"""The gangs that have pods on nodes, as a snapshot has them."""

from typing import Any

from builders import JSON, gpu_pod, job_pod, owned
from podberth.facts.bound_gangs import bound_gangs
from podberth.facts.cluster import collect
from podberth.topology.gang_spread import BoundGang
from podberth.wellknown import GANG_LABEL


def on(node: str, name: str, document: JSON) -> JSON:
    """Return a pod with a name, bound to a node."""
    document["metadata"]["name"] = name
    document["spec"]["nodeName"] = node
    return document


def found(*documents: JSON) -> tuple[BoundGang, ...]:
    given = [{"apiVersion": "v1", "kind": "List", "items": list(documents)}]
    return bound_gangs(given, collect(given, now=None))


def labelled(name: str, **fields: Any) -> JSON:
    return gpu_pod(2, name=name, labels={GANG_LABEL: "train"}, **fields)


def test_the_pods_of_a_job_are_one_gang_whose_size_its_owner_states() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default", "uid": "job-uid"},
        "spec": {
            "parallelism": 4,
            "completions": 4,
            "completionMode": "Indexed",
            "template": {"spec": {"subdomain": "a"}},
        },
    }
    pods = [on(f"n-{index}", f"train-{index}", job_pod(index, gpus=8)) for index in range(3)]
    [gang] = found(job, *pods)
    assert (gang.namespace, gang.name, gang.source, gang.size) == ("default", "train", "Job", 4)
    assert (gang.nodes, gang.devices) == (("n-0", "n-1", "n-2"), 24)


def test_a_gang_has_the_name_of_the_owner_that_defines_it() -> None:
    labels = {"jobset.sigs.k8s.io/jobset-name": "sweep", "jobset.sigs.k8s.io/jobset-uid": "set-uid"}
    job = owned(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "sweep-workers-0", "uid": "job-uid"},
            "spec": {},
        },
        "JobSet",
        name="sweep",
        uid="set-uid",
    )
    [gang] = found(job, on("n", "a", job_pod(labels=labels)))
    assert (gang.name, gang.source) == ("sweep", "JobSet")
    [gang] = found(on("n", "a", job_pod(labels=labels)))
    assert (gang.name, gang.source) == ("jobset-set-uid", "JobSet")


def test_pods_that_hold_nothing_are_not_counted() -> None:
    ended = {**labelled("c", nodeName="n"), "status": {"phase": "Succeeded"}}
    broken = {**labelled("d"), "spec": {"nodeName": "n", "containers": {}}}
    [gang] = found(labelled("a", nodeName="n"), labelled("b"), ended, broken, gpu_pod(1, name="alone", nodeName="n"))
    assert (gang.nodes, gang.devices, gang.source) == (("n",), 2, "label")


def test_the_later_of_two_pods_with_one_name_counts() -> None:
    [gang] = found(labelled("a", nodeName="n"), labelled("a", nodeName="m"))
    assert gang.nodes == ("m",)


def test_a_gang_of_another_namespace_is_another_gang() -> None:
    other = labelled("a", nodeName="n")
    other["metadata"]["namespace"] = "team-b"
    assert [each.namespace for each in found(labelled("a", nodeName="n"), other)] == ["default", "team-b"]
