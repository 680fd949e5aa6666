"""The leader sends the requests of plans once, again after a wait if they fail, and each notice once."""

import asyncio
from dataclasses import replace

import pytest

from builders import job_pod
from podberth.controller.in_flight import AT_ONCE
from podberth.controller.plan.world import Create, GroupChange, LookUp
from podberth.workload.gang_keys import with_gang_keys

from .scene import JOB, MADE, POD, Scene, gang, play

IMMUTABLE = "podgroups gang is invalid: spec.minMember: Invalid value: 3: field is immutable"


def test_an_owner_is_looked_up_once_and_a_group_made_once() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        scene.pods["team/other"] = replace(POD, name="other", uid="p-2", size=3, created=1.0)
        scene.wake.set()
        await scene.until(lambda: scene.count(GroupChange) == 1)
        assert (scene.count(LookUp), scene.count(Create), scene.reported) == (1, 1, [])

    play(story)


@pytest.mark.parametrize(("status", "minimum"), [(200, 3), (403, 1)])
def test_a_size_that_no_pod_says_is_the_owners_where_that_may_be_read(status: int, minimum: int) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        [made] = [each for each in scene.sent if isinstance(each, Create)]
        assert made.document["spec"] == {"minMember": minimum}
        await scene.until(lambda: scene.reasons() == ([] if minimum == 3 else ["PodGroupWithoutMinimum"]))

    name = f"job-{JOB.uid}"
    member = with_gang_keys(job_pod(0, uid=JOB.uid, labels={"podberth.io/gang": name}))
    pod = replace(
        POD, groups=(replace(POD.groups[0], name=name),), gang=name, size=0, gang_keys=member, sized_by_owner=True
    )
    spec = {"parallelism": 3, "completions": 3}
    play(story, pods={"team/pod": pod}, owner_status=status, owner_spec=spec)


def test_a_group_that_is_deleted_with_its_owner_is_not_made_again_for_pods_that_are_still_there() -> None:
    """The garbage collector deletes a JobSet's group at once, and the pods behind their Jobs: seconds later."""

    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 2)
        scene.owner_status = 404
        scene.groups.clear()
        scene.wake.set()
        await scene.until(lambda: scene.count(LookUp) == 2)
        # Another gang: its group is made after these would be.
        scene.pods["team/z"] = gang("z")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 3)
        assert [each.place[1] for each in scene.sent if isinstance(each, Create)] == ["gang", "other", "z"]
        assert scene.count(LookUp) == 2

    # Two groups of one owner: neither is made again.
    play(story, pods={"team/pod": POD, "team/other": gang("other", JOB)})


def test_a_group_that_is_deleted_alone_is_made_again() -> None:
    async def story(scene: Scene) -> None:
        for number in range(1, 4):
            await scene.until(lambda number=number: scene.count(Create) == number)  # type: ignore[misc]
            await scene.until(lambda: bool(scene.groups))
            assert scene.count(LookUp) == number
            scene.groups.clear()
            scene.wake.set()

    play(story)


def test_a_group_whose_owner_cannot_be_read_is_made_again_without_a_look_up() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        scene.groups.clear()
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 2)
        assert scene.count(LookUp) == 1

    play(story, owner_status=403)


def test_look_ups_that_are_not_answered_keep_no_other_gang_waiting() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) == AT_ONCE)
        scene.pods["team/late"] = gang("late")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 1)
        assert scene.count(LookUp) == AT_ONCE
        assert scene.held is not None
        scene.held.set()
        await scene.until(lambda: scene.count(LookUp) == 50)

    pods = {f"team/{n}": gang(f"gang-{n}", replace(JOB, name=f"job-{n}", uid=f"j-{n}")) for n in range(50)}
    play(story, pods=pods, held=asyncio.Event())


def test_a_replica_that_no_longer_leads_has_no_request_in_progress() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) == AT_ONCE)

    # `play` checks what is still there at the end.
    pods = {f"team/{n}": gang(f"gang-{n}", replace(JOB, name=f"job-{n}", uid=f"j-{n}")) for n in range(10)}
    play(story, pods=pods, held=asyncio.Event())


def test_a_request_in_progress_is_not_sent_again_nor_is_one_that_is_no_longer_wanted() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) == AT_ONCE)
        for n in range(AT_ONCE, 10):
            del scene.pods[f"team/{n}"]
        scene.pods["team/late"] = gang("late")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 1)
        assert scene.held is not None
        scene.held.set()
        scene.pods["team/later"] = gang("later")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 2)
        assert scene.count(LookUp) == AT_ONCE

    pods = {f"team/{n}": gang(f"gang-{n}", replace(JOB, name=f"job-{n}", uid=f"j-{n}")) for n in range(10)}
    play(story, pods=pods, held=asyncio.Event(), owner_status=404)


@pytest.mark.parametrize("status", [403, 409, 429, 500])
def test_a_creation_that_fails_is_sent_again(status: int) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 4)
        # A pod that has waited so long is reported, except after a conflict: the watch brings the other write.
        reported = {403: ["PodGroupRefused"], 409: []}.get(status, ["PodGroupMissing"])
        assert scene.reasons() == reported
        if status >= 429:
            assert "podberth could not make it: PATCH group: got " in scene.reported[0].note
        if status == 403:
            assert scene.reported[0].regarding.kind == "Job"
            assert scene.reported[0].note.startswith("PodGroup team/gang: the API server refuses to create it")

    play(story, statuses=[status] * 3)


def test_a_change_that_is_invalid_is_reported_and_not_sent_again() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupNotResized"])
        assert scene.count(GroupChange) == 1
        scene.pods["team/pod"] = replace(POD, size=4)
        scene.wake.set()
        await scene.until(lambda: scene.count(GroupChange) == 2)

    bigger = {"team/pod": replace(POD, size=3)}
    play(story, pods=bigger, groups={("team", "gang"): MADE}, statuses=[422], said=IMMUTABLE)


def test_a_change_that_is_invalid_for_another_field_is_put_off_and_reported() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(GroupChange) == 3)
        assert scene.reasons() == ["PodGroupRefused"]
        assert "spec.queue: Invalid value" in scene.reported[0].note

    said = "podgroups gang is invalid: spec.queue: Invalid value: x: unknown"
    bigger = {"team/pod": replace(POD, size=3)}
    play(story, pods=bigger, groups={("team", "gang"): MADE}, statuses=[422, 422], said=said)


def test_an_invalid_change_of_owners_alone_is_sent_again_behind_a_wait_and_says_nothing_of_the_minimum() -> None:
    """Otherwise it would be sent again at once and for ever, because the fixed minimum is checked after it."""

    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupNotResized"])
        scene.pods["team/bare"] = replace(POD, name="bare", uid="p-2", owner=None, size=3)
        scene.wake.set()
        await scene.until(lambda: "PodGroupRefused" in scene.reasons())
        last = scene.sent[-1]
        assert isinstance(last, GroupChange)
        assert (last.minimum, "spec" in last.patch) == (0, False)

    bigger = {"team/pod": replace(POD, size=3)}
    play(story, pods=bigger, groups={("team", "gang"): MADE}, statuses=[422] * 1000, said=IMMUTABLE)


@pytest.mark.parametrize(("status", "made"), [(403, True), (404, False)])
def test_an_owner_that_cannot_be_read_is_the_one_on_top_and_one_that_is_gone_has_no_group(
    status: int, made: bool
) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) == 1)
        # Another gang with a known owner: its group is made after this one.
        scene.pods["team/z"] = gang("z")
        scene.wake.set()
        await scene.until(lambda: any(isinstance(each, Create) and each.place == ("team", "z") for each in scene.sent))
        places = [each.place for each in scene.sent if isinstance(each, Create)]
        assert (("team", "gang") in places) == made
        assert scene.count(LookUp) == 1

    play(story, owner_status=status)


def test_a_pod_whose_owner_cannot_be_looked_up_is_reported() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupMissing"])
        assert "podberth could not make it, because an owner of its pods cannot be read" in scene.reported[0].note
        scene.owner_status = 200
        await scene.until(lambda: scene.count(Create) == 1)

    play(story, owner_status=500)


def test_a_problem_is_reported_once_and_again_after_it_was_gone() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupMissing"])
        scene.pods["team/other"] = replace(unsized, name="other", uid="p-2")
        scene.wake.set()
        await scene.until(lambda: len(scene.reported) == 2)
        assert {each.regarding.name for each in scene.reported} == {"pod", "other"}
        scene.change(ours=False)
        marker = replace(unsized, name="marker", uid="p-9", groups=(replace(POD.groups[0], name="m"),))
        scene.pods["team/marker"] = marker
        await scene.until(lambda: len(scene.reported) == 3)
        scene.groups.clear()
        scene.wake.set()
        await scene.until(lambda: len(scene.reported) == 5)

    unsized = replace(POD, size=0)
    play(story, pods={"team/pod": unsized})
