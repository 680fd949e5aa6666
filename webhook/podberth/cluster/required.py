"""Follows the resources that every cluster serves, each by a reflector."""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from ..api.protocol import Resource
from ..api.reflector import ClusterAccess, Reflector, Sink, run_together
from ..telemetry.watch_metrics import KindState, WatchFacts


class Follower(Protocol):
    """A part of the process that follows resources of the cluster."""

    def unlisted(self) -> list[str]:
        """Return the names of the resources whose objects have not been listed yet, and for which podberth waits."""

    def watched(self) -> Mapping[str, WatchFacts]:
        """Return a mapping from each followed resource to facts about the resource's watch, for the metrics."""

    def states(self) -> Mapping[str, KindState]:
        """Return a mapping from the name of each kind that a cluster may lack to the state of the kind's watch."""

    async def run(self) -> None:
        """Follow the cluster until the task is cancelled."""


def watch_facts(reflector: Reflector, left_out: Mapping[str, int]) -> WatchFacts:
    """Return the facts about a watch now; ``left_out`` has the number of unusable objects by reason."""
    return WatchFacts(len(reflector.known), time.monotonic() - reflector.contact_at, left_out)


class Required:
    """Follows some resources, and passes the objects of each to a sink."""

    def __init__(
        self,
        sinks: Mapping[Resource, Sink],
        access: ClusterAccess,
        *,
        left_out: Callable[[Resource], Mapping[str, int]] = lambda _: {},
    ) -> None:
        """Create the object; ``run`` starts to follow the resources.

        ``left_out`` returns a mapping from a reason to the number of a resource's objects that are unusable for that
        reason.
        """
        self._left_out = left_out
        self._reflectors = [Reflector(each, access.connect(), sink, access) for each, sink in sinks.items()]

    def unlisted(self) -> list[str]:
        """Return the names of the resources whose objects have not been listed yet; empty if all are listed."""
        return [each.resource.name for each in self._reflectors if not each.listed.is_set()]

    def watched(self) -> dict[str, WatchFacts]:
        """Return a mapping from each resource to facts about the resource's watch, for the metrics."""
        return {each.resource.name: watch_facts(each, self._left_out(each.resource)) for each in self._reflectors}

    def states(self) -> dict[str, KindState]:
        """Return an empty mapping, because every cluster serves the resources."""
        return {}

    async def listed(self) -> None:
        """Wait until all objects of each resource have been listed."""
        for each in self._reflectors:
            await each.listed.wait()

    async def run(self) -> None:
        """Follow the resources until the task is cancelled.

        Raises:
            ClusterError: the API server refuses to list a resource, and the resource was not listed before.
        """
        await run_together(each.run() for each in self._reflectors)
