"""Keeps what is read from files in step with them. The last good one stays in force, and what is wrong is said.

One task looks at everything in turn. Reading and compiling happen in a thread: a large snapshot takes seconds, and
reviews do not wait for it.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Protocol

from ..cluster.source import Loaded, SnapshotSource
from ..errors import PodberthError, PolicyError
from ..pki.certificate import Leaf
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics
from .memory import settle
from .state import ServingState
from .tls import CertificateFiles, load_certificate

_KEPT = "cannot be used; the last good one stays in force"


class Watched(Protocol):
    """Something that is read from outside and may change."""

    async def refresh(self) -> None:
        """Look, and take what is new. Raises nothing that is anybody's fault but podberth's."""
        ...


class WatchedSnapshot:
    """Policies and topology."""

    def __init__(self, source: SnapshotSource, state: ServingState, metrics: Metrics, log: Log) -> None:
        """Nothing is loaded yet."""
        self._source = source
        self._state = state
        self._metrics = metrics
        self._log = log
        self._seen: Mapping[str, object] = {}

    async def load(self) -> None:
        """Load whatever is there.

        Raises:
            PodberthError: it cannot be used.
        """
        self._seen = await asyncio.to_thread(self._source.revision)
        self._publish(await asyncio.to_thread(self._source.load), list(self._seen))

    async def refresh(self) -> None:
        """Load if the source has changed since the last look, whether that one succeeded or not."""
        revision = await asyncio.to_thread(self._source.revision)
        changed = [what for what in revision if revision[what] != self._seen.get(what)]
        if not changed:
            return
        # Taken before the load: what changes during it is loaded again.
        self._seen = revision
        try:
            loaded = await asyncio.to_thread(self._source.load)
        except PodberthError as error:
            what = "policies" if isinstance(error, PolicyError) else "topology"
            self._metrics.reloaded(what, ok=False)
            self._log.event("error", f"{what}: {_KEPT}", problems=str(error).splitlines())
        except Exception as error:  # noqa: BLE001 - a bug that new policies meet must not end the watch or the service
            self._log.fault(f"loading policies and topology: a bug; {_KEPT}", error)
            for what in changed:
                self._metrics.reloaded(what, ok=False)
        else:
            self._publish(loaded, changed)

    def _publish(self, loaded: Loaded, changed: Sequence[str]) -> None:
        snapshot = loaded.snapshot
        self._state.snapshot = snapshot
        policies, nodes = len(snapshot.policies), snapshot.topology.node_count
        self._metrics.policies.set(policies)
        self._metrics.nodes.set(nodes)
        for what in changed:
            self._metrics.reloaded(what, ok=True)
        for warning in loaded.warnings:
            self._log.event("warning", "topology", problem=warning)
        self._log.event("info", "loaded", what=list(changed), policies=policies, nodes=nodes)
        settle()


class WatchedCertificate:
    """The serving certificate."""

    def __init__(
        self, files: CertificateFiles, context: ssl.SSLContext, state: ServingState, metrics: Metrics, log: Log
    ) -> None:
        """Nothing is loaded yet."""
        self._files = files
        self._context = context
        self._state = state
        self._metrics = metrics
        self._log = log
        self._seen: object = None

    async def load(self) -> None:
        """Load whatever is there.

        Raises:
            CertificateError: it cannot be used.
        """
        self._seen = await asyncio.to_thread(self._files.revision)
        self._publish(load_certificate(self._context, self._files))

    async def refresh(self) -> None:
        """Load if a file has changed since the last look, whether that one succeeded or not."""
        if await asyncio.to_thread(self._files.revision) == self._seen:
            return
        try:
            await self.load()
        except PodberthError as error:
            self._metrics.reloaded("certificate", ok=False)
            self._log.event("error", f"certificate: {_KEPT}", problems=str(error).splitlines())

    def _publish(self, leaf: Leaf) -> None:
        self._state.certificate = True
        self._metrics.certificate_not_after.set(leaf.validity.not_after.timestamp())
        self._metrics.reloaded("certificate", ok=True)
        self._log.event(
            "info",
            "loaded",
            what=["certificate"],
            names=list(leaf.names),
            not_after=leaf.validity.not_after,
        )


async def watch(watched: Sequence[Watched], interval_seconds: float) -> None:
    """Refresh everything, in turn, for ever; cancel it to end it."""
    while True:
        await asyncio.sleep(interval_seconds)
        for each in watched:
            await each.refresh()
