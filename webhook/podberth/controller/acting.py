"""What the leader does: looks at what is seen, does what the makers want, tells what stands; and again when it changes.

A request that fails is sent again behind a wait of its own, if it is still wanted then. What is told is told once for
as long as it stands.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from random import random
from typing import Any

from ..admission.notices import Notice, note
from ..cluster.protocol import Pace, Timing
from ..kube.pod import OwnerReference
from ..reconcile import makers
from ..reconcile.model import Action, Change, LookUp, Owned, Place, Plan, World
from ..telemetry.controller_metrics import ControllerMetrics
from ..telemetry.log import Log
from .requests import Answer, Requests, above, keeps_minimum, kept_of, word
from .sight import Sight, owners_of

# Pods of one gang come together, and so do answers of the watch: as in cluster.rounds.
_TOGETHER_SECONDS = 0.1
# How long the watch may take to show what was written; then it is written again, where it is still wanted.
_SEEN_SECONDS = 5.0
# The longest that nothing is looked at: what runs out is known to the second, this is for a clock that was set.
_LONGEST_SECONDS = 60.0
# Few enough that thousands of gangs after a restart are no burst to the API server: half of client-go's default burst.
_AT_ONCE = 5


@dataclass(slots=True)
class _Pending:
    """A request that is not to be sent again before ``until``: its effect is yet to be seen, or it failed."""

    of: Owned | tuple[str, Place]
    """As in ``World.failed``."""
    pace: Pace
    until: float
    notice: Notice | None = None
    failed: str = ""
    """What it met, where the API server neither did nor refused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a replica acts: how long it waits, and where it counts and says what it does."""

    timing: Timing
    patience_seconds: float
    """How long a pod may wait for its group until it is told of."""
    metrics: ControllerMetrics
    log: Log


@dataclass(slots=True)
class Acting:
    """The acting part of one replica. ``act`` runs while it leads, and begins with no memory."""

    sight: Sight
    requests: Requests
    tell: Callable[[Notice], None]
    wake: asyncio.Event
    """Set where there may be something to do."""
    manner: Manner
    _owners: dict[Owned, OwnerReference | None] = field(init=False, default_factory=dict)
    _documents: dict[Owned, Mapping[str, Any]] = field(init=False, default_factory=dict)
    _gone: set[Owned] = field(init=False, default_factory=set)
    _fixed: dict[str, int] = field(init=False, default_factory=dict)
    _pending: dict[Hashable, _Pending] = field(init=False, default_factory=dict)
    _told: set[Notice] = field(init=False, default_factory=set)

    async def act(self) -> None:
        """Act until cancelled."""
        for memory in (self._owners, self._documents, self._gone, self._fixed, self._pending, self._told):
            memory.clear()
        try:
            await self.sight.listed()
            while True:
                self.wake.clear()
                await self._wait(await self._round_safely())
        finally:
            self.manner.metrics.standing({})
            await self.requests.reset()

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_TOGETHER_SECONDS)

    async def _round_safely(self) -> float:
        try:
            return await self._round()
        except Exception as bug:  # noqa: BLE001 - a bug that one pod meets must not keep all gangs waiting
            self.manner.log.fault("controller: a bug in podberth; tried again", bug)
            return self.manner.timing.longest_wait_seconds

    async def _round(self) -> float:
        """Do what there is to do now; return how long there will be nothing else unless something changes."""
        self._forget()
        world = self.sight.world(self._owners, frozenset(self._gone), self._fixed, self.manner.patience_seconds)
        failed = {each.of: each.failed for each in self._pending.values() if each.failed}
        world = replace(world, failed=failed, documents=self._documents)
        if self._fixed:
            known = {each.uid for table in world.known.values() for each in table.values()}
            self._fixed = {uid: minimum for uid, minimum in self._fixed.items() if uid in known}
        plan = makers.plan(world, time.time())
        wanted = {_key(action): action for action in plan.actions}
        self._pending = {key: each for key, each in self._pending.items() if key in wanted}
        await self._do_all([each for key, each in wanted.items() if self._is_due(key)], world)
        self._tell(plan)
        now = time.monotonic()
        until = min((each.until for each in self._pending.values()), default=now + _LONGEST_SECONDS)
        seconds = min(until - now, plan.again_at - time.time(), _LONGEST_SECONDS)
        return max(seconds, self.manner.timing.least_wait_seconds)

    def _is_due(self, key: Hashable) -> bool:
        pending = self._pending.get(key)
        return pending is None or pending.until <= time.monotonic()

    async def _do_all(self, actions: Sequence[Action], world: World) -> None:
        """Send several at a time: one that is answered slowly keeps no other waiting."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def do(action: Action) -> None:
            async with places:
                await self._do(action, world)

        for met in await asyncio.gather(*map(do, actions), return_exceptions=True):
            if met is not None:
                raise met

    async def _do(self, action: Action, world: World) -> None:
        answer = await self.requests.send(action, world.served)
        self.manner.metrics.requested(word(action), answer.result)
        if answer.result == "ok":
            self._take_in(action, answer.document or {})
        elif isinstance(action, LookUp):
            self._not_found(action, answer)
        elif isinstance(action, Change) and action.minimum and keeps_minimum(action, answer):
            self._fixed[action.uid] = action.minimum
            self._later(action, answer)
            self.wake.set()
        else:
            self._put_off(action, answer)

    def _take_in(self, action: Action, document: Mapping[str, Any]) -> None:
        if isinstance(action, LookUp):
            same, owner = above(document, action.owner)
            if same:
                self._owners[action.namespace, action.owner] = owner
                kept = kept_of(document, action.owner)
                if kept is not None:
                    self._documents[action.namespace, action.owner] = kept
            else:
                self._gone.add((action.namespace, action.owner))
            self.wake.set()
            return
        self.manner.log.event("info", f"{action.noun}: {word(action)}", kind=action.kind, at="/".join(action.place))
        seen_by = time.monotonic() + _SEEN_SECONDS
        self._pending[_key(action)] = _Pending(_of(action), Pace(self.manner.timing, random), seen_by)

    def _not_found(self, action: LookUp, answer: Answer) -> None:
        """Take in that an owner is gone, or that podberth may not see it: then it counts as the one on top."""
        if answer.result == "conflict":
            self._gone.add((action.namespace, action.owner))
            self.wake.set()
        elif answer.error is not None and answer.error.status == HTTPStatus.FORBIDDEN:
            self._owners[action.namespace, action.owner] = None
            self.manner.log.event(
                "warning", "an owner cannot be read; it counts as the one on top", problem=str(answer.error)
            )
            self.wake.set()
        else:
            self._put_off(action, answer)

    def _put_off(self, action: Action, answer: Answer) -> None:
        """Let an action wait for its next try; one that was overtaken waits for the watch to say by what."""
        pending = self._later(action, answer)
        if answer.result == "conflict":
            return
        said = str(answer.error)
        pending.failed = said if answer.result == "failed" or isinstance(action, LookUp) else ""
        if isinstance(action, LookUp):
            return
        if answer.result == "refused":
            place = "/".join(action.place)
            text = (
                f"{action.noun} {place}: the API server refuses to {word(action)} it, and podberth tries again: {said}"
            )
            pending.notice = Notice(
                regarding=action.about, type="Warning", reason=action.refused, action="Write", note=note(text)
            )
        self.manner.log.event("warning", f"{action.noun}: {word(action)} failed; tried again", problem=said)

    def _later(self, action: Action, answer: Answer) -> _Pending:
        pending = self._pending.setdefault(_key(action), _Pending(_of(action), Pace(self.manner.timing, random), 0.0))
        asked = answer.error.retry_after_seconds if answer.error else 0.0
        pending.until = time.monotonic() + pending.pace.wait_seconds(0.0, asked)
        return pending

    def _tell(self, plan: Plan) -> None:
        notices = [*plan.notices, *(each.notice for each in self._pending.values() if each.notice)]
        for notice in notices:
            if notice not in self._told:
                self.tell(notice)
        self._told = set(notices)
        self.manner.metrics.standing(Counter(each.reason for each in notices))

    def _forget(self) -> None:
        """Keep of owners what somebody may still ask for."""
        pods = list(self.sight.pods.values())
        asked = owners_of(pods, self._owners)
        self._owners = {owned: each for owned, each in self._owners.items() if owned in asked}
        self._documents = {owned: each for owned, each in self._documents.items() if owned in asked}
        self._gone &= asked


def _of(action: Action) -> Owned | tuple[str, Place]:
    return (action.namespace, action.owner) if isinstance(action, LookUp) else (action.kind, action.place)


def _key(action: Action) -> Hashable:
    if isinstance(action, LookUp):
        return action.namespace, action.owner
    return word(action), action.kind, action.place
