"""Gangs before the real scheduler: spread over domains without podberth, in one domain with it."""

from typing import Any

import pytest

from builders import gpu_pod, job, pod_group
from controlplane.build import pod_groups_version
from controlplane.wait import wait_for

from .fleet import RACK, ZONE
from .manifest import GPU_TOLERATION, placement, record, tolerations
from .registration import Registration
from .space import SECONDS, Space

Document = dict[str, Any]


def service(name: str) -> Document:
    """Return the headless Service through which the members of a training job find each other."""
    spec = {"clusterIP": "None", "selector": {"batch.kubernetes.io/job-name": name}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def gang(name: str, members: int) -> Document:
    """Return an Indexed Job of whole machines whose author has thought of the taint, so that it runs anywhere."""
    size = {"podberth.io/gang-size": str(members)}
    pod = gpu_pod(8, annotations=size, tolerations=[GPU_TOLERATION], subdomain=name)
    return job(pod, name=name, indexed=True, parallelism=members)


def domains(space: Space, pods: list[Document], level: str) -> set[str]:
    return {space.label_of_node(pod, level) for pod in pods}


def test_a_plain_gang_is_spread_without_podberth_and_kept_together_with_it(
    space: Space, registration: Registration
) -> None:
    with registration.absent():
        # First the Service, by which the scheduler spreads: it hears of Services and pods each by itself.
        space.must_apply(service("apart"))
        assert space.must_apply(gang("apart", 4)).warnings == ()
        apart = space.wait_for_pods(4, "Running", {"job-name": "apart"})
        assert not any(map(record, apart))
    assert len(domains(space, apart, ZONE)) == 2
    space.kubectl("delete", "job", "apart")
    space.wait_until_empty()

    said = space.must_apply(service("together"), gang("together", 4))
    together = space.wait_for_pods(4, "Running", {"job-name": "together"})
    assert len(domains(space, together, RACK)) == 1
    assert f"prefers one domain of {RACK} for the gang" in str(said.ours)


def test_a_gang_too_large_for_a_rack_stays_in_one_zone(space: Space) -> None:
    space.must_apply(service("large"), gang("large", 6))
    members = space.wait_for_pods(6, "Running")
    assert len(domains(space, members, ZONE)) == 1


def test_two_members_of_a_gang_are_equal(space: Space) -> None:
    space.must_apply(gang("twins", 2))
    one, other = space.wait_for_pods(2, "Running")
    assert placement(one) == placement(other)
    assert record(one) == record(other)


def native_gang(name: str, members: int) -> list[Document]:
    pods = [gpu_pod(8, name=f"{name}-{rank}", schedulingGroup={"podGroupName": name}) for rank in range(members)]
    return [pod_group(name, members, RACK), *pods]


@pytest.mark.since(36)
def test_a_native_gang_is_placed_whole_and_left_to_its_group(space: Space) -> None:
    said = space.must_apply(*native_gang("whole", 4))
    members = space.wait_for_pods(4, "Running")
    assert len(domains(space, members, RACK)) == 1
    assert all("affinity" not in pod["spec"] for pod in members)
    assert all("podberth.io/gang" not in pod["metadata"].get("labels", {}) for pod in members)
    assert all(pod["spec"]["schedulingGroup"] == {"podGroupName": "whole"} for pod in members)
    assert all(tolerations(pod) == [GPU_TOLERATION] for pod in members)
    # Nothing says that these pods talk to each other, so no line names the field for one rack.
    assert not any("places this pod's group" in line for line in said.ours)


@pytest.mark.since(36)
def test_a_native_gang_that_no_rack_holds_is_not_placed_at_all(space: Space) -> None:
    space.must_apply(*native_gang("none", 5))

    def refused() -> bool:
        path = f"/apis/{pod_groups_version()}/namespaces/{space.name}/podgroups/none"
        conditions = space.control_plane.api.read(path).get("status", {}).get("conditions", ())
        return any(each["status"] == "False" for each in conditions)

    wait_for(refused, timeout_seconds=SECONDS, what="the group to be refused")
    assert [pod["spec"].get("nodeName") for pod in space.pods()] == [None] * 5
