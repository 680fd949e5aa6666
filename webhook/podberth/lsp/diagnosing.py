"""Diagnoses documents in a thread of its own, some time after the last change of each.

A change cancels the diagnosis of the document's earlier text: one that waits does not begin, and one that runs compiles
no further expression.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Final, TypeAlias

from ..cel.engine import Environment
from ..conventions import Conventions
from ..kube.schema import PodSchema
from ..lint.findings import Level
from ..topology.node import Node
from .answers.diagnostics import Diagnostic, Linting

_LOG: Final = logging.getLogger(__name__)
QUIET_SECONDS: Final = 0.2
"""The time without a change after which a document is diagnosed: longer than between two keys, and hardly noticed."""

Work: TypeAlias = Callable[[Linting], tuple[Diagnostic, ...]]
"""A function that reads the files of a folder and returns the findings about one document."""
Publish: TypeAlias = Callable[[tuple[Diagnostic, ...]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The user's cluster, with which policies are judged, and the level of the findings that are shown."""

    pod_schema: PodSchema
    conventions: Conventions
    nodes: tuple[Node, ...] | None
    level: Level
    """The lowest level of findings that is shown."""


@dataclass
class Diagnosing:
    """The diagnoses that wait or run, by the document's URI. Only the event loop's thread calls the methods."""

    cluster: Cluster
    _pending: dict[str, tuple[asyncio.Task[None], Event]] = field(default_factory=dict)
    _thread: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1, "diagnosing"))
    _superseded: Event = field(default_factory=Event)
    _linting: Linting | None = None

    def changed(self, uri: str, work: Work, publish: Publish) -> None:
        """Diagnose a document after a while, in place of an earlier diagnosis, and publish the findings."""
        self.forget(uri)
        superseded = Event()
        task = asyncio.get_running_loop().create_task(self._later(work, publish, superseded))
        self._pending[uri] = task, superseded

    def forget(self, uri: str) -> None:
        """Cancel the diagnosis of a document."""
        if uri in self._pending:
            task, superseded = self._pending.pop(uri)
            superseded.set()
            task.cancel()

    def close(self) -> None:
        """Cancel every diagnosis."""
        for uri in tuple(self._pending):
            self.forget(uri)
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _later(self, work: Work, publish: Publish, superseded: Event) -> None:
        await asyncio.sleep(QUIET_SECONDS)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._thread, partial(self._run, work, superseded))
        except Exception:  # noqa: BLE001 - the task is awaited by nobody, so the log is the only witness
            _LOG.exception("a diagnosis failed")
            return
        if not superseded.is_set():
            publish(found)

    def _run(self, work: Work, superseded: Event) -> tuple[Diagnostic, ...]:
        """Diagnose in the thread; an environment belongs to the thread that has made it."""
        self._superseded = superseded
        if self._linting is None:
            # The compiler calls the function before each expression, and ends if it returns True.
            environment = Environment(self.cluster.pod_schema, deadline=lambda: self._superseded.is_set)
            self._linting = Linting(
                environment=environment,
                conventions=self.cluster.conventions,
                nodes=self.cluster.nodes,
                level=self.cluster.level,
            )
        return work(self._linting)
