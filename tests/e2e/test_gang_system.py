"""A policy chooses the system of a gang by its namespace, and draws its slices together, before the real scheduler."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod, job, pod_group
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from snapshots import policy

from .fleet import RACK, ZONE
from .manifest import GPU_TOLERATION
from .podberth_process import Podberth
from .registration import Registration
from .space import SECONDS, Space
from .test_gangs import domains, service

Document = dict[str, Any]

_CHOOSES = policy(
    "chooses",
    """
  matchConditions:
  - {name: member, expression: gang.known}
  mutations:
  - gang:
      name: gang.name
      size: gang.size
      system: "namespaceObject.metadata.?labels[?'example.com/gang-system'].orValue('')"
""",
    order=50,
)
_NEAR = policy(
    "near",
    f"""
  matchConditions:
  - {{name: member, expression: gang.known}}
  variables:
  - {{name: slice, expression: "int(object.metadata.?annotations[?'example.com/slice'].orValue('0'))"}}
  mutations:
  - when: variables.slice == 0
    topology: {{level: "'{RACK}'", mode: required}}
  - when: variables.slice > 1
    topology: {{level: "'{RACK}'", mode: required, slice: variables.slice}}
""",
    order=400,
)
_SYSTEM = "example.com/gang-system"
_SLICE = "podberth.io/gang-slice"


@pytest.fixture(scope="module")
def podberth_that_chooses(
    control_plane: ControlPlane, snapshot: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Podberth]:
    """Yield a podberth that has these two policies and follows the cluster."""
    assert snapshot.exists(), "the fleet is not there"
    folder = tmp_path_factory.mktemp("choosing")
    policies = folder / "policies"
    policies.mkdir()
    (policies / "chooses.yaml").write_text(_CHOOSES)
    (policies / "near.yaml").write_text(_NEAR)
    with Podberth(folder / "serve", None, policies, kubeconfig=control_plane.kubeconfig) as podberth:
        yield podberth


@contextmanager
def called(registration: Registration, podberth: Podberth) -> Iterator[None]:
    """Have that podberth called."""
    probe = gpu_pod(8, labels={"podberth.io/gang": "probe"}, annotations={"podberth.io/gang-size": "2"})
    with registration.instead(podberth, probe):
        yield


@pytest.fixture
def choosing(registration: Registration, podberth_that_chooses: Podberth) -> Iterator[None]:
    """Have it called as long as the test runs."""
    with called(registration, podberth_that_chooses):
        yield


def gang(name: str, members: int, **annotations: str) -> Document:
    """Return an Indexed Job of whole machines that says its size, so that no watch has to be faster than its pods."""
    size = {"podberth.io/gang-size": str(members)}
    pod = gpu_pod(8, annotations={**size, **annotations}, tolerations=[GPU_TOLERATION], subdomain=name)
    return job(pod, name=name, indexed=True, parallelism=members)


def choose(space: Space, system: str) -> None:
    """Label the namespace, and wait until podberth has heard of it."""
    space.kubectl("label", "namespace", space.name, f"{_SYSTEM}={system}")
    labels, annotations = {"podberth.io/gang": "probe"}, {"podberth.io/gang-size": "2"}
    probe = gpu_pod(8, labels=labels, annotations=annotations)

    def heard() -> bool:
        return "schedulingGroup" in space.dry_run(probe)["spec"]

    wait_for(heard, timeout_seconds=SECONDS, what=f"podberth to choose {system}")


def by_index(pods: list[Document]) -> list[Document]:
    return sorted(pods, key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))


def pairs(pods: list[Document]) -> list[list[Document]]:
    ordered = by_index(pods)
    return [ordered[start : start + 2] for start in range(0, len(ordered), 2)]


@pytest.mark.since(36)
@pytest.mark.usefixtures("choosing")
def test_a_namespace_whose_label_chooses_native_has_gangs_that_wait_for_their_group(space: Space) -> None:
    choose(space, "native")
    said = space.must_apply(service("whole"), gang("whole", 4))
    assert any("joins native PodGroup" in line for line in said.ours)
    assert any(f"gang required in one domain of {RACK}" in line for line in said.ours)

    members = space.wait_for_pods(4)
    one = members[0]["metadata"]
    name = one["labels"]["podberth.io/gang"]
    assert all(each["spec"]["schedulingGroup"] == {"podGroupName": name} for each in members)
    assert all("affinity" not in each["spec"] for each in members)
    assert {each["metadata"]["annotations"]["podberth.io/gang-size"] for each in members} == {"4"}
    assert {each["metadata"]["annotations"]["podberth.io/gang-level"] for each in members} == {RACK}
    assert {each["metadata"]["annotations"]["podberth.io/gang-level-mode"] for each in members} == {"required"}
    assert [each["spec"].get("nodeName") for each in members] == [None] * 4

    # As the controller makes it, of what the members say.
    space.must_apply(pod_group(name, int(one["annotations"]["podberth.io/gang-size"]), RACK))
    running = space.wait_for_pods(4, "Running")
    assert len(domains(space, running, RACK)) == 1


@pytest.mark.usefixtures("choosing")
def test_a_namespace_that_chooses_nothing_has_plain_gangs(space: Space) -> None:
    space.must_apply(service("plain"), gang("plain", 4))
    members = space.wait_for_pods(4, "Running")
    assert all("schedulingGroup" not in each["spec"] for each in members)
    assert len(domains(space, members, RACK)) == 1


def test_the_slices_of_a_gang_are_split_without_podberth_and_each_is_in_one_rack_with_it(
    space: Space, registration: Registration, podberth_that_chooses: Podberth
) -> None:
    with registration.absent():
        space.must_apply(service("apart"), gang("apart", 1))
        for members in range(2, 5):  # one by one, for the pods of a batch come in any order
            space.wait_for_pods(members - 1, "Running", {"job-name": "apart"})
            wider = f'{{"spec": {{"parallelism": {members}, "completions": {members}}}}}'
            assert space.kubectl("patch", "job", "apart", "-p", wider).status == 0
        apart = space.wait_for_pods(4, "Running", {"job-name": "apart"})
    assert any(len(domains(space, pair, ZONE)) == 2 for pair in pairs(apart))
    space.kubectl("delete", "job", "apart")
    space.wait_until_empty()

    with called(registration, podberth_that_chooses):
        said = space.must_apply(service("sliced"), gang("sliced", 4, **{"example.com/slice": "2"}))
        sliced = space.wait_for_pods(4, "Running", {"job-name": "sliced"})
    assert any(f"every 2 of the gang required in one domain of {RACK}" in line for line in said.ours), said
    assert [each["metadata"]["labels"][_SLICE] for each in by_index(sliced)] == ["0", "0", "1", "1"]
    assert all(len(domains(space, pair, RACK)) == 1 for pair in pairs(sliced))
    terms = [
        each["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for each in by_index(sliced)
    ]
    # Of the spec that podberth writes alike the API server has made each slice's own.
    merged = [[one["values"] for one in term[0]["labelSelector"]["matchExpressions"]] for term in terms]
    assert merged == [[["0"]], [["0"]], [["1"]], [["1"]]]
