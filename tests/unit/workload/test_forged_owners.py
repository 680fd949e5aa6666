"""A pod's owner is the object that the reference names, in the pod's own namespace; a uid alone shows nobody anything.

Whoever makes a pod writes its ownerReferences, and the API server proves none of them.
"""

from typing import Any

import pytest

from builders import JSON, gpu_pod, owned, review, workload
from podberth.admission.awaited import Awaited
from podberth.admission.review import decode_review
from podberth.facts.object_kinds import FOLLOWED
from podberth.kube.pod import OwnerReference, controller, is_owner
from podberth.workload.gangs import gang_of
from snapshots import policy, snapshot

SECRETIVE = {"queue": {"kueue.x-k8s.io/queue-name": "secret-queue"}}
JOB_SET_LABELS = {"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/jobset-uid": "s-1"}


def _kept(document: JSON, uid: str, **metadata: Any) -> JSON:
    """Return what podberth keeps of an object of the namespace ``theirs``, as its watch files it."""
    group, _, _ = document["apiVersion"].rpartition("/")
    [kind] = [each for each in FOLLOWED if (each.group, each.kind) == (group, document["kind"])]
    whole = {**document["metadata"], "namespace": "theirs", "uid": uid, **metadata}
    kept: JSON = kind.read({**document, "metadata": whole})
    assert kept["metadata"]["uid"] == uid
    return kept


def _ray() -> JSON:
    spec = {"headGroupSpec": {}, "workerGroupSpecs": [{"replicas": 4, "maxReplicas": 4}]}
    return _kept(workload("ray.io/v1", "RayCluster", spec, name="llama"), "r-1", labels=SECRETIVE["queue"])


def _job_set() -> JSON:
    jobs = [{"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4}}}]
    return _kept(workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs}, name="llama"), "s-1")


def _job() -> JSON:
    above = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "llama", "uid": "s-1"}
    document = workload("batch/v1", "Job", {"parallelism": 4, "completions": 4}, name="llama-workers-0")
    return _kept(document, "j-1", ownerReferences=[{**above, "controller": True}])


OWNERS = {"r-1": _ray(), "s-1": _job_set(), "j-1": _job()}


def _of_ray(**reference: str) -> JSON:
    labels = {"ray.io/cluster": "llama", "ray.io/node-type": "worker", "ray.io/group": "g"}
    said = {"api_version": "ray.io/v1", "name": "llama", "uid": "r-1", **reference}
    return owned(gpu_pod(1, labels=labels), said.pop("kind", "RayCluster"), **said)


def _of_job_set(**reference: str) -> JSON:
    said = {"api_version": "batch/v1", "name": "llama-workers-0", "uid": "j-1", **reference}
    return owned(gpu_pod(1, labels=JOB_SET_LABELS), "Job", **said)


def test_the_owners_own_pods_learn_of_it() -> None:
    ray = gang_of(_of_ray(), "theirs", OWNERS)
    assert (ray.size, ray.system) == (5, "kueue")
    assert gang_of(_of_job_set(), "theirs", OWNERS).size == 8
    # An older pod's labels do not say the uid: then the way leads by the Job.
    old = _of_job_set()
    del old["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-uid"]
    assert gang_of(old, "theirs", OWNERS).size == 8


@pytest.mark.parametrize("pod", [_of_ray(), _of_job_set()], ids=["RayCluster", "JobSet"])
def test_a_pod_of_another_namespace_learns_nothing_by_the_uid(pod: JSON) -> None:
    assert gang_of(pod, "mine", OWNERS) == gang_of(pod, "mine", {})


@pytest.mark.parametrize(
    "reference",
    [{"name": "other"}, {"kind": "RayJob"}, {"api_version": "example.com/v1"}, {"name": ""}],
    ids=["name", "kind", "group", "no name"],
)
def test_a_pod_that_names_another_object_learns_nothing_by_the_uid(reference: dict[str, str]) -> None:
    pod = _of_ray(**reference)
    assert gang_of(pod, "theirs", OWNERS) == gang_of(pod, "theirs", {})


def test_a_link_of_ones_own_leads_into_no_other_namespace() -> None:
    """A tenant may make a Job whose controller is said to be somebody else's JobSet."""
    mine = _job()
    mine["metadata"] |= {"namespace": "mine", "uid": "m-1"}
    pod = _of_job_set(uid="m-1")
    assert gang_of(pod, "mine", {**OWNERS, "m-1": mine}).size == 0


def test_another_version_of_the_same_object_is_the_same() -> None:
    assert gang_of(_of_ray(api_version="ray.io/v1alpha1"), "theirs", OWNERS).size == 5


def test_a_review_waits_for_a_forged_owner_as_for_one_that_nobody_knows() -> None:
    """Else the time of an answer would show whether there is such a uid."""
    known = snapshot(policy("any", "  mutations:\n  - annotations: {a: \"'b'\"}")).with_owners(OWNERS)
    awaited = Awaited(lambda *_: True)
    for namespace, waits in (("theirs", False), ("mine", True)):
        assert (awaited(decode_review(review(_of_ray(), namespace=namespace)), known) is not None) == waits
        unknown = _of_ray(uid="nobody")
        assert awaited(decode_review(review(unknown, namespace=namespace)), known) is not None


@pytest.mark.parametrize("rubbish", [None, 3, [], {}, {"metadata": 3}, {"metadata": {"ownerReferences": 3}}])
def test_rubbish_has_no_controller_and_is_nobodys_owner(rubbish: Any) -> None:
    assert controller(rubbish) is None
    assert not is_owner(rubbish, OwnerReference("", "", "", ""), "")
