"""The PodGroups that are made for pods, their owners, and their changes: no cluster."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod
from podberth.controller.observed import SEEN_KINDS
from podberth.controller.plan.intake import waiting_pod
from podberth.controller.plan.lineage import MOST_OWNERS
from podberth.controller.plan.pod_groups import GATHER_SECONDS
from podberth.controller.plan.world import Create, GroupChange, LookUp, Made
from podberth.kube.pod import OwnerReference

from .gangs import COSCHEDULING, JOB, NATIVE, NOW, SERVED, SET, document, member, ours, plan, world


@pytest.mark.parametrize(
    ("system", "spec"),
    [
        ("native", {"schedulingPolicy": {"gang": {"minCount": 2}}}),
        ("coscheduling", {"minMember": 2}),
        ("koordinator", {"minMember": 2}),
    ],
)
def test_a_group_is_made_in_its_systems_words(system: str, spec: Mapping[str, Any]) -> None:
    [made] = plan(world(member(system), member(system))).actions
    assert isinstance(made, Create)
    assert made.document["apiVersion"] == SERVED[made.kind]
    assert (made.place, made.document["spec"]) == (("team", "gang"), spec)
    labels = {"app.kubernetes.io/managed-by": "podberth", "podberth.io/gang": "gang"}
    assert made.document["metadata"]["labels"] == labels
    [owner] = made.document["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "j-1",
        "controller": False,
        "blockOwnerDeletion": False,
    }


@pytest.mark.parametrize("mode", ["required", "preferred"])
@pytest.mark.parametrize("system", ["native", "coscheduling"])
def test_topology_is_written_where_the_system_has_a_field_for_it_and_it_is_required(system: str, mode: str) -> None:
    asked = {"podberth.io/gang-level": "example.com/rack", "podberth.io/gang-level-mode": mode}
    [made] = plan(world(member(system, **asked)), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    written = made.document["spec"].get("schedulingConstraints")
    wanted = {"topology": [{"key": "example.com/rack"}]} if (system, mode) == ("native", "required") else None
    assert written == wanted


SEEN = {kind.name: kind.fact for kind in SEEN_KINDS}
_RACK = {"podberth.io/gang-level": "example.com/rack", "podberth.io/gang-level-mode": "required"}


def test_a_launcher_that_says_no_level_is_waited_behind_for_those_that_do() -> None:
    """It is made first or last; the group, whose topology cannot change, has the level that a worker states."""
    launcher, worker = member(size="3"), member(size="3", **_RACK)
    alone = plan(world(launcher))
    assert (alone.actions, alone.again_at) == ([], NOW + GATHER_SECONDS)
    for pods in ((launcher, worker), (worker, replace(launcher, created=NOW + 1))):
        [made] = plan(world(*pods)).actions
        assert isinstance(made, Create)
        assert made.document["spec"]["schedulingConstraints"] == {"topology": [{"key": "example.com/rack"}]}


def test_a_level_that_is_preferred_does_not_stand_for_one_that_is_required() -> None:
    prefers = member(size="3", **{**_RACK, "podberth.io/gang-level-mode": "preferred"})
    found = plan(world(prefers))
    assert (found.actions, found.again_at) == ([], NOW + GATHER_SECONDS)
    [made] = plan(world(prefers, member(size="3", **_RACK))).actions
    assert isinstance(made, Create)
    assert made.document["spec"]["schedulingConstraints"] == {"topology": [{"key": "example.com/rack"}]}


def test_two_required_levels_are_both_reported_and_none_is_chosen() -> None:
    block = {**_RACK, "podberth.io/gang-level": "example.com/block"}
    found = plan(world(member(**_RACK), member(**block)))
    assert found.actions == []
    [notice] = found.notices
    assert (notice.reason, notice.regarding.kind) == ("PodGroupUndecided", "Job")
    assert "the gang's pods say required levels example.com/block, example.com/rack; want one" in notice.note
    pods = (member("coscheduling", **_RACK), member("coscheduling", **block))
    assert len(plan(world(*pods)).actions) == 1


def test_a_gang_without_a_level_is_waited_for_until_it_is_complete_and_not_for_ever() -> None:
    pods = [member(size="3") for _ in range(3)]
    assert plan(world(*pods[:2])).actions == []
    assert len(plan(world(*pods)).actions) == 1
    assert len(plan(world(*pods[:2]), GATHER_SECONDS).actions) == 1


@pytest.mark.parametrize("system", ["native", "coscheduling", "koordinator"])
@pytest.mark.parametrize(
    "change",
    [{"gang": "another"}, {"gang": ""}, {"size": 0}],
    ids=["its label says another", "no label", "no size"],
)
def test_nothing_is_made_for_a_pod_that_admission_did_not_make_a_member(system: str, change: dict[str, Any]) -> None:
    assert plan(world(replace(member(system), **change))).actions == []


@pytest.mark.parametrize("system", ["volcano", "kai"])
def test_groups_that_others_make_are_not_made(system: str) -> None:
    assert plan(world(member(system))).actions == []


def test_a_kind_that_is_not_listed_yet_is_neither_made_nor_missed() -> None:
    found = plan(world(member(), served={}), after=3600)
    assert (found.actions, found.notices) == ([], [])


@pytest.mark.parametrize(
    "made", [ours(ours=False), ours(ours=False, minimum=9), ours(deleting=True, minimum=9)], ids=str
)
def test_a_group_that_is_not_podberths_or_is_being_deleted_stays_as_it_is(made: Made) -> None:
    found = plan(world(member(), known={NATIVE: {("team", "gang"): made}}), after=3600)
    assert (found.actions, found.notices) == ([], [])


def test_a_group_of_an_earlier_gang_of_the_name_is_left_to_the_collector_and_reported_if_it_stays() -> None:
    seen = world(member(), known={NATIVE: {("team", "gang"): ours(owners=(replace(JOB, uid="j-0"),), minimum=9)}})
    early, late = plan(seen, 59.0), plan(seen, 60.0)
    assert (early.actions, early.notices, early.again_at) == ([], [], NOW + 60.0)
    assert late.actions == []
    [notice] = late.notices
    assert (notice.reason, notice.regarding.kind) == ("PodGroupOfAnother", "Pod")
    assert notice.note.startswith("PodGroup team/gang: got one that Job train owns, want one of this pod's gang")


def test_a_group_that_nobody_owns_gets_the_gangs_owner_and_size() -> None:
    """Its Job was deleted without it (kubectl delete --cascade=orphan), or it came back from a backup."""
    known = {NATIVE: {("team", "gang"): ours(owners=(), minimum=9)}}
    [change] = plan(world(member(), known=known)).actions
    assert isinstance(change, GroupChange)
    assert change.patch["spec"] == {"schedulingPolicy": {"gang": {"minCount": 2}}}
    assert [each["uid"] for each in change.patch["metadata"]["ownerReferences"]] == ["j-1"]
    assert change.about.uid == "j-1"


def test_a_group_that_is_as_it_should_be_is_not_written() -> None:
    assert plan(world(member(), known={NATIVE: {("team", "gang"): ours()}})).actions == []


@pytest.mark.parametrize(
    ("system", "spec"),
    [("native", {"schedulingPolicy": {"gang": {"minCount": 3}}}), ("coscheduling", {"minMember": 3})],
)
def test_the_newest_pod_says_how_many_there_are(system: str, spec: Mapping[str, Any]) -> None:
    older, newer = replace(member(system), size=9, created=NOW - 60), member(system, "3")
    known = {NATIVE: {("team", "gang"): ours()}, COSCHEDULING: {("team", "gang"): ours()}}
    [change] = plan(world(newer, older, known=known)).actions
    assert isinstance(change, GroupChange)
    assert change.patch == {"spec": spec, "metadata": {"uid": "g-1", "resourceVersion": "7"}}


def test_a_change_that_the_api_server_forbids_is_reported_on_the_owner_and_not_tried_again() -> None:
    known = {NATIVE: {("team", "gang"): ours()}}
    found = plan(world(member(size="4"), known=known, fixed={"g-1": 4}))
    [notice] = found.notices
    assert found.actions == []
    assert (notice.reason, notice.regarding.kind, notice.regarding.uid) == ("PodGroupNotResized", "Job", "j-1")
    assert notice.note == (
        "PodGroup team/gang: got a gang of 4 pods, and minCount stays 2: this API server does not let it change; "
        "delete the PodGroup and the gang's pods: both are created again, for 4"
    )
    assert [type(each) for each in plan(world(member(size="5"), known=known, fixed={"g-1": 4})).actions] == [
        GroupChange
    ]


_OTHER = OwnerReference("batch/v1", "Job", "other", "j-2")
_BOTH = {("team", JOB): None, ("team", _OTHER): None}


def test_no_group_is_made_if_owners_state_different_sizes_and_both_are_reported() -> None:
    pods = (member("coscheduling"), replace(member("coscheduling", "2000000000"), owner=_OTHER, created=NOW + 1))
    found = plan(world(*pods, owners=_BOTH))
    assert found.actions == []
    [notice] = found.notices
    assert notice.reason == "PodGroupUndecided"
    assert "the gang's pods say sizes 2 (Job train), 2000000000 (Job other); want one" in notice.note


@pytest.mark.parametrize("owner", [_OTHER, None], ids=["of another Job", "of nobody"])
def test_a_pod_of_another_owner_neither_raises_the_minimum_nor_owns_the_group(owner: OwnerReference | None) -> None:
    forged = replace(member(size="9"), owner=owner, created=NOW + 1)
    known = {NATIVE: {("team", "gang"): ours()}}
    found = plan(world(member(), forged, known=known, owners=_BOTH))
    assert found.actions == []
    assert [each.reason for each in found.notices] == ["PodGroupUndecided"]
    alone = plan(world(forged, known=known, owners=_BOTH))
    assert alone.actions == []
    [change] = plan(world(member(), replace(forged, size=2), known=known, owners=_BOTH)).actions
    assert isinstance(change, GroupChange)
    assert "spec" not in change.patch
    assert len(change.patch["metadata"]["ownerReferences"]) == 2


def test_no_size_is_larger_than_a_minimum_can_be() -> None:
    assert (member(size="2147483647").size, member(size="2147483648").size) == (2147483647, 0)


# ---- owners ---------------------------------------------------------------------------------------------------------


def test_an_owner_is_looked_up_before_anything_is_made() -> None:
    assert plan(world(member(), owners={})).actions == [LookUp("team", JOB)]
    assert plan(world(member(), owners={("team", JOB): SET})).actions == [LookUp("team", SET)]
    [made] = plan(world(member(), owners={("team", JOB): SET, ("team", SET): None}), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    assert [each["kind"] for each in made.document["metadata"]["ownerReferences"]] == ["JobSet"]


def test_nothing_is_made_for_pods_whose_owner_is_gone() -> None:
    assert plan(world(member(), gone=frozenset({("team", JOB)}))).actions == []


@pytest.mark.parametrize("forged", [("elsewhere", JOB), ("team", replace(JOB, name="other"))], ids=["space", "name"])
def test_a_forged_reference_says_nothing_about_the_real_object_with_the_uid(forged: tuple[str, OwnerReference]) -> None:
    [made] = plan(world(member(), gone=frozenset({forged})), GATHER_SECONDS).actions
    assert isinstance(made, Create)


def test_an_owner_of_a_kind_that_is_not_known_is_the_one_on_top() -> None:
    kind = OwnerReference("apps/v1", "ReplicaSet", "set", "x-1")
    [made] = plan(world(replace(member(), owner=kind), owners={}), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    assert made.about.kind == "ReplicaSet"


@pytest.mark.parametrize(
    "name", ["../../../../../../api/v1/pods", "x?watch=true", "x/log", "..", "", "Train", "x" * 254], ids=str
)
def test_an_owner_whose_name_no_object_has_is_not_looked_up_and_counts_as_gone(name: str) -> None:
    """The author of a pod writes its owner, and the API server accepts any name."""
    forged = replace(JOB, name=name)
    assert plan(world(replace(member(), owner=forged), owners={}), GATHER_SECONDS).actions == []
    above = world(member(), owners={("team", JOB): replace(SET, name=name)})
    assert plan(above, GATHER_SECONDS).actions == []


@pytest.mark.parametrize("version", ["batch/v1/../..", "batch/v9", "batch/v1?watch=true", "batch"])
def test_an_owner_of_a_version_that_is_not_known_is_the_one_on_top_and_not_looked_up(version: str) -> None:
    strange = replace(member(), owner=replace(JOB, api_version=version))
    assert not [each for each in plan(world(strange, owners={})).actions if isinstance(each, LookUp)]


def test_owners_that_lead_in_a_circle_end() -> None:
    assert len(plan(world(member(), owners={("team", JOB): SET, ("team", SET): JOB}), GATHER_SECONDS).actions) == 1


def test_bare_pods_own_their_group_and_those_that_come_later_too() -> None:
    pods = [replace(member(), owner=None, uid=f"p-{number}", name=f"pod-{number}") for number in range(2)]
    [made] = plan(world(pods[0]), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    assert [each["uid"] for each in made.document["metadata"]["ownerReferences"]] == ["p-0"]
    known = {NATIVE: {("team", "gang"): ours(owners=(pods[0].itself(),))}}
    [change] = plan(world(*pods, known=known)).actions
    assert isinstance(change, GroupChange)
    assert "spec" not in change.patch
    assert [each["uid"] for each in change.patch["metadata"]["ownerReferences"]] == ["p-0", "p-1"]


def test_an_owner_that_joins_takes_nothing_from_the_references_of_others() -> None:
    """A merge patch replaces the list; another writer may have made one a controller."""
    first, second = (replace(member(), owner=None, uid=f"p-{number}", name=f"pod-{number}") for number in range(2))
    flags = {"controller": True, "blockOwnerDeletion": True}
    kept = {"apiVersion": "v1", "kind": "Pod", "name": "pod-0", "uid": "p-0", **flags}
    metadata = {"uid": "g-1", "resourceVersion": "7", "labels": {"app.kubernetes.io/managed-by": "podberth"}}
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    made = SEEN[NATIVE]({"metadata": {**metadata, "ownerReferences": [kept]}, "spec": spec})
    [change] = plan(world(first, second, known={NATIVE: {("team", "gang"): made}})).actions
    assert isinstance(change, GroupChange)
    references = change.patch["metadata"]["ownerReferences"]
    assert references[0] == kept
    assert (references[1]["uid"], references[1]["controller"], references[1]["blockOwnerDeletion"]) == (
        "p-1",
        False,
        False,
    )


def test_no_group_has_more_owners_than_fit() -> None:
    pods = [replace(member(), owner=None, uid=f"p-{number}") for number in range(2 * MOST_OWNERS)]
    [made] = plan(world(*pods)).actions
    assert isinstance(made, Create)
    assert len(made.document["metadata"]["ownerReferences"]) == MOST_OWNERS
    known = {NATIVE: {("team", "gang"): ours(owners=tuple(each.itself() for each in pods[:MOST_OWNERS]))}}
    assert plan(world(*pods, known=known)).actions == []


# ---- kept facts -----------------------------------------------------------------------------------------------------


def test_a_level_that_no_label_key_can_be_is_not_kept() -> None:
    longest = f"{'x' * 253}/{'y' * 63}"
    levels = [member(**{"podberth.io/gang-level": level}).level for level in (longest, longest + "y", "x" * 200_000)]
    assert levels == [longest, "", ""]


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"phase": "Failed"}},
        {"spec": {"nodeName": "n"}},
        {"metadata": {"name": "pod", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
)
def test_a_pod_that_waits_for_no_group_is_not_kept(change: dict[str, Any]) -> None:
    pod = document()
    assert waiting_pod({**pod, **{key: {**pod.get(key, {}), **value} for key, value in change.items()}}) is None
    assert waiting_pod(gpu_pod()) is None


def test_a_group_is_read_as_it_was_made() -> None:
    [made] = plan(world(member()), GATHER_SECONDS).actions
    assert isinstance(made, Create)
    stored = {**made.document, "metadata": {**made.document["metadata"], "uid": "g-1", "resourceVersion": "7"}}
    assert SEEN[NATIVE](stored) == ours()
