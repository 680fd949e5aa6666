"""Both ends of a gang's group: whatever each review knew of the owner, no pod waits for members that do not come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import gpu_pod, job_pod, owned, review, workload
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.controller.plan import makers
from podberth.controller.plan.intake import waiting_pod
from podberth.controller.plan.pod_groups import GATHER_SECONDS
from podberth.controller.plan.world import Create, World
from podberth.kube.patch import apply
from podberth.kube.pod import OwnerReference
from podberth.workload.owners import LOOKED_UP, keep
from properties import examples
from snapshots import policy, snapshot

JSON = dict[str, Any]

SIZE = "podberth.io/gang-size"
KIND = "podgroups.scheduling.k8s.io"
SERVED = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "scheduling.k8s.io/v1alpha2",
    "resources": [{"name": "podgroups"}],
}
CHOOSES = """
  matchConditions: [{name: member, expression: gang.known}]
  mutations:
  - gang: {name: gang.name, size: gang.size, system: "'native'"}
"""
NOBODY_KNOWN: Snapshot = snapshot(policy("chooses", CHOOSES), objects=[SERVED])
JOB, SET = OwnerReference("batch/v1", "Job", "work", "u-1"), OwnerReference("apps/v1", "StatefulSet", "work", "u-1")


@dataclass(frozen=True)
class Gang:
    """An owner, its pods, and what each end can know of it."""

    owner: OwnerReference
    spec: JSON
    pods: int
    at_once: int
    """How many of them are made before any runs."""
    says: bool
    """Whether the pods' template says the size."""
    reviewed_with_owner: tuple[bool, ...]
    readable: bool
    """Whether the controller may read the owner."""

    @property
    def document(self) -> JSON:
        made = workload(self.owner.api_version, self.owner.kind, self.spec, name=self.owner.name)
        return {**made, "metadata": {**made["metadata"], "uid": self.owner.uid}}

    def pod(self, index: int) -> JSON:
        annotations = {SIZE: str(self.pods)} if self.says else {}
        if self.owner is JOB:
            return job_pod(index, job="work", uid="u-1", annotations=annotations)
        labels = {"apps.kubernetes.io/pod-index": str(index)}
        made = gpu_pod(8, labels=labels, annotations=annotations)
        return owned(made, "StatefulSet", api_version="apps/v1", name="work", uid="u-1")


@st.composite
def gangs(draw: st.DrawFn) -> Gang:
    pods = draw(st.integers(2, 5))
    known = tuple(draw(st.lists(st.booleans(), min_size=pods, max_size=pods)))
    readable = draw(st.booleans())
    if draw(st.booleans()):
        # No more pods run at once than there are completions.
        parallelism, tasks = draw(st.sampled_from([(pods, pods), (pods, 2 * pods), (2 * pods, pods)]))
        spec = {"parallelism": parallelism, "completions": tasks}
        says = draw(st.booleans()) and tasks == pods
        return Gang(JOB, spec, pods, pods, says=says, reviewed_with_owner=known, readable=readable)
    parallel = draw(st.booleans())
    policies: JSON = {"podManagementPolicy": "Parallel"} if parallel else {}
    spec = {"replicas": pods, **policies}
    at_once = pods if parallel else 1
    return Gang(SET, spec, pods, at_once, says=True, reviewed_with_owner=known, readable=readable)


def admitted(gang: Gang, index: int) -> JSON:
    """Return a pod as podberth admits it."""
    followed = gang.owner is JOB and gang.reviewed_with_owner[index]
    seen = NOBODY_KNOWN.with_owners({"u-1": gang.document} if followed else {})
    document = gang.pod(index)
    made = apply(document, decide.mutate(decode_review(review(document)), seen).patch)
    named = {"namespace": "default", "name": f"work-{index}", "uid": f"p-{index}"}
    return {**made, "metadata": {**made["metadata"], **named}}


def world(gang: Gang, pods: Mapping[str, JSON]) -> World:
    waiting = {name: found for name, pod in pods.items() if (found := waiting_pod(pod))}
    kept = keep(LOOKED_UP[gang.owner.api_version, gang.owner.kind], gang.document)
    assert kept is not None
    place = ("default", gang.owner)
    return World(
        pods=waiting,
        known={KIND: {}},
        served={KIND: "scheduling.k8s.io/v1alpha2"},
        absent=frozenset(),
        owners={place: None},
        gone=frozenset(),
        fixed={},
        patience_seconds=60.0,
        documents={place: kept} if gang.readable else {},
    )


@settings(max_examples=examples(200), deadline=None)
@given(gang=gangs())
def test_a_group_asks_for_no_more_pods_than_come_before_one_runs_and_for_all_where_that_is_known(gang: Gang) -> None:
    pods = {str(index): admitted(gang, index) for index in range(gang.at_once)}
    joined = {
        name: pod["spec"]["schedulingGroup"]["podGroupName"]
        for name, pod in pods.items()
        if pod["spec"].get("schedulingGroup")
    }
    actions = makers.plan(world(gang, pods), GATHER_SECONDS).actions
    # Whoever joined has a group: the one that is made.
    assert [each.place for each in actions if isinstance(each, Create)] == [
        ("default", name) for name in sorted(set(joined.values()))
    ]
    for made in actions:
        assert isinstance(made, Create)
        chosen = made.document["spec"]["schedulingPolicy"]
        minimum = chosen.get("gang", {}).get("minCount", 1)
        assert minimum <= len(joined)
        whole = gang.at_once == gang.pods and gang.spec.get("completions", gang.pods) == gang.pods
        sized = any(SIZE in (pod["metadata"].get("annotations") or {}) for pod in pods.values())
        # For a set that may not be read, it is not certain that its pods come at once.
        if whole and (gang.readable or (sized and gang.owner is JOB)):
            assert minimum == gang.pods
