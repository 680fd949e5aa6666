"""Agents of many simulated machines in one process: for each machine the publisher does the work of a node's agent.

A heap gives the order of turns, and a pool of threads sends. A machine's turn is one job, so no two threads share its
publisher. The changes of the machines come from a seed: the same seed gives the same history.
"""

import heapq
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from math import inf
from queue import Empty, SimpleQueue
from random import Random
from threading import Lock
from typing import Any

import orjson

from podberth.agent.api_requests import NODES, ApiRequest, LabelTarget, SendResult
from podberth.agent.pace import Backoff
from podberth.agent.publish import Send, link_labels, pump
from podberth.agent.publisher import Publisher
from podberth.kube.api_path import ApiPath
from podberth.kube.times import as_time
from podberth.topology.codec import encode_topology
from podberth.topology.shapes import simulate

from .churn import Machine, Sight, change, doubt, node_patch, show

Change = Callable[[Machine], Machine]
"""A change of a machine."""

# No ConfigMap yet; the Node exists already.
_EXPECTED = {("read", 404), ("check", 404), ("machine", 409)}
_LONGEST_WAIT_SECONDS = 1.0  # between two checks whether to end
# mig-manager stops the GPUs' clients, sets the layout and starts them again, which takes from seconds to a minute.
_LAYOUT_SECONDS = (2.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The task of a fleet."""

    machines: Sequence[Machine]
    heartbeat_seconds: float
    ramp_seconds: float = 0.0
    """The time in which the machines come up, evenly."""
    changes_a_second: float = 0.0
    """The average number of changes, of all machines together."""
    create_nodes: bool = False
    labels: LabelTarget | None = None
    seed: int = 0


@dataclass
class Tally:
    """The counts of a fleet so far."""

    requests: Counter[str] = field(default_factory=Counter)
    """Requests by purpose."""
    failures: Counter[str] = field(default_factory=Counter)
    """Failed requests by purpose and status; 0 is no answer."""
    seconds: float = 0.0
    """Time spent waiting for answers, of all threads together."""
    changes: int = 0
    latencies: list[float] = field(default_factory=list)
    """From each change of a machine until its ConfigMap had it, in seconds."""

    def as_document(self) -> dict[str, Any]:
        """Return the tally as printed."""
        ordered = sorted(self.latencies)
        tail = {f"p{part}": round(ordered[len(ordered) * part // 100], 3) for part in (50, 99)} if ordered else {}
        return {
            "requests": dict(sorted(self.requests.items())),
            "failures": dict(sorted(self.failures.items())),
            "changes": self.changes,
            "secondsAnAnswer": round(self.seconds / max(1, self.requests.total()), 4),
            "secondsUntilPublished": tail,
        }


@dataclass
class _Member:
    machine: Machine
    publisher: Publisher
    draw: Random
    """The machine's own generator: threads take turns in an order that cannot be repeated."""
    exists: bool
    showing: Backoff
    """For writes of other components to its Node: a device plugin, too, repeats a refused write."""
    shown: Sight | None = None
    """What its Node may show while that may differ from the machine."""
    offered: bool = False
    due: float = inf
    busy: bool = False
    changes: deque[Change] = field(default_factory=deque)
    """Changes that a thread has asked for, and that have not happened yet."""
    changed_at: float | None = None
    ends_at: float = inf
    """When the change in progress ends."""

    def next_at(self) -> float:
        """Return when it has something to do."""
        if self.changes:
            return -inf
        return min(self.ends_at, self.publisher.next_at(), inf if self.shown is None else self.showing.at)


class Fleet:
    """A running fleet; ``run`` runs it."""

    def __init__(self, plan: Plan, send: Send, *, workers: int) -> None:
        """Prepare; nothing is sent yet."""
        self.tally = Tally()
        self._plan, self._workers = plan, workers
        self._raw_send = send
        self._draw = Random(plan.seed)  # noqa: S311 - a history that can be repeated, no secret
        self._members = [self._member(machine) for machine in plan.machines]
        self._heap: list[tuple[float, int]] = []
        self._lock = Lock()
        # Ended turns, each with its job; an entry without a job comes from ``let``.
        self._done: SimpleQueue[tuple[int, Future[None] | None]] = SimpleQueue()
        self._numbers = {machine.name: number for number, machine in enumerate(plan.machines)}

    @property
    def machines(self) -> list[Machine]:
        """The machines as they are now."""
        return [member.machine for member in self._members]

    @property
    def settled(self) -> int:
        """Count the machines whose ConfigMap and Node are up to date."""
        return len(self._members) - len(self.behind)

    @property
    def behind(self) -> list[str]:
        """Return the names of the other machines."""
        return [
            each.machine.name
            for each in self._members
            if each.changes or each.shown is not None or not each.publisher.settled
        ]

    @property
    def troubles(self) -> dict[str, str]:
        """The current failures, each with its subject."""
        return {about: text for member in self._members for about, text in list(member.publisher.troubles.items())}

    def let(self, name: str, happen: Change) -> None:
        """Let this change happen to a machine at once, in a turn of its own; callable from any thread."""
        number = self._numbers[name]
        self._members[number].changes.append(happen)
        self._done.put((number, None))

    def run(self, until: Callable[[], bool]) -> None:
        """Publish and let changes happen until ``until`` returns True.

        It is called every second and after each turn.
        """
        began = time.monotonic()
        step = self._plan.ramp_seconds / max(1, len(self._members))
        for number in range(len(self._members)):
            self._schedule(number, began + number * step)
        happenings = self._happenings(began + self._plan.ramp_seconds)
        happening = next(happenings, inf)
        with ThreadPoolExecutor(self._workers, thread_name_prefix="podberth-fleet") as pool:
            running = 0
            while not until():
                now = time.monotonic()
                while happening <= now:
                    self._happen(now)
                    happening = next(happenings, inf)
                while running < self._workers and (ready := self._pop(now)) is not None:
                    self._begin(pool, ready)
                    running += 1
                running -= self._collect(min(happening, self._next_due()) if running < self._workers else inf)

    def _begin(self, pool: ThreadPoolExecutor, number: int) -> None:
        self._members[number].busy = True
        job = pool.submit(self._turn, self._members[number])
        job.add_done_callback(lambda done: self._done.put((number, done)))

    def _member(self, machine: Machine) -> _Member:
        draw = Random(self._draw.random())  # noqa: S311 - as above
        plan = self._plan
        publisher = Publisher(
            machine.name, draw=draw.random, heartbeat_seconds=plan.heartbeat_seconds, labels=plan.labels
        )
        own = Random(draw.random())  # noqa: S311 - as above
        return _Member(machine, publisher, own, exists=not plan.create_nodes, showing=Backoff(draw.random))

    def _happenings(self, began: float) -> Iterator[float]:
        """Yield the times of changes: a Poisson process."""
        at = began
        while self._plan.changes_a_second > 0:
            at += self._draw.expovariate(self._plan.changes_a_second)
            yield at

    def _happen(self, now: float) -> None:
        number = self._draw.randrange(len(self._members))
        member = self._members[number]
        member.changes.append(lambda machine: change(machine, member.draw))
        self._hasten(number, now)

    def _hasten(self, number: int, now: float) -> None:
        """Move its turn to now. A turn that is due keeps its place, or each new change would postpone it."""
        if not self._members[number].busy and self._members[number].due > now:
            self._schedule(number, now)

    def _schedule(self, number: int, at: float) -> None:
        self._members[number].due = at
        if at < inf:
            heapq.heappush(self._heap, (at, number))

    def _pop(self, now: float) -> int | None:
        """Return the next machine whose turn is due; overtaken entries are dropped."""
        while self._heap and self._heap[0][0] <= now:
            at, number = heapq.heappop(self._heap)
            if self._members[number].due == at and not self._members[number].busy:
                return number
        return None

    def _next_due(self) -> float:
        return self._heap[0][0] if self._heap else inf

    def _collect(self, deadline: float) -> int:
        """Wait for a turn to end, or for the deadline.

        Schedule the machines whose turns have ended, return their number.
        """
        count, wait = 0, min(max(0.0, deadline - time.monotonic()), _LONGEST_WAIT_SECONDS)
        try:
            while True:
                number, job = self._done.get(timeout=wait) if wait else self._done.get_nowait()
                wait = 0.0
                if job is None:
                    self._hasten(number, time.monotonic())
                    continue
                job.result()  # a bug ends the fleet
                member = self._members[number]
                member.busy = False
                # An overdue machine goes to the end of the queue, or one that is always overdue would delay the others.
                self._schedule(number, max(time.monotonic(), member.next_at()))
                count += 1
        except Empty:
            return count

    def _turn(self, member: _Member) -> None:
        """Do everything that is due for one machine."""
        if not member.exists:
            member.exists = self._create(member)
        if not member.offered:
            topology = show(member.machine).topology
            member.publisher.offer(encode_topology(member.machine.name, topology), link_labels(topology))
            member.offered = True
        if member.ends_at <= time.monotonic():
            self._change(member, lambda machine: change(machine, member.draw))
        for _ in range(len(member.changes)):
            self._change(member, member.changes[0])
            member.changes.popleft()  # only now: until then the machine is behind
        if member.shown is not None and member.showing.at <= time.monotonic():
            self._bring(member, member.shown)
        pump(member.publisher, self._send)
        if member.changed_at is not None and member.publisher.settled:
            with self._lock:
                self.tally.latencies.append(time.monotonic() - member.changed_at)
            member.changed_at = None

    def _change(self, member: _Member, happen: Change) -> None:
        """Apply a change to a machine: to its Node and to its document."""
        before, member.machine = member.shown or show(member.machine), happen(member.machine)
        after = show(member.machine)
        member.ends_at = time.monotonic() + member.draw.uniform(*_LAYOUT_SECONDS) if member.machine.target else inf
        if member.changed_at is None:
            member.changed_at = time.monotonic()
        self._bring(member, before)
        topology = replace(after.topology, observed=as_time(datetime.now(UTC)))
        member.publisher.offer(encode_topology(member.machine.name, topology), link_labels(topology))
        with self._lock:
            self.tally.changes += 1

    def _bring(self, member: _Member, before: Sight) -> None:
        """Update the Node to the machine's state; a write that the API server refuses waits for a later turn."""
        after = show(member.machine)
        node = NODES.below(member.machine.name)
        patches = zip((node, node.below("status")), node_patch(before, after), strict=True)
        requests = [_merge(path, patch) for path, patch in patches if patch]
        if all(_good(self._send(request)) for request in requests):
            member.shown = None
            member.showing.succeed()
        else:
            member.shown = doubt(before, after)
            member.showing.fail(time.monotonic())

    def _create(self, member: _Member) -> bool:
        """Create the Node if it does not exist; return whether it exists now."""
        name = member.machine.name
        manifest = simulate(member.machine.shape, name)[0]
        manifest["metadata"].pop("uid")
        body = orjson.dumps(manifest)
        answer = self._send(ApiRequest("machine", "POST", NODES, body, content_type="application/json"))
        return answer.status in {HTTPStatus.CREATED, HTTPStatus.CONFLICT}

    def _send(self, request: ApiRequest) -> SendResult:
        began = time.monotonic()
        answer = self._raw_send(request)
        with self._lock:
            self.tally.seconds += time.monotonic() - began
            self.tally.requests[request.purpose] += 1
            if not _good(answer) and (request.purpose, answer.status) not in _EXPECTED:
                self.tally.failures[f"{request.purpose} {answer.status}"] += 1
        return answer


def _good(answer: SendResult) -> bool:
    return HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES


def _merge(path: ApiPath, patch: dict[str, Any]) -> ApiRequest:
    return ApiRequest("machine", "PATCH", path, orjson.dumps(patch), content_type="application/merge-patch+json")
