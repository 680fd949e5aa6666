"""Follows a whole cluster: one reflector for each resource, and the consumers that receive the objects.

All code here runs on the event loop, in steps of a few milliseconds between reviews, so nothing is locked.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Protocol

from ..api.opening import Client, client_class
from ..api.protocol import Resource, Timing
from ..api.reflector import Reflector, Sink, run_together
from ..kube.schema import PodSchema
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics, WatchMetrics
from ..telemetry.watch_metrics import KindState, WatchFacts
from .live_namespaced import LiveNamespaced, Statuses, TakesNamespaced
from .live_nodes import LiveTopology
from .live_params import LiveParams, TakesParams
from .live_policies import LivePolicies, TakesExceptions, TakesPolicies
from .served import ServedKinds
from .workloads import LiveWorkloads


class ClusterConsumer(Protocol):
    """A part of podberth that uses the objects of some resources."""

    @property
    def sinks(self) -> Mapping[Resource, Sink]:
        """A mapping from each resource that the consumer uses to the receiver of the resource's objects."""

    def left_out(self, resource: Resource) -> Mapping[str, int]:
        """Return a mapping from a reason to the number of a resource's objects that are unusable for that reason."""

    async def hand_on(self) -> None:
        """Pass facts about all objects to the code that decides: now, and whenever facts change, until cancelled.

        The method is called when all objects are listed.
        """


@dataclass
class LiveCluster:
    """Follows the objects of one cluster. No object is known before ``run`` is called."""

    connect: Callable[[], Client]
    topology: LiveTopology
    others: Sequence[ClusterConsumer]
    workloads: LiveWorkloads
    """The consumer of the kinds that a cluster may lack, and that are followed if served."""
    take_policies: TakesPolicies
    take_exceptions: TakesExceptions
    take_params: TakesParams
    take_namespaced: tuple[TakesNamespaced, Statuses]
    pod_schema: PodSchema
    metrics: InitVar[Metrics]
    log: Log
    timing: Timing

    def __post_init__(self, metrics: Metrics) -> None:
        log, timing = self.log, self.timing
        watching = WatchMetrics(metrics, self._watched, lambda: self.topology.stale_count, self._kinds)
        self._served = ServedKinds(self.workloads, self.connect, watching, log, timing)
        self._policies = LivePolicies(
            self.take_policies, self.connect, watching, log, timing, on_exceptions=self.take_exceptions
        )
        self._namespaced = LiveNamespaced(self.take_namespaced, self.connect, watching, log, timing, self.pod_schema)
        self.params = LiveParams(self.take_params, self.connect, watching, log, timing)
        self._namespaced.when_params_wanted = self.params.known
        self._followed: list[tuple[ClusterConsumer, list[Reflector]]] = [
            (part, [Reflector(one, self.connect(), sink, watching, log, timing) for one, sink in part.sinks.items()])
            for part in (self.topology, *self.others, self.workloads.maker)
        ]

    def unlisted(self) -> list[str]:
        """Return the names of the resources whose objects have not been listed yet; empty if all are listed."""
        needed = [each.resource.name for _, each in self._reflectors() if not each.listed.is_set()]
        return [*needed, *self._policies.unlisted(), *self._namespaced.unlisted(), *self._served.unlisted()]

    def follows_owner(self, group: str, kind: str, uid: str) -> bool:
        """Return whether a review may wait for a pod's owner: the watch of the owner's kind will report the owner.

        False if the kind is not watched or not listed yet, if the kind's watch has failed, or if the owner exists and
        cannot be used.
        """
        return self._served.follows_owner(group, kind, uid)

    async def run(self) -> None:
        """Follow the objects of the cluster until the task is cancelled.

        Raises:
            ClusterError: the API server has refused to list a required resource for the configured time
                (``Timing.refused_seconds``), and the resource was never listed.
        """
        endless = [each.run() for _, each in self._reflectors()]
        endless += [_hand_on(*followed) for followed in self._followed]
        endless += [
            self._served.run(),
            self._hand_on_workloads(),
            self._policies.run(),
            self.params.run(),
            self._namespaced.run(),
        ]
        try:
            await run_together(endless)
        finally:
            for _, each in self._reflectors():
                await each.close()

    async def _hand_on_workloads(self) -> None:
        await self._served.settled.wait()
        await self.workloads.hand_on()

    def _kinds(self) -> Mapping[str, KindState]:
        return {**self._served.states(), **self._policies.states(), **self._namespaced.states(), **self.params.states()}

    def _reflectors(self) -> list[tuple[ClusterConsumer, Reflector]]:
        return [(part, each) for part, reflectors in self._followed for each in reflectors]

    def _watched(self) -> Mapping[str, WatchFacts]:
        now = time.monotonic()
        needed = {
            each.resource.name: WatchFacts(
                objects=each.count,
                contact_age_seconds=now - each.contact_at,
                left_out=part.left_out(each.resource),
            )
            for part, each in self._reflectors()
        }
        return {
            **needed,
            **self._served.watched(),
            **self._policies.watched(),
            **self._namespaced.watched(),
            **self.params.watched(),
        }


async def _hand_on(part: ClusterConsumer, reflectors: Sequence[Reflector]) -> None:
    for each in reflectors:
        await each.listed.wait()
    await part.hand_on()


def open_cluster(kubeconfig: Path | None, timing: Timing) -> Callable[[], Client]:
    """Return a function that creates clients of the cluster that ``kubeconfig`` names; None: the cluster of this pod.

    ``timing`` has the clients' limits and waits for requests.

    Raises:
        UsageError: the client library is not installed.
    """
    make = client_class("--topology cluster")
    return lambda: make(kubeconfig, timing)
