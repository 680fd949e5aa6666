"""podberth down: with fail-closed, only the creation of GPU pods notices; without, nothing. The workloads go on."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from builders import container, deployment, gpu_pod, job, pod
from controlplane.kubelet import RUN_SECONDS_ANNOTATION
from controlplane.wait import wait_for

from .manifest import GPU_TOLERATION, record
from .podberth_process import Podberth
from .registration import Registration
from .space import SECONDS, Space

Document = dict[str, Any]

_REFUSED = 'failed calling webhook "pods.mutate.podberth.io"'
LAUNCHER = pod(name="launcher", labels={"podberth.io/gang": "llama"})


class Outage:
    """podberth, which a test may take down; it is back when the test ends."""

    def __init__(self, podberth: Podberth, registration: Registration) -> None:
        self._podberth = podberth
        self._registration = registration

    def begin(self) -> None:
        self._podberth.stop()

    def end(self) -> None:
        self._podberth.start()
        # A new process may have a certificate authority of its own.
        self._registration.put(self._podberth.endpoint)


@pytest.fixture
def outage(podberth: Podberth, registration: Registration) -> Iterator[Outage]:
    outage = Outage(podberth, registration)
    yield outage
    outage.end()


def test_with_fail_a_gpu_pod_is_refused_and_says_which_webhook(space: Space, outage: Outage) -> None:
    outage.begin()
    said = space.apply(gpu_pod())
    assert said.status == 1
    assert _REFUSED in said.errors
    assert space.pods() == []


def test_a_member_of_a_gang_without_gpus_of_its_own_is_never_refused(space: Space, outage: Outage) -> None:
    """The shapes that are refused, and those that are not: tests/deployment/test_fail_closed.py."""
    outage.begin()
    assert space.must_apply(LAUNCHER).warnings == ()


def test_nobody_else_notices(space: Space, outage: Outage) -> None:
    outage.begin()
    others: list[Document] = [
        pod(name="web"),
        pod(container(limits={"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}), name="limited"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}},
        deployment(pod(), name="plain"),
        job(pod(), name="plain"),
    ]
    assert space.must_apply(*others).warnings == ()
    space.wait_for_pods(4, "Running")


def test_a_workload_is_taken_without_a_word_and_its_pods_come_when_podberth_is_back(
    space: Space, outage: Outage
) -> None:
    outage.begin()
    assert space.must_apply(deployment(gpu_pod(), name="serve")).warnings == ()
    wait_for(
        lambda: [event for event in space.events() if _REFUSED in event],
        timeout_seconds=SECONDS,
        what=lambda: f"the ReplicaSet's pod to be refused; got {space.events()}",
    )
    outage.end()
    [made] = space.wait_for_pods(1, "Running")
    assert record(made)


def complete(space: Space, job: str) -> bool:
    conditions = space.read("batch/v1/jobs", job).get("status", {}).get("conditions", ())
    return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)


def test_running_jobs_finish_and_their_pods_are_deleted(space: Space, outage: Outage) -> None:
    gang = gpu_pod(8, annotations={"podberth.io/gang-size": "2"})
    space.must_apply(job(gang, name="train", indexed=True, parallelism=2), job(gpu_pod(), name="infer"))
    running = space.wait_for_pods(3, "Running")
    outage.begin()
    for each in running:
        name = each["metadata"]["name"]
        assert space.kubectl("annotate", "pod", name, f"{RUN_SECONDS_ANNOTATION}=0").status == 0
        assert space.kubectl("label", "pod", name, "seen=yes").status == 0
    for name in ("train", "infer"):
        wait_for(partial(complete, space, name), timeout_seconds=SECONDS, what=f"job {name} to be complete")
    # The Job controller takes its finalizer off each pod by an update.
    wait_for(
        lambda: not any(each["metadata"].get("finalizers") for each in space.pods()),
        timeout_seconds=SECONDS,
        what="the Job controller's finalizers to be gone",
    )
    assert space.kubectl("delete", "jobs", "--all").status == 0
    space.wait_until_empty()


def test_a_running_gpu_pod_can_be_deleted_labelled_and_evicted(space: Space, outage: Outage) -> None:
    space.must_apply(gpu_pod(name="one"), gpu_pod(name="two"))
    space.wait_for_pods(2, "Running")
    outage.begin()
    assert space.kubectl("label", "pod", "one", "seen=yes").status == 0
    assert space.kubectl("delete", "pod", "one").status == 0
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "two", "namespace": space.name}}
    space.control_plane.api.request("POST", f"/api/v1/namespaces/{space.name}/pods/two/eviction", eviction)
    space.wait_until_empty()


def test_an_update_of_a_gpu_pods_spec_does_not_notice(space: Space, outage: Outage) -> None:
    """Kueue lets a pod go by taking its scheduling gate away: only creations may depend on podberth."""
    gated = gpu_pod(name="gated", schedulingGates=[{"name": "example.com/quota"}])
    space.must_apply(gated)
    outage.begin()
    remove = '[{"op": "remove", "path": "/spec/schedulingGates"}]'
    said = space.kubectl("patch", "pod", "gated", "--type=json", "-p", remove)
    assert said.status == 0, said
    space.wait_for_pods(1, "Running")


def test_a_gpu_pod_can_be_debugged(space: Space, outage: Outage) -> None:
    space.must_apply(gpu_pod(name="stuck"))
    space.wait_for_pods(1, "Running")
    outage.begin()
    said = space.kubectl("debug", "stuck", "--image=busybox", "--container=look", "--attach=false")
    assert said.status == 0, said
    assert [each["name"] for each in space.pod("stuck")["spec"]["ephemeralContainers"]] == ["look"]


def test_a_file_applied_again_is_as_it_would_be_without_podberth(space: Space, outage: Outage) -> None:
    manifest = gpu_pod(name="plain")
    space.must_apply(manifest)
    outage.begin()
    # This one names no tolerations, and so takes none away.
    assert space.must_apply(manifest).warnings == ()


def test_with_ignore_a_gpu_pod_is_made_as_its_user_wrote_it(
    space: Space, outage: Outage, registration: Registration
) -> None:
    outage.begin()
    with registration.failure_policy("Ignore"):
        said = space.must_apply(gpu_pod(tolerations=[GPU_TOLERATION]), LAUNCHER)
        assert said.warnings == ()
        assert not any(map(record, space.wait_for_pods(2, "Running")))
