"""What the leader makes of plans: requests once, again behind a wait where they fail, and what stands told once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from builders import job_pod
from controlplane.wait import until
from podberth.admission.notices import Notice
from podberth.cluster.protocol import Timing, refusal
from podberth.controller import looked_up
from podberth.controller.acting import Acting, Manner
from podberth.controller.requests import Answer, Requests
from podberth.controller.sending import AT_ONCE
from podberth.errors import ClusterError
from podberth.kube.pod import OwnerReference
from podberth.reconcile.model import Action, Change, Create, LookUp, Made, Owned, Reference, WaitingPod, World
from podberth.telemetry.controller_metrics import ControllerMetrics
from podberth.telemetry.lines import LineWriter
from podberth.telemetry.log import Log
from podberth.workload.told import told

if TYPE_CHECKING:
    from podberth.controller.sight import Sight

KIND = "podgroups.scheduling.x-k8s.io"
JOB = OwnerReference("batch/v1", "Job", "train", "j-1")
POD = WaitingPod(
    namespace="team",
    name="pod",
    uid="p-1",
    created=0.0,
    owner=JOB,
    groups=(Reference(system="coscheduling", kinds=(KIND,), name="gang", said_by="a label"),),
    gang="gang",
    size=2,
)
MADE = Made(uid="g-1", version="1", ours=True, owners=(JOB,), minimum=2)
TIMING = Timing(first_wait_seconds=0.01, longest_wait_seconds=0.02, least_wait_seconds=0.005, refused_seconds=0.0)
# No test lasts so long that this is over.
FRESH = replace(TIMING, refused_seconds=3600.0)
IMMUTABLE = "podgroups gang is invalid: spec.minMember: Invalid value: 3: field is immutable"


class Lines(LineWriter):
    """Keeps the lines."""

    def __init__(self, kept: list[bytes]) -> None:
        self.dropped = 0
        self._kept = kept

    def write(self, line: bytes) -> None:
        self._kept.append(line)


@dataclass
class Scene:
    """A sight and an API server that a test changes as it goes."""

    pods: dict[str, WaitingPod] = field(default_factory=lambda: {"team/pod": POD})
    groups: dict[tuple[str, str], Made] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Action] = field(default_factory=list)
    told: list[Notice] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """Of the next answers to writes; none: success."""
    said: str = "no"
    """What the answers say that are none."""
    owner_status: int = 200
    owner_error: Exception | None = None
    """What look-ups meet instead of an answer."""
    owner_spec: Mapping[str, Any] = field(default_factory=dict)
    held: asyncio.Event | None = None
    """What answers about owners wait for."""
    lines: list[bytes] = field(default_factory=list)

    async def listed(self) -> None:
        """Have listed all."""

    def world(
        self,
        owners: Mapping[Owned, OwnerReference | None],
        gone: frozenset[Owned],
        fixed: Mapping[str, int],
        patience: float,
    ) -> World:
        return World(
            pods=self.pods,
            known={KIND: dict(self.groups)},
            served={KIND: "scheduling.x-k8s.io/v1alpha1"},
            absent=frozenset(),
            owners=owners,
            gone=gone,
            fixed=fixed,
            patience_seconds=patience,
        )

    async def send(self, action: Action, served: Mapping[str, str]) -> Answer:
        assert served
        self.sent.append(action)
        if self.held is not None and isinstance(action, LookUp):
            await self.held.wait()
        if self.owner_error is not None and isinstance(action, LookUp):
            if isinstance(self.owner_error, ClusterError):
                return Answer("failed", error=self.owner_error)
            raise self.owner_error
        status = self.owner_status if isinstance(action, LookUp) else self.statuses.pop(0) if self.statuses else 200
        if status != 200:
            error = refusal("PATCH group", status, f'{{"message": "{self.said}"}}'.encode(), "")
            result = "conflict" if status in (404, 409) else "refused" if error.reason == "refused" else "failed"
            return Answer(cast("Any", result), error=error)
        if isinstance(action, Create | Change):
            # At once, as the watch would bring it.
            minimum = action.minimum if isinstance(action, Change) else 0
            self.groups[action.place] = replace(MADE, minimum=minimum or MADE.minimum)
        return Answer("ok", {"metadata": {"uid": JOB.uid}, "spec": self.owner_spec})

    async def reset(self) -> None:
        """Have no connections."""

    def count(self, kind: type[Action]) -> int:
        return sum(isinstance(each, kind) for each in self.sent)

    def change(self, **made: Any) -> None:
        self.groups[("team", "gang")] = replace(MADE, **made)
        self.wake.set()

    async def until(self, reached: Callable[[], bool]) -> None:
        await until(reached, what=lambda: f"that; sent {self.sent}, told {self.reasons()}, said {self.lines}")

    def reasons(self) -> list[str]:
        return [each.reason for each in self.told]


def gang(name: str, owner: OwnerReference | None = None) -> WaitingPod:
    """Return a gang's pod."""
    return replace(POD, name=name, uid=name, gang=name, owner=owner, groups=(replace(POD.groups[0], name=name),))


def play(story: Callable[[Scene], Awaitable[None]], timing: Timing = TIMING, **fields: Any) -> None:
    async def run() -> None:
        scene = Scene(**fields)
        sight, requests = cast("Sight", scene), cast("Requests", scene)
        log, metrics = Log(Lines(scene.lines)), ControllerMetrics()
        manner = Manner(timing=timing, patience_seconds=60.0, metrics=metrics, log=log)
        acting = Acting(sight, requests, scene.told.append, scene.wake, manner)
        task = asyncio.create_task(acting.act())
        try:
            await story(scene)
            assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            # The loop is the test's: what acted must not go on behind it.
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_an_owner_is_looked_up_once_and_a_group_made_once() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        scene.pods["team/other"] = replace(POD, name="other", uid="p-2", size=3, created=1.0)
        scene.wake.set()
        await scene.until(lambda: scene.count(Change) == 1)
        assert (scene.count(LookUp), scene.count(Create), scene.told) == (1, 1, [])

    play(story)


@pytest.mark.parametrize(("status", "minimum"), [(200, 3), (403, 1)])
def test_a_size_that_no_pod_says_is_the_owners_where_that_may_be_read(status: int, minimum: int) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        [made] = [each for each in scene.sent if isinstance(each, Create)]
        assert made.document["spec"] == {"minMember": minimum}
        await scene.until(lambda: scene.reasons() == ([] if minimum == 3 else ["PodGroupWithoutMinimum"]))

    name = f"job-{JOB.uid}"
    member = told(job_pod(0, uid=JOB.uid, labels={"podberth.io/gang": name}))
    pod = replace(POD, groups=(replace(POD.groups[0], name=name),), gang=name, size=0, told=member, sized_by_owner=True)
    spec = {"parallelism": 3, "completions": 3}
    play(story, pods={"team/pod": pod}, owner_status=status, owner_spec=spec)


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


def test_what_is_on_its_way_is_not_sent_again_and_not_once_it_is_wanted_no_more() -> None:
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
        # Whose pod has waited so long is told in any case, but for a conflict: the watch brings who was faster.
        told = {403: ["PodGroupRefused"], 409: []}.get(status, ["PodGroupMissing"])
        assert scene.reasons() == told
        if status >= 429:
            assert "podberth could not make it: PATCH group: got " in scene.told[0].note
        if status == 403:
            assert scene.told[0].regarding.kind == "Job"
            assert scene.told[0].note.startswith("PodGroup team/gang: the API server refuses to create it")

    play(story, statuses=[status] * 3)


def test_a_change_that_is_invalid_is_told_and_not_sent_again() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupNotResized"])
        assert scene.count(Change) == 1
        scene.pods["team/pod"] = replace(POD, size=4)
        scene.wake.set()
        await scene.until(lambda: scene.count(Change) == 2)

    bigger = {"team/pod": replace(POD, size=3)}
    play(story, pods=bigger, groups={("team", "gang"): MADE}, statuses=[422], said=IMMUTABLE)


def test_a_change_that_is_invalid_for_another_field_is_put_off_and_told() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Change) == 3)
        assert scene.reasons() == ["PodGroupRefused"]
        assert "spec.queue: Invalid value" in scene.told[0].note

    said = "podgroups gang is invalid: spec.queue: Invalid value: x: unknown"
    bigger = {"team/pod": replace(POD, size=3)}
    play(story, pods=bigger, groups={("team", "gang"): MADE}, statuses=[422, 422], said=said)


def test_an_invalid_change_of_owners_alone_is_sent_again_behind_a_wait_and_says_nothing_of_the_minimum() -> None:
    """It would be sent at once and for ever, for what is fixed is not asked before it."""

    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupNotResized"])
        scene.pods["team/bare"] = replace(POD, name="bare", uid="p-2", owner=None, size=3)
        scene.wake.set()
        await scene.until(lambda: "PodGroupRefused" in scene.reasons())
        last = scene.sent[-1]
        assert isinstance(last, Change)
        assert (last.minimum, "spec" in last.patch) == (0, False)

    bigger = {"team/pod": replace(POD, size=3)}
    play(story, pods=bigger, groups={("team", "gang"): MADE}, statuses=[422] * 1000, said=IMMUTABLE)


@pytest.mark.parametrize(("status", "made"), [(403, True), (404, False)])
def test_an_owner_that_cannot_be_read_is_the_one_on_top_and_one_that_is_gone_has_no_group(
    status: int, made: bool
) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) == 1)
        # Another gang, whose owner is nobody's business: it is made behind this one.
        scene.pods["team/z"] = gang("z")
        scene.wake.set()
        await scene.until(lambda: any(isinstance(each, Create) and each.place == ("team", "z") for each in scene.sent))
        places = [each.place for each in scene.sent if isinstance(each, Create)]
        assert (("team", "gang") in places) == made
        assert scene.count(LookUp) == 1

    play(story, owner_status=status)


def test_a_pod_whose_owner_cannot_be_looked_up_is_told_of() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupMissing"])
        assert "podberth could not make it, for an owner of its pods cannot be read" in scene.told[0].note
        scene.owner_status = 200
        await scene.until(lambda: scene.count(Create) == 1)

    play(story, owner_status=500)


def test_what_stands_is_told_once_and_again_when_it_was_away() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.reasons() == ["PodGroupMissing"])
        scene.pods["team/other"] = replace(unsized, name="other", uid="p-2")
        scene.wake.set()
        await scene.until(lambda: len(scene.told) == 2)
        assert {each.regarding.name for each in scene.told} == {"pod", "other"}
        scene.change(ours=False)
        marker = replace(unsized, name="marker", uid="p-9", groups=(replace(POD.groups[0], name="m"),))
        scene.pods["team/marker"] = marker
        await scene.until(lambda: len(scene.told) == 3)
        scene.groups.clear()
        scene.wake.set()
        await scene.until(lambda: len(scene.told) == 5)

    unsized = replace(POD, size=0)
    play(story, pods={"team/pod": unsized})


@pytest.mark.parametrize("status", [403, 409])
def test_of_a_refusal_nothing_stands_behind_a_conflict(status: int) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 6)
        # What was told of the first refusal is told again where it had gone meanwhile.
        assert scene.reasons() == ["PodGroupRefused"] * (1 if status == 403 else 2)

    play(story, statuses=[403, status, status, 403, 403])


def test_what_an_api_server_that_has_just_started_refuses_is_asked_for_again() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) >= 3)
        assert scene.count(Create) == 0
        scene.owner_status = 200
        await scene.until(lambda: scene.count(Create) == 1)
        assert not any(b"cannot be read" in line for line in scene.lines)

    play(story, FRESH, owner_status=403)


def test_an_owner_that_cannot_be_read_is_asked_for_again_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) >= 4)
        assert sum(b"cannot be read" in line for line in scene.lines) == 1
        scene.owner_status = 200
        await scene.until(lambda: scene.count(Change) == 1)

    monkeypatch.setattr(looked_up, "ASK_AGAIN_SECONDS", 0.01)
    name = f"job-{JOB.uid}"
    member = told(job_pod(0, uid=JOB.uid, labels={"podberth.io/gang": name}))
    pod = replace(gang(name, JOB), size=0, told=member, sized_by_owner=True)
    play(story, pods={"team/pod": pod}, owner_status=403, owner_spec={"parallelism": 3, "completions": 3})


def test_an_owner_that_is_no_answer_counts_as_one_that_cannot_be_read() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        assert any(b"cannot be read" in line and b"got more than 3" in line for line in scene.lines)

    play(story, owner_error=ClusterError("garbled", "GET job: got more than 3145728 bytes"))


def test_a_bug_that_one_answer_meets_is_told_and_paced_and_keeps_no_other_waiting() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: "PodGroupMissing" in scene.reasons())
        assert any("a bug in podberth: KeyError: 'x'" in each.note for each in scene.told)
        await scene.until(lambda: scene.count(Create) == 1)
        await scene.until(lambda: scene.count(LookUp) >= 3)
        scene.owner_error = None
        await scene.until(lambda: scene.count(Create) == 2)

    play(story, pods={"team/pod": POD, "team/z": gang("z")}, owner_error=KeyError("x"))


def test_a_bug_that_one_pod_causes_keeps_its_namespace_alone_waiting() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        [line] = [line for line in scene.lines if b'"namespace":"bad"' in line]
        assert b"a bug in podberth" in line
        scene.pods["team/z"] = gang("z")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 2)
        assert sum(b"a bug in podberth" in line for line in scene.lines) == 2
        del scene.pods["bad/broken"]
        scene.pods["bad/mended"] = replace(gang("y"), namespace="bad")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 3)

    broken = replace(POD, namespace="bad", owner=cast("OwnerReference", 1))
    play(story, pods={"team/pod": POD, "bad/broken": broken})


def test_a_bug_that_one_round_meets_ends_nothing() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: any(b"a bug in podberth" in line for line in scene.lines))
        del scene.pods["team/broken"]
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 1)

    play(story, pods={"team/pod": POD, "team/broken": replace(POD, owner=cast("OwnerReference", 1))})
