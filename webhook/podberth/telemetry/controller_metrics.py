"""The controller's metrics in Prometheus' text format. Metrics of watches have the same names in the webhook."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from .. import __version__
from .watch_metrics import KindState, WatchCounts, WatchFacts, watch_families

ACTIONS: Final = ("create", "change", "look up")
RESULTS: Final = ("ok", "conflict", "refused", "failed")
"""The results of a request, as values of the metric's label.

ok: the request succeeded. conflict: another writer was faster. refused: the API server refused the request. failed:
there was no answer, or a bug.
"""


class ControllerMetrics(WatchCounts, Collector):
    """The metrics of one controller process, used only by the event loop's thread."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        super().__init__(registry)
        build = Gauge("podberth_build_info", "Always 1; the facts are the labels.", ["version"], registry=registry)
        build.labels(__version__).set(1)
        self._standing = Gauge(
            "podberth_controller_notices", "Present problems that an Event reports.", ["reason"], registry=registry
        )
        self._requests = Counter(
            "podberth_controller_requests_total",
            "Requests to make, change or read objects, by result.",
            ["action", "result"],
            registry=registry,
        )
        for action, result in product(ACTIONS, RESULTS):
            self._requests.labels(action, result)

    def ask(
        self,
        *,
        leads: Callable[[], bool],
        waiting: Callable[[], int],
        watched: Callable[[], Mapping[str, WatchFacts]],
        kinds: Callable[[], Mapping[str, KindState]],
    ) -> None:
        """Add the metrics whose values are computed at each scrape, by calling the given functions.

        Args:
            leads: returns whether this replica is the leader.
            waiting: returns the number of waiting pods that name a group.
            watched: returns a mapping from a resource's name to the facts about the watch of the resource.
            kinds: returns a mapping from a kind's name to the state of the watch of the kind.
        """
        self._leads, self._waiting, self._watched, self._kinds = leads, waiting, watched, kinds
        self.registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics whose values are computed at each scrape."""
        yield GaugeMetricFamily(
            "podberth_controller_leads", "1 if this replica leads, and so acts.", value=self._leads()
        )
        waiting = "Pods on no node yet that name a group."
        yield GaugeMetricFamily("podberth_controller_waiting_pods", waiting, value=self._waiting())
        yield from watch_families(self._watched(), self._kinds())

    def requested(self, action: str, result: str) -> None:
        """Count a request to the API server, by action and result."""
        self._requests.labels(action, result).inc()

    def standing(self, counts: Mapping[str, int]) -> None:
        """Set the number of problems that exist at present, by the reason of the problems' Events."""
        self._standing.clear()
        for reason, count in counts.items():
            self._standing.labels(reason).set(count)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
