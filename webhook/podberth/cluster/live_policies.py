"""Follows the GPUPolicies of a cluster, if it serves them.

A cluster without their definition, or one that forbids podberth to list them, has none: the policies of files decide.
If they cannot be listed for another reason, nothing is handed on until they are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ..api.opening import Client
from ..api.protocol import Document, Timing
from ..api.reflector import Counts, run_together
from ..facts.object_kinds import Kind
from ..telemetry.log import Log
from ..telemetry.watch_metrics import KindState, WatchFacts
from ..wellknown import API_VERSION, POLICY_KIND
from .served import ServedKinds
from .whole_objects import rounds
from .workloads import LiveKinds

_GROUP, _, _VERSION = API_VERSION.partition("/")


def _whole(document: Document) -> Document:
    metadata: dict[str, Any] = document["metadata"]
    return {**document, "metadata": {key: metadata[key] for key in metadata if key != "managedFields"}}


GPU_POLICY: Final = Kind("policy", _GROUP, (_VERSION,), POLICY_KIND, "gpupolicies", _whole, of_cluster=True)
"""The kind of a policy, kept as the whole object; not in ``KINDS``, because no review reads it."""

TakesPolicies = Callable[[Mapping[str, Document]], Awaitable[None]]
"""A function that receives the present GPUPolicies by name."""


class LivePolicies:
    """Keeps the GPUPolicies of one cluster, and passes all of them on whenever one changes."""

    def __init__(
        self, on_change: TakesPolicies, connect: Callable[[], Client], metrics: Counts, log: Log, timing: Timing
    ) -> None:
        """Create the object without policies. ``on_change`` is first called when they are listed, or cannot be."""
        self._on_change = on_change
        self._wake = asyncio.Event()
        self._kinds = LiveKinds((GPU_POLICY,), self._wake.set, log)
        # Without them, policies that they replace or switch off would decide.
        self._served = ServedKinds(self._kinds, connect, metrics, log, timing, patient=True)

    def unlisted(self) -> list[str]:
        """Return a list with the name of the resource if it has not been listed yet, else an empty list."""
        return list(self._served.unlisted())

    def watched(self) -> Mapping[str, WatchFacts]:
        """Return the facts about the watch, for the metrics."""
        return self._served.watched()

    def states(self) -> Mapping[str, KindState]:
        """Return the state of GPUPolicies, by the name of the kind: followed, listing, not served or refused."""
        return self._served.states()

    async def run(self) -> None:
        """Follow the policies until the task is cancelled."""
        await run_together([self._served.run(), self._hand_on()])

    async def _hand_on(self) -> None:
        await self._served.settled.wait()
        async for _ in rounds(self._wake):
            await self._on_change(dict(self._kinds.sinks[GPU_POLICY].table().facts))
