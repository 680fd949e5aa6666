"""Follows a whole cluster: one reflector for each resource, and the consumers that receive the objects.

All code here runs on the event loop, in steps of a few milliseconds between reviews, so nothing is locked.
"""

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from typing import Protocol

from ..api.opening import Client
from ..api.protocol import Resource, Timing
from ..api.reflector import Sink, run_together
from ..kube.schema import PodSchema
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics, WatchMetrics
from ..telemetry.watch_metrics import KindState, WatchFacts
from .live_namespaced import LiveNamespaced, Statuses, TakesNamespaced
from .live_nodes import LiveTopology
from .live_params import LiveParams, TakesParams
from .live_policies import LivePolicies, TakesExceptions, TakesPolicies
from .required import ClusterAccess, Follower, Required
from .served import ServedKinds
from .whole_objects import LiveObjects
from .workloads import LiveWorkloads


class ClusterConsumer(Protocol):
    """A part of podberth that uses the objects of some resources."""

    @property
    def sinks(self) -> Mapping[Resource, Sink]:
        """A mapping from each resource that the consumer uses to the receiver of the resource's objects."""

    async def hand_on(self) -> None:
        """Pass facts about all objects to the code that decides: now, and whenever facts change, until cancelled.

        The method is called when all objects are listed.
        """


@dataclass
class LiveCluster:
    """Follows the objects of one cluster. No object is known before ``run`` is called."""

    connect: Callable[[], Client]
    topology: LiveTopology
    objects: LiveObjects
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
        watching = WatchMetrics(metrics, self._watched, lambda: self.topology.stale_count, self._kinds)
        access = ClusterAccess(self.connect, watching, self.log, self.timing)
        self._required: list[tuple[ClusterConsumer, Required]] = [
            (self.topology, Required(self.topology.sinks, access, left_out=self.topology.left_out)),
            (self.objects, Required(self.objects.sinks, access)),
            (self.workloads.maker, Required(self.workloads.maker.sinks, access)),
        ]
        self.served = ServedKinds(self.workloads.sinks, access)
        policies = LivePolicies(self.take_policies, access, on_exceptions=self.take_exceptions)
        namespaced = LiveNamespaced(self.take_namespaced, access, self.pod_schema)
        self.params = LiveParams(self.take_params, access)
        namespaced.when_params_wanted = self.params.known
        required = (each for _, each in self._required)
        self._followers: list[Follower] = [*required, policies, namespaced, self.served, self.params]

    def unlisted(self) -> list[str]:
        """Return the names of the resources whose objects have not been listed yet; empty if all are listed."""
        return [name for each in self._followers for name in each.unlisted()]

    async def run(self) -> None:
        """Follow the objects of the cluster until the task is cancelled.

        Raises:
            ClusterError: the API server has refused to list a required resource for the configured time
                (``Timing.refused_seconds``), and the resource was never listed.
        """
        following = [each.run() for each in self._followers]
        handing_on = [_hand_on(*each) for each in self._required]
        await run_together([*following, *handing_on, self._hand_on_workloads()])

    async def _hand_on_workloads(self) -> None:
        await self.served.settled.wait()
        await self.workloads.hand_on()

    def _kinds(self) -> Mapping[str, KindState]:
        return {name: state for each in self._followers for name, state in each.states().items()}

    def _watched(self) -> Mapping[str, WatchFacts]:
        return {name: facts for each in self._followers for name, facts in each.watched().items()}


async def _hand_on(part: ClusterConsumer, required: Required) -> None:
    await required.listed()
    await part.hand_on()
