"""The leader's loop: reads the present state, sends the plan's actions and notices, and starts again after each change.

The loop does not wait for the answer to a request. It does not repeat a request in progress, and it starts again when
an answer arrives. A notice is sent once while the problem lasts.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..admission.notices import Notice
from ..api.protocol import Timing
from ..errors import ClusterError
from ..telemetry.controller_metrics import ControllerMetrics
from ..telemetry.log import Log
from .in_flight import Sending
from .observed import ObservedCluster, owners_of
from .owner_cache import LookedUp
from .plan import makers
from .plan.intake import owners_of as references_of
from .plan.world import Action, ActionPlan, Create, GroupChange, LookUp, WaitingPod, World
from .requests import RequestResult, Requests, keeps_minimum, word
from .retries import Subject, Waits, key_of, subject_of

# Changes within this time share a round, because the pods of one gang arrive together (as in cluster.whole_objects).
_TOGETHER_SECONDS = 0.1
# The pause after a round, as a multiple of the round's duration. A plan for 100,000 pods takes seconds, in which no
# answer is handled, so rounds take a fifth of the time at most.
_REST = 4.0
# The longest time between two rounds. It matters only if the clock was set, because deadlines are known to the second.
_LONGEST_SECONDS = 60.0


@dataclass(slots=True)
class Acting:
    """Sends the controller's requests in the replica that leads.

    ``act`` first forgets what the replica knew when it led before, because another replica may have led since.
    """

    sight: ObservedCluster
    requests: Requests
    publish: Callable[[Notice], None]
    wake: asyncio.Event
    """An event that is set when there may be new work for the loop."""
    timing: Timing
    patience_seconds: float
    """The seconds for which a pod may wait for the pod's group before a notice reports the wait."""
    metrics: ControllerMetrics
    log: Log
    _known: LookedUp = field(init=False, default_factory=LookedUp)
    _fixed: dict[str, int] = field(init=False, default_factory=dict)
    _waits: Waits = field(init=False)
    _look_ups: Sending = field(init=False)
    _writes: Sending = field(init=False)
    _served: Mapping[str, str] = field(init=False, default_factory=dict)
    _reported: set[Notice] = field(init=False, default_factory=set)
    _broken: set[str] = field(init=False, default_factory=set)
    """The namespaces for which planning failed because of a bug."""
    _seen: set[Subject] = field(init=False, default_factory=set)
    """The kind and place of each object of podberth's that exists, or has existed and is wanted again."""

    def __post_init__(self) -> None:
        self._waits = Waits(self.timing)
        self._look_ups, self._writes = Sending(self._do), Sending(self._do)

    async def act(self) -> None:
        """Run the loop until the task is cancelled; at the end, no request is in progress."""
        for memory in (self._known, self._fixed, self._waits, self._reported, self._broken, self._seen):
            memory.clear()
        try:
            await self.sight.listed()
            while True:
                self.wake.clear()
                began = time.monotonic()
                seconds = self._round_safely()
                rest = max(_TOGETHER_SECONDS, _REST * (time.monotonic() - began))
                await self._wait(max(seconds, rest), rest)
        finally:
            # Both at once, before the first wait: while look-ups end, an answered write would start the next one.
            await asyncio.gather(*self._look_ups.cancel(), *self._writes.cancel(), return_exceptions=True)
            self.metrics.standing({})
            await self.requests.reset()

    async def _wait(self, seconds: float, rest: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            return
        await asyncio.sleep(rest)

    def _round_safely(self) -> float:
        try:
            return self._round()
        except Exception as bug:  # noqa: BLE001 - a bug in handling one pod must not keep all gangs waiting
            self.log.fault("controller: a bug in podberth; tried again", bug)
            return self.timing.longest_wait_seconds

    def _round(self) -> float:
        """Start the actions that are due; return the seconds until the next round if nothing changes before."""
        known = self._known
        known.keep(owners_of(list(self.sight.pods.values()), known.controllers))
        world = replace(
            self.sight.world(),
            owners=known.controllers,
            gone=known.gone,
            documents=known.documents,
            fixed=self._fixed,
            failed=self._waits.failed(),
            patience_seconds=self.patience_seconds,
        )
        if self._fixed:
            there = {each.uid for table in world.known.values() for each in table.values()}
            self._fixed = {uid: minimum for uid, minimum in self._fixed.items() if uid in there}
        plan, now = self._plan(world), time.monotonic()
        # Look-ups of owners that could not be read come last: podberth acts without them, and only repeats them.
        again = known.due(now)
        self._waits.keep({key_of(action) for action in (*plan.actions, *again)})
        self._served = world.served
        due = self._confirmed(self._waits.in_turn(plan.actions, now), plan, world)
        self._look_ups.offer([*(each for each in due if isinstance(each, LookUp)), *again])
        self._writes.offer(each for each in due if not isinstance(each, LookUp))
        self._publish(plan)
        until = min(self._waits.next_at(now), known.next_at(now), now + _LONGEST_SECONDS)
        return min(until - now, plan.again_at - time.time())

    def _confirmed(self, due: list[Action], plan: ActionPlan, world: World) -> list[Action]:
        """Return the actions in ``due`` without each creation of an object that was there before.

        The garbage collector may have deleted the object with its owner, which deletes the pods last. If podberth made
        the object again, the garbage collector would delete it again, on and on. So the owners are looked up again
        first.
        """
        wanted = {subject_of(each) for each in plan.actions if isinstance(each, Create)}
        again = [each for each in due if isinstance(each, Create) and subject_of(each) in self._seen]
        there = {(kind, place) for kind, table in world.known.items() for place, each in table.items() if each.ours}
        self._seen = (self._seen & wanted).difference(map(subject_of, again)) | there
        owners = {subject_of(each): {(each.place[0], one) for one in references_of(each.document)} for each in again}
        doubted = self._known.doubt(set().union(*owners.values()))
        if not doubted:
            return due
        self.wake.set()
        return [each for each in due if doubted.isdisjoint(owners.get(subject_of(each), ()))]

    def _plan(self, world: World) -> ActionPlan:
        """Return the actions and notices for all waiting pods.

        If planning fails because of a bug, planning is repeated for each namespace separately, so that gangs in other
        namespaces still get groups.
        """
        now = time.time()
        try:
            plan = makers.plan(world, now)
        except Exception as bug:  # noqa: BLE001 - any exception
            if not self._broken:
                self.log.fault("controller: a bug in podberth; planning by namespace", bug)
        else:
            self._broken.clear()
            return plan
        found, broken = ActionPlan(), set()
        for namespace, pods in _by_namespace(world.pods).items():
            try:
                found.add(makers.plan(replace(world, pods=pods), now))
            except Exception as bug:  # noqa: BLE001 - any exception
                broken.add(namespace)
                if namespace not in self._broken:
                    self.log.fault("controller: a bug in podberth; its pods wait", bug, namespace=namespace)
        self._broken = broken
        return found

    async def _do(self, action: Action) -> None:
        try:
            answer = await self.requests.send(action, self._served)
            self._settle(action, answer)
        except Exception as bug:  # noqa: BLE001 - a bug in handling one object must not keep the others waiting
            self.log.fault(f"controller: {word(action)}: a bug in podberth; tried again", bug)
            answer = RequestResult(
                "failed", error=ClusterError("bug", f"a bug in podberth: {type(bug).__name__}: {bug}")
            )
            self._waits.put_off(action, answer, time.monotonic())
        self.metrics.requested(word(action), answer.result)
        self.wake.set()

    def _settle(self, action: Action, answer: RequestResult) -> None:
        """Record the API server's answer to the request for an action, and decide when the request may be repeated."""
        now = time.monotonic()
        if isinstance(action, LookUp):
            self._learn(action, answer, now)
        elif answer.result == "ok":
            self.log.event("info", f"{action.noun}: {word(action)}", kind=action.kind, at="/".join(action.place))
            self._waits.written(action, now)
            if isinstance(action, Create):
                self._seen.add(subject_of(action))
        elif isinstance(action, GroupChange) and action.minimum and keeps_minimum(action, answer):
            self._fixed[action.uid] = action.minimum
            self._waits.overtaken(action, answer, now)
        elif answer.result == "conflict":
            self._waits.overtaken(action, answer, now)
        else:
            said = self._waits.put_off(action, answer, now)
            self.log.event("warning", f"{action.noun}: {word(action)} failed; tried again", problem=said)

    def _learn(self, action: LookUp, answer: RequestResult, now: float) -> None:
        """Record the result of a look-up of an owner: the owner, or that the owner is gone or unreadable.

        An owner that cannot be read counts as the topmost owner.
        """
        if answer.result == "ok":
            self._known.found(action, answer.document or {})
        elif answer.result == "conflict":
            self._known.lost(action)
        elif self._known.is_unreadable(action) or self._waits.unreadable(action, answer.error, now):
            if self._known.cannot_be_read(action, now):
                said = "an owner cannot be read; it counts as the one on top, and is asked for again"
                self.log.event("warning", said, problem=str(answer.error))
        else:
            self._waits.put_off(action, answer, now)

    def _publish(self, plan: ActionPlan) -> None:
        notices = [*plan.notices, *self._waits.notices()]
        for notice in notices:
            if notice not in self._reported:
                self.publish(notice)
        self._reported = set(notices)
        self.metrics.standing(Counter(each.reason for each in notices))


def _by_namespace(pods: Mapping[str, WaitingPod]) -> dict[str, dict[str, WaitingPod]]:
    found: dict[str, dict[str, WaitingPod]] = {}
    for name, pod in pods.items():
        found.setdefault(pod.namespace, {})[name] = pod
    return found
