"""Leader election by a Lease: only one replica acts, and stops before another replica may begin.

The election of the client library (kubernetes.aio) cannot be used. That election ends the process on misuse, compares
the clocks of two machines, and waits for a hung request longer than the Lease lasts.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from ..errors import ClusterError
from ..kube.api_path import collection_path
from ..kube.times import as_micro_time
from ..kube.unchecked import at, count, text_at
from ..telemetry.log import Log
from ..wellknown import NAMESPACE
from .opening import Client
from .protocol import MERGE_PATCH, garbled, read_object

API: Final = "coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The durations of an election, with the defaults of kube-scheduler and kube-controller-manager."""

    lease_seconds: int = 15
    renew_seconds: float = 10.0
    """The seconds for which a leader acts without renewing the Lease; fewer than the Lease lasts, so no other leads
    yet."""
    retry_seconds: float = 2.0


class Candidate:
    """The knowledge of one replica about the Lease whose holder is the leader. The object sends no requests.

    Times are seconds of the replica's monotonic clock.
    """

    def __init__(self, identity: str, term: Term) -> None:
        self.identity = identity
        self._term = term
        self._version = ""
        self._changed_at = 0.0

    def may_take(self, lease: Mapping[str, Any], at_seconds: float) -> bool:
        """Return whether this replica may take the Lease: this replica is the holder, or the Lease is free or expired.

        ``lease`` was read at ``at_seconds``. The Lease has expired if this replica has seen no new version for the
        Lease's duration.
        """
        version = text_at(lease, "metadata", "resourceVersion")
        if version != self._version:
            self._version, self._changed_at = version, at_seconds
        holder = text_at(lease, "spec", "holderIdentity")
        lasts = count(at(lease, "spec", "leaseDurationSeconds")) or self._term.lease_seconds
        return holder in ("", self.identity) or at_seconds - self._changed_at >= lasts

    def spec(self, lease: Mapping[str, Any] | None, now: datetime) -> dict[str, Any]:
        """Return the spec of the Lease that makes this replica the leader.

        ``lease`` is the present Lease; None if there is none.
        """
        before = text_at(lease, "spec", "holderIdentity")
        kept = before == self.identity
        turns = count(at(lease, "spec", "leaseTransitions"))
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._term.lease_seconds,
            "acquireTime": text_at(lease, "spec", "acquireTime") if kept else as_micro_time(now),
            "renewTime": as_micro_time(now),
            "leaseTransitions": turns if kept or lease is None else turns + 1,
        }

    @staticmethod
    def released(now: datetime) -> dict[str, Any]:
        """Return the spec of the Lease without a holder, by which the leader resigns.

        The next leader then need not wait until the Lease expires.
        """
        return {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": as_micro_time(now)}


LEASE: Final = "podberth-controller"
_COLLECTION: Final = collection_path(API, "leases", NAMESPACE)
_PATH: Final = _COLLECTION.below(LEASE)
# The time limit for releasing the Lease at the end of the process. If the release takes longer, the Lease expires.
_RELEASE_SECONDS: Final = 2.0

Act = Callable[[], Coroutine[Any, Any, None]]


class Election:
    """One replica's participation in the leader election."""

    def __init__(self, client: Client, identity: str, log: Log, term: Term | None = None) -> None:
        """Create a candidate that does not lead yet; ``run`` starts to compete for the Lease.

        ``identity`` is the name of this replica in the Lease. ``term`` has the durations; None: the defaults.
        """
        self.leads = False
        """Whether this replica is the leader now."""
        self.answered = False
        """Whether the API server answered the last request about the Lease."""
        self._client = client
        self._log = log
        self._term = term or Term()
        self._candidate = Candidate(identity, self._term)
        self._lease: Mapping[str, Any] | None = None
        """The Lease as this replica last wrote it; None if another replica may have written the Lease since."""
        self._until = 0.0
        self._reported = False

    async def run(self, act: Act) -> None:
        """Run ``act`` whenever this replica is the leader, until the task is cancelled; then release the Lease.

        The call ends only if the task is cancelled or ``act`` fails.

        Raises:
            Exception: any exception of ``act``.
        """
        try:
            while True:
                if await self._try():
                    await self._lead(act)
                await asyncio.sleep(self._term.retry_seconds)
        finally:
            await self._release()
            await self._client.reset()

    async def _lead(self, act: Act) -> None:
        """Run ``act`` while this replica renews the Lease in time; then cancel ``act``."""
        self._log.event("info", "leads", lease=LEASE, identity=self._candidate.identity)
        self.leads = True
        acting = asyncio.create_task(act())
        try:
            while (left := self._until - time.monotonic()) > 0:
                await asyncio.wait((acting,), timeout=min(left, self._term.retry_seconds))
                if acting.done():
                    acting.result()
                    return
                if await self._try() is False:
                    break
        finally:
            self.leads = False
            acting.cancel()
            await asyncio.gather(acting, return_exceptions=True)
            self._log.event("info", "leads no longer", lease=LEASE, identity=self._candidate.identity)

    async def _try(self) -> bool | None:
        """Take or renew the Lease; return True if this replica is now the holder, False if another replica is.

        None if there was no valid answer.
        """
        began = time.monotonic()
        # A leader waits at most until it must stop acting, a follower as long as a leader may act without a renewal.
        patience = self._until - began if self.leads else self._term.renew_seconds
        try:
            async with asyncio.timeout(max(0.0, patience)):
                taken = await self._take()
        except TimeoutError:
            await self._failed("no answer in time")
            return None
        except ClusterError as error:
            await self._failed(str(error))
            return None
        self.answered, self._reported = True, False
        if taken:
            self._until = began + self._term.renew_seconds
        return taken

    async def _failed(self, problem: str) -> None:
        if not self._reported:
            self._log.event("warning", "lease: neither taken nor renewed; tried again", problem=problem)
        self.answered, self._reported = False, True
        self._lease = None
        await self._client.reset()

    async def _take(self) -> bool:
        lease = self._lease
        if lease is None:
            lease = await self._read()
            if lease is not None and not self._candidate.may_take(lease, time.monotonic()):
                return False
        try:
            self._lease = _read_lease(await self._write(lease))
        except ClusterError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            # Another replica was faster, or has changed it; the next read shows the holder.
            self._lease = None
            return False
        return True

    async def _read(self) -> Mapping[str, Any] | None:
        try:
            return _read_lease(await self._client.get(_PATH, {}))
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _write(self, lease: Mapping[str, Any] | None) -> bytes:
        spec = self._candidate.spec(lease, datetime.now(UTC))
        if lease is None:
            metadata = {"name": LEASE, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/name": "podberth"}}
            return await self._client.send(
                "POST", _COLLECTION, {"apiVersion": API, "kind": "Lease", "metadata": metadata, "spec": spec}
            )
        return await self._merge(lease, spec)

    async def _merge(self, lease: Mapping[str, Any], spec: Mapping[str, Any]) -> bytes:
        version = lease["metadata"]["resourceVersion"]
        return await self._client.send(
            "PATCH", _PATH, {"metadata": {"resourceVersion": version}, "spec": spec}, MERGE_PATCH
        )

    async def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is None:
            return
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                await self._merge(lease, self._candidate.released(datetime.now(UTC)))


def _read_lease(body: bytes) -> Mapping[str, Any]:
    """Return the Lease in the body of an answer.

    An answer without a resourceVersion is an error, because the next write must name the version to replace.
    """
    lease = read_object(body, _PATH)
    if not text_at(lease, "metadata", "resourceVersion"):
        raise garbled(_PATH, body)
    return lease
