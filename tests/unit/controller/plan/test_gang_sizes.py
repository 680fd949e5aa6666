"""The size of a group: from its pods, from their owners, and the cases without a minimum."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, owned
from podberth.controller.observed import SEEN_KINDS
from podberth.controller.plan.intake import waiting_pod
from podberth.controller.plan.pod_groups import GATHER_SECONDS
from podberth.controller.plan.world import ActionPlan, Create, GroupChange, LookUp, WaitingPod, World
from podberth.kube.pod import OwnerReference

from .gangs import COSCHEDULING, FIELDS, KOORDINATOR, NATIVE, NOW, ours, plan, reference_to, world

JSON = dict[str, Any]
SEEN = {kind.name: kind.fact for kind in SEEN_KINDS}
JOB = OwnerReference("batch/v1", "Job", "train", "j-1")
SET = OwnerReference("apps/v1", "StatefulSet", "web", "w-1")
LWS = OwnerReference("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", "l-1")
LEADER = OwnerReference("v1", "Pod", "serve-0", "p-1")
LEADERS = OwnerReference("apps/v1", "StatefulSet", "serve", "x-1")
WORKERS = OwnerReference("apps/v1", "StatefulSet", "serve-0", "x-2")
WITHOUT: Mapping[str, JSON] = {
    "native": {"schedulingPolicy": {"basic": {}}},
    "coscheduling": {"minMember": 1},
    "koordinator": {"minMember": 1},
}


def waiting(owner: OwnerReference, system: str = "native", *, gang: str, size: str = "", **keys: str) -> WaitingPod:
    """Return a pod as admission makes it a member: of an unknown size where none is given."""
    own: JSON = {
        key: dict.fromkeys(names, gang) if key in ("labels", "schedulingGroup") else names
        for key, names in FIELDS[system].items()
    }
    labels = {"podberth.io/gang": gang, **own.pop("labels", {}), **keys}
    noted = {"podberth.io/gang-size": size} if size else {}
    pod = gpu_pod(labels=labels, annotations=noted, **own)
    made = owned(pod, owner.kind, api_version=owner.api_version, name=owner.name, uid=owner.uid)
    made["metadata"] |= {"namespace": "team", "uid": "p-1", "name": "pod"}
    found = waiting_pod(made)
    assert found is not None
    return replace(found, created=NOW)


def of_job(system: str = "native", size: str = "", index: int = 0, gang: str = "job-j-1") -> WaitingPod:
    return waiting(JOB, system, gang=gang, size=size, **{"batch.kubernetes.io/job-completion-index": str(index)})


def of_set(system: str = "native", size: str = "3", gang: str = "statefulset-w-1") -> WaitingPod:
    return waiting(SET, system, gang=gang, size=size)


def document(kind: str, uid: str, spec: JSON) -> JSON:
    return {"kind": kind, "metadata": {"uid": uid}, "spec": spec}


def known_job(**spec: Any) -> dict[str, Any]:
    spec = {"parallelism": 4, "completions": 4, **spec}
    return {"owners": {("team", JOB): None}, "documents": {("team", JOB): document("Job", "j-1", spec)}}


def known_set(**spec: Any) -> dict[str, Any]:
    spec = {"replicas": 3, **spec}
    return {"owners": {("team", SET): None}, "documents": {("team", SET): document("StatefulSet", "w-1", spec)}}


UNREADABLE: dict[str, Any] = {"owners": {("team", JOB): None}, "documents": {}}


def made_by(seen: World, after: float = GATHER_SECONDS) -> tuple[JSON, ActionPlan]:
    found = plan(seen, after)
    [made] = found.actions
    assert isinstance(made, Create)
    return made.document["spec"], found


def minimum(system: str, size: int) -> JSON:
    return {"schedulingPolicy": {"gang": {"minCount": size}}} if system == "native" else {"minMember": size}


# ---- a size from the owner ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", WITHOUT)
def test_a_pod_that_says_no_size_has_its_owner_looked_up_and_gets_a_group_of_that_size(system: str) -> None:
    assert plan(world(of_job(system), owners={})).actions == [LookUp("team", JOB)]
    spec, found = made_by(world(of_job(system), **known_job()))
    assert spec == minimum(system, 4)
    assert found.notices == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_group_has_the_size_that_one_member_states(order: int) -> None:
    pods = [of_job(), replace(of_job(size="6", index=1), created=NOW - 1)][::order]
    spec, found = made_by(world(*pods, **known_job()))
    assert spec == minimum("native", 6)
    assert found.notices == []


def test_a_group_is_resized_to_its_owners_present_size() -> None:
    known = {COSCHEDULING: {("team", "job-j-1"): ours(owners=(JOB,), minimum=2)}}
    [change] = plan(world(of_job("coscheduling"), known=known, **known_job())).actions
    assert isinstance(change, GroupChange)
    assert change.patch["spec"] == {"minMember": 4}


def test_nothing_is_made_for_a_pod_without_a_size_whose_gang_is_the_users_own_or_of_no_operator() -> None:
    assert plan(world(of_job(gang="mine"), **known_job()), GATHER_SECONDS).actions == []
    assert plan(world(of_set(size=""), **known_set()), GATHER_SECONDS).actions == []


# ---- no minimum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", WITHOUT)
@pytest.mark.parametrize(
    "owner", [UNREADABLE, known_job(completions=40), known_job(parallelism=0)], ids=["unreadable", "queue", "none"]
)
def test_pods_of_a_gang_of_unknown_size_start_one_by_one_and_that_is_reported(system: str, owner: JSON) -> None:
    early = plan(world(of_job(system), **owner))
    assert (early.actions, early.notices, early.again_at) == ([], [], NOW + GATHER_SECONDS)
    spec, found = made_by(world(of_job(system), **owner))
    assert spec == WITHOUT[system]
    [notice] = found.notices
    assert (notice.reason, notice.regarding.kind, notice.regarding.uid) == ("PodGroupWithoutMinimum", "Job", "j-1")
    why = "nobody says how many there are"
    do = "set annotation podberth.io/gang-size in their template and create the workload again"
    said = f"made without a minimum, and the gang's pods start one by one: {why}; to start them together {do}"
    assert notice.note == f"PodGroup team/job-j-1: {said}"


def test_a_sibling_that_says_the_size_in_time_makes_it_a_gang() -> None:
    spec, found = made_by(world(of_job(), of_job(size="4", index=1), **UNREADABLE))
    assert (spec, found.notices) == (minimum("native", 4), [])


@pytest.mark.parametrize("system", WITHOUT)
@pytest.mark.parametrize("gang", ["statefulset-w-1", "mine"])
def test_pods_that_are_made_in_stages_start_one_by_one_and_the_field_is_reported(system: str, gang: str) -> None:
    spec, found = made_by(world(of_set(system, gang=gang), **known_set()), GATHER_SECONDS if system == "native" else 0)
    assert spec == WITHOUT[system]
    [notice] = found.notices
    assert (notice.reason, notice.regarding.name) == ("PodGroupWithoutMinimum", "web")
    why = "some are made only when others run (spec.podManagementPolicy OrderedReady; want Parallel)"
    assert f"the gang's pods start one by one: {why}; to start them together correct that" in notice.note


def test_pods_that_are_made_at_once_are_a_gang() -> None:
    spec, found = made_by(world(of_set(), **known_set(podManagementPolicy="Parallel")))
    assert (spec, found.notices) == (minimum("native", 3), [])


def test_nobody_waits_for_the_stages_of_an_unreadable_owner() -> None:
    spec, found = made_by(world(of_set(), owners={("team", SET): None}))
    assert spec == WITHOUT["native"]
    [notice] = found.notices
    # An owner that was read and has no facts looks the same here.
    why = "unknown, for podberth could not read the StatefulSet, or it is finished or has too many parts"
    assert f"({why})" in notice.note
    # A Job has no stages.
    assert made_by(world(of_job(size="4"), **UNREADABLE))[0] == minimum("native", 4)


def test_a_gang_of_one_has_no_stages() -> None:
    spec, found = made_by(world(of_set(size="1"), **known_set()))
    assert (spec, found.notices) == (minimum("native", 1), [])


def test_there_is_no_group_of_all_if_one_of_two_owners_has_stages() -> None:
    pods = (of_set(gang="g", size="5"), of_job(gang="g", size="5"))
    both = {key: {**known_set()[key], **known_job()[key]} for key in ("owners", "documents")}
    spec, _ = made_by(world(*pods, **both))
    assert spec == WITHOUT["native"]


def test_a_level_is_kept_by_a_group_without_a_minimum() -> None:
    spec, _ = made_by(world(replace(of_set(), level="rack", required=True), **known_set()))
    assert spec == {**WITHOUT["native"], "schedulingConstraints": {"topology": [{"key": "rack"}]}}


@pytest.mark.parametrize("owner", [known_set(), {"owners": {("team", SET): None}}], ids=["staged", "unreadable"])
def test_a_level_that_a_later_member_requires_is_kept_by_a_group_without_a_minimum(owner: JSON) -> None:
    first = of_set()
    early = plan(world(first, **owner))
    assert (early.actions, early.again_at) == ([], NOW + GATHER_SECONDS)
    spec, _ = made_by(world(first, replace(first, name="later", level="rack", required=True), **owner), 0.0)
    assert spec == {**WITHOUT["native"], "schedulingConstraints": {"topology": [{"key": "rack"}]}}


# ---- an existing group ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", WITHOUT)
def test_a_group_without_a_minimum_is_read_as_one_and_left_as_it_is(system: str) -> None:
    [made] = plan(world(of_set(system), **known_set()), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    metadata = {**made.document["metadata"], "uid": "g-1", "resourceVersion": "7"}
    stored = SEEN[made.kind]({**made.document, "metadata": metadata})
    later = plan(world(of_set(system), known={made.kind: {made.place: stored}}, **known_set()))
    assert later.actions == []
    assert [each.reason for each in later.notices] == ["PodGroupWithoutMinimum"]


def test_a_group_of_all_that_was_made_for_pods_in_stages_lets_them_start() -> None:
    """As podberth made them before it asked the owner."""
    known = {COSCHEDULING: {("team", "statefulset-w-1"): ours(owners=(SET,), minimum=3)}}
    [change] = plan(world(of_set("coscheduling"), known=known, **known_set())).actions
    assert isinstance(change, GroupChange)
    assert change.patch["spec"] == {"minMember": 1}


@pytest.mark.parametrize("system", WITHOUT)
def test_a_minimum_is_not_taken_away_because_the_owner_that_would_say_its_stages_may_not_be_read(system: str) -> None:
    kind = {"native": NATIVE, "coscheduling": COSCHEDULING, "koordinator": KOORDINATOR}[system]
    unread = {"owners": {("team", SET): None}}
    known = {kind: {("team", "statefulset-w-1"): ours(owners=(SET,), minimum=4)}}
    found = plan(world(of_set(system, size="4"), known=known, **unread))
    assert (found.actions, found.notices) == ([], [])
    # One without a minimum stays so, too, and is reported.
    known = {kind: {("team", "statefulset-w-1"): ours(owners=(SET,), minimum=1)}}
    found = plan(world(of_set(system, size="4"), known=known, **unread))
    assert (found.actions, [each.reason for each in found.notices]) == ([], ["PodGroupWithoutMinimum"])


def test_an_owner_with_stages_counts_more_than_an_unreadable_one() -> None:
    other = replace(SET, name="other", uid="w-0")
    pods = [waiting(owner, "coscheduling", gang="g", size="3") for owner in (other, SET)]
    known = {COSCHEDULING: {("team", "g"): ours(owners=(other, SET), minimum=3)}}
    seen = {"owners": {("team", other): None, ("team", SET): None}, "documents": known_set()["documents"]}
    [change] = plan(world(*pods, known=known, **seen)).actions
    assert isinstance(change, GroupChange)
    assert change.patch["spec"] == {"minMember": 1}


def test_a_size_that_nobody_says_any_more_takes_no_minimum_away() -> None:
    known = {NATIVE: {("team", "job-j-1"): ours(owners=(JOB,), minimum=4)}}
    found = plan(world(of_job(), known=known, **UNREADABLE))
    assert (found.actions, found.notices) == ([], [])


def test_a_group_that_stays_without_a_minimum_after_its_size_is_known_is_reported() -> None:
    known = {NATIVE: {("team", "job-j-1"): ours(owners=(JOB,), minimum=1)}}
    seen = {"known": known, **UNREADABLE}
    assert [type(each) for each in plan(world(of_job(size="4"), **seen)).actions] == [GroupChange]
    found = plan(world(of_job(size="4"), fixed={"g-1": 4}, **seen))
    assert found.actions == []
    [notice] = found.notices
    assert notice.reason == "PodGroupNotResized"
    assert "got a gang of 4 pods, and the group stays without minimum: this API server" in notice.note


# ---- a LeaderWorkerSet ----------------------------------------------------------------------------------------------


def _lineage(policy: str) -> dict[str, Any]:
    above = {WORKERS: LEADER, LEADER: LEADERS, LEADERS: LWS, LWS: None}
    documents = {
        ("team", owner): {
            **document(owner.kind, owner.uid, {"replicas": 2, "podManagementPolicy": "Parallel"}),
            "metadata": {"uid": owner.uid, **({"ownerReferences": [reference_to(up)]} if up else {})},
        }
        for owner, up in above.items()
    }
    documents["team", LWS]["spec"] = {"startupPolicy": policy}
    return {"owners": {("team", owner): up for owner, up in above.items()}, "documents": documents}


@pytest.mark.parametrize(
    ("policy", "spec"),
    [("LeaderReady", WITHOUT["native"]), ("LeaderCreated", minimum("native", 3))],
)
@pytest.mark.parametrize("owner", [LEADERS, WORKERS], ids=["leader", "worker"])
def test_leader_and_workers_ask_the_leader_worker_set(policy: str, spec: JSON, owner: OwnerReference) -> None:
    pod = waiting(
        owner,
        gang="lws-k",
        size="3",
        **{"leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-key": "k"},
    )
    written, found = made_by(world(pod, **_lineage(policy)))
    assert written == spec
    [made] = found.actions
    assert isinstance(made, Create)
    assert made.about.kind == "LeaderWorkerSet"


def test_each_owner_on_the_way_is_looked_up() -> None:
    pod = waiting(WORKERS, gang="lws-k", size="3", **{"leaderworkerset.sigs.k8s.io/name": "serve"})
    whole = _lineage("LeaderReady")["owners"]
    seen: dict[Any, Any] = {}
    for owner in (WORKERS, LEADER, LEADERS, LWS):
        assert plan(world(pod, owners=seen)).actions == [LookUp("team", owner)]
        seen["team", owner] = whole["team", owner]
