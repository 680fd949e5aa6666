"""Follows a whole cluster: one reflector for each resource, and the consumers that receive the objects.

All code here runs on the event loop, in steps of a few milliseconds between reviews, so nothing is locked.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import InitVar, dataclass

from ..api.opening import Client
from ..api.protocol import Timing
from ..api.reflector import ClusterAccess, run_together
from ..kube.schema import PodSchema
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics, WatchMetrics
from ..telemetry.watch_metrics import KindState, WatchFacts
from .live_namespaced import LiveNamespaced, Statuses, TakesNamespaced
from .live_nodes import LiveTopology
from .live_params import LiveParams, TakesParams
from .live_policies import LivePolicies, TakesExceptions, TakesPolicies
from .required import Follower, Required
from .served import ServedKinds
from .whole_objects import LiveObjects
from .workloads import LiveWorkloads


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
        topology = Required(self.topology.sinks, access, left_out=self.topology.left_out)
        objects = Required(self.objects.sinks, access)
        maker = Required(self.workloads.maker.sinks, access)
        self.served = ServedKinds(self.workloads.sinks, access)
        policies = LivePolicies(self.take_policies, access, on_exceptions=self.take_exceptions)
        namespaced = LiveNamespaced(self.take_namespaced, access, self.pod_schema)
        self.params = LiveParams(self.take_params, access)
        namespaced.when_params_wanted = self.params.known
        self._handing_on = (
            (topology.listed, self.topology.hand_on),
            (objects.listed, self.objects.hand_on),
            (maker.listed, self.workloads.maker.hand_on),
            (self.served.settled.wait, self.workloads.hand_on),
        )
        """The coroutines that wait until objects are listed, each with the coroutine that then passes facts on."""
        self._followers: list[Follower] = [topology, objects, maker, policies, namespaced, self.served, self.params]

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
        await run_together([*following, *(_hand_on(*each) for each in self._handing_on)])

    def _kinds(self) -> Mapping[str, KindState]:
        return {name: state for each in self._followers for name, state in each.states().items()}

    def _watched(self) -> Mapping[str, WatchFacts]:
        return {name: facts for each in self._followers for name, facts in each.watched().items()}


async def _hand_on(listed: Callable[[], Awaitable[object]], hand_on: Callable[[], Awaitable[None]]) -> None:
    await listed()
    await hand_on()
