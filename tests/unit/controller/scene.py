"""A leader that acts on a simulated view and API server."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from controlplane.wait import until
from podberth.admission.notices import Notice
from podberth.api.protocol import Timing, refusal
from podberth.controller.loop import Acting
from podberth.controller.plan.systems import BY_NAME
from podberth.controller.plan.world import (
    Action,
    Create,
    GroupChange,
    LookUp,
    Made,
    Reference,
    WaitingPod,
    World,
)
from podberth.controller.requests import RequestResult, Requests
from podberth.errors import ClusterError
from podberth.kube.pod import OwnerReference
from podberth.telemetry.controller_metrics import ControllerMetrics
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import Log

if TYPE_CHECKING:
    from podberth.controller.observed import ObservedCluster

GROUP = "scheduling.x-k8s.io"
KIND = f"podgroups.{GROUP}"
JOB = OwnerReference("batch/v1", "Job", "train", "j-1")
POD = WaitingPod(
    namespace="team",
    name="pod",
    uid="p-1",
    created=0.0,
    owner=JOB,
    groups=(Reference(replace(BY_NAME["coscheduling"], api_groups=(GROUP,), named_by="a label"), "gang"),),
    gang="gang",
    size=2,
)
MADE = Made(uid="g-1", version="1", ours=True, owners=(JOB,), minimum=2)
TIMING = Timing(first_wait_seconds=0.01, longest_wait_seconds=0.02, least_wait_seconds=0.005, refused_seconds=0.0)
# Longer than any test.
FRESH = replace(TIMING, refused_seconds=3600.0)


class Lines(LineWriter):
    """Keeps log lines."""

    def __init__(self, kept: list[bytes]) -> None:
        self.dropped = 0
        self._kept = kept

    def write(self, line: bytes) -> None:
        self._kept.append(line)


@dataclass
class Scene:
    """A view and an API server that a test changes."""

    pods: dict[str, WaitingPod] = field(default_factory=lambda: {"team/pod": POD})
    groups: dict[tuple[str, str], Made] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Action] = field(default_factory=list)
    reported: list[Notice] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """The statuses of the next answers to writes; none: success."""
    said: str = "no"
    """The bodies of answers that are errors."""
    owner_status: int = 200
    owner_error: Exception | None = None
    """The error of look-ups, instead of an answer."""
    owner_spec: Mapping[str, Any] = field(default_factory=dict)
    held: asyncio.Event | None = None
    """Answers about owners wait for this."""
    lines: list[bytes] = field(default_factory=list)

    async def listed(self) -> None:
        """Have listed all."""

    def world(self) -> World:
        known, served = {KIND: dict(self.groups)}, {KIND: "scheduling.x-k8s.io/v1alpha1"}
        return World(pods=self.pods, known=known, served=served, absent=frozenset())

    async def send(self, action: Action, served: Mapping[str, str]) -> RequestResult:
        assert served
        self.sent.append(action)
        if self.held is not None and isinstance(action, LookUp):
            await self.held.wait()
        if self.owner_error is not None and isinstance(action, LookUp):
            if isinstance(self.owner_error, ClusterError):
                return RequestResult("failed", error=self.owner_error)
            raise self.owner_error
        status = self.owner_status if isinstance(action, LookUp) else self.statuses.pop(0) if self.statuses else 200
        if status != 200:
            error = refusal("PATCH group", status, f'{{"message": "{self.said}"}}'.encode(), "")
            result = "conflict" if status in (404, 409) else "refused" if error.reason == "refused" else "failed"
            return RequestResult(cast("Any", result), error=error)
        if isinstance(action, Create | GroupChange):
            # At once, as the watch would bring it.
            minimum = action.minimum if isinstance(action, GroupChange) else 0
            self.groups[action.place] = replace(MADE, minimum=minimum or MADE.minimum)
        named = {"name": JOB.name, "namespace": "team", "uid": JOB.uid}
        return RequestResult("ok", {"metadata": named, "spec": self.owner_spec})

    async def reset(self) -> None:
        """Have no connections."""

    def count(self, kind: type[Action]) -> int:
        return sum(isinstance(each, kind) for each in self.sent)

    def change(self, **made: Any) -> None:
        self.groups[("team", "gang")] = replace(MADE, **made)
        self.wake.set()

    async def until(self, reached: Callable[[], bool]) -> None:
        await until(reached, what=lambda: f"that; sent {self.sent}, reported {self.reasons()}, said {self.lines}")

    def reasons(self) -> list[str]:
        return [each.reason for each in self.reported]


def gang(name: str, owner: OwnerReference | None = None) -> WaitingPod:
    """Return a gang's pod."""
    return replace(POD, name=name, uid=name, gang=name, owner=owner, groups=(replace(POD.groups[0], name=name),))


def play(story: Callable[[Scene], Awaitable[None]], timing: Timing = TIMING, **fields: Any) -> None:
    async def run() -> None:
        scene = Scene(**fields)
        sight, requests = cast("ObservedCluster", scene), cast("Requests", scene)
        log, metrics = Log(Lines(scene.lines)), ControllerMetrics()
        acting = Acting(sight, requests, scene.reported.append, scene.wake, timing, 60.0, metrics, log)
        task = asyncio.create_task(acting.act())
        try:
            await story(scene)
            assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            # The loop is the test's: the actor must not outlive it.
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
