"""Compiles policies for ``/validate-policy`` in two threads: cluster policies, and policies of namespaces.

Compiling a policy within its limits takes up to a second of one core. Meanwhile, reviews of pods are answered: the
thread gives up the interpreter lock between its steps, the longest of which is the check of one expression.
docs/adr/0040-bounds-of-compilation.md says why no separate process is needed.
"""

import asyncio
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import BoundedSemaphore, Event
from typing import Any

from ..admission.outcome import Outcome
from ..admission.policy import replacement, validate_policy, with_warning
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot
from ..cel.engine import Environment, Late
from ..errors import ReviewError
from ..kube.schema import PodSchema
from ..policy.compile import CompiledPolicy
from ..wellknown import NAMESPACED_KIND

MOST_AT_ONCE = 4
"""The limit of policies in memory: one policy that is being judged, and three that wait.

A person applies one policy at a time, and `kubectl apply` of a directory sends policies one after the other.
"""


def _validate_now(review: AdmissionRequest, environment: Environment, late: Late) -> Outcome:
    return validate_policy(review, environment, late, now=datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The pending verdict on a policy; callers await the verdict.

    If a caller cancels the wait, the compilation ends before its next step.
    """

    work: asyncio.Future[Outcome]
    gone: Event
    """The event that is set when no caller waits for the verdict any more."""

    def __await__(self) -> Generator[Any, None, Outcome]:
        """Wait for the verdict, which is the outcome of the review, and return the verdict.

        Raises:
            ReviewError: the object is not a policy.
        """
        return self._outcome().__await__()

    async def _outcome(self) -> Outcome:
        try:
            # If the work itself were awaited, it would be cancelled with the waiting task: it would count as ended,
            # while its policy stays in the thread's queue.
            await asyncio.wait([self.work])
            return self.work.result()
        finally:
            self.gone.set()

    def when_ended(self, call: Callable[[], object]) -> None:
        """Register ``call``, to be called when the check of the policy ends, even if nobody waits for the verdict."""
        self.work.add_done_callback(lambda _: call())


_REST_OF_TENANTS = 9.0
"""The pause after a policy of a namespace, as a multiple of the time that judging the policy took: so this work takes a
tenth of a processor's time. Any tenant may send policies without end, as dry runs that change nothing."""
_LONGEST_REST_SECONDS = 1.0
"""The longest rest. A request waits for three rests at most, which is within the webhook's 5 s."""


class _Worker:
    """A thread that compiles policies one by one, with a CEL environment and a limit on waiting policies."""

    def __init__(self, rest: float = 0.0) -> None:
        self.rest = rest
        """The length of the pause after a policy, as a multiple of the policy's time of compilation."""
        self.rests_until = 0.0
        self.thread = ThreadPoolExecutor(1, "policies")
        self.places = BoundedSemaphore(MOST_AT_ONCE)
        self.environment: Environment | None = None


class PolicyJudge:
    """Decides on reviews of policies, in two threads with a queue each.

    Policies of namespaces have a thread of their own, so that tenants cannot fill the queue of the cluster's policies.
    That thread pauses after each policy, to leave time for other work.
    """

    def __init__(self, validate: Callable[[AdmissionRequest, Environment, Late], Outcome] | None = None) -> None:
        """Create the judge; the judge's threads start with the first policy.

        ``validate`` decides on one policy; None stands for the function that /validate-policy uses.
        """
        self._validate = validate or _validate_now
        self._of_cluster, self._of_namespaces = _Worker(), _Worker(_REST_OF_TENANTS)

    def __call__(self, review: AdmissionRequest, snapshot: Snapshot) -> Judgement:
        """Start to decide on a policy, or queue the policy if another policy is being compiled.

        Raises:
            ReviewError: too many policies are waiting.
        """
        worker = self._of_namespaces if review.kind == NAMESPACED_KIND else self._of_cluster
        if not worker.places.acquire(blocking=False):
            raise ReviewError(503, f"busy: {MOST_AT_ONCE} policies are being judged or wait for it; ask again")
        gone = Event()
        schema = snapshot.environment.schema
        work: Future[Outcome] = worker.thread.submit(self._judge, worker, review, schema, gone, snapshot.policies)
        work.add_done_callback(lambda _: worker.places.release())
        judgement = Judgement(asyncio.wrap_future(work), gone)
        # asyncio must not report an error that nobody waits for any more.
        judgement.work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return judgement

    def _judge(
        self,
        worker: "_Worker",
        review: AdmissionRequest,
        schema: PodSchema,
        gone: Event,
        policies: Iterable[CompiledPolicy],
    ) -> Outcome:
        if gone.wait(max(0.0, worker.rests_until - time.monotonic())):
            raise ReviewError(504, "nobody waits for it any more")
        began = time.thread_time()
        try:
            # Only one thread may use an environment, and the event loop's thread uses that of the reviews.
            if worker.environment is None or worker.environment.schema is not schema:
                worker.environment = Environment(schema)
            outcome = self._validate(review, worker.environment, gone.is_set)
            if outcome.verdict == "denied":
                return outcome
            # The warning lists names, and so may be as long as the document: it is not added to a denial.
            return with_warning(outcome, review, replacement(review, policies))
        finally:
            rest = min(_LONGEST_REST_SECONDS, worker.rest * (time.thread_time() - began))
            worker.rests_until = time.monotonic() + rest
