"""Metrics of the controller in Prometheus' text format. Metrics of watches have the same names as the webhook's."""

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
"""The result of a request: another writer was faster; the API server refused; it did not answer, or there is a bug."""


class ControllerMetrics(WatchCounts, Collector):
    """The metrics of one process. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        """Declare the counters."""
        self.registry = registry = CollectorRegistry()
        super().__init__(registry)
        build = Gauge("podberth_build_info", "Always 1; the labels tell.", ["version"], registry=registry)
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
        """Declare the metrics that are computed at each scrape."""
        self._leads, self._waiting, self._watched, self._kinds = leads, waiting, watched, kinds
        self.registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics of one scrape."""
        yield GaugeMetricFamily(
            "podberth_controller_leads", "1 if this replica leads, and so acts.", value=self._leads()
        )
        waiting = "Pods on no node yet that name a group."
        yield GaugeMetricFamily("podberth_controller_waiting_pods", waiting, value=self._waiting())
        yield from watch_families(self._watched(), self._kinds())

    def requested(self, action: str, result: str) -> None:
        """Count a request."""
        self._requests.labels(action, result).inc()

    def standing(self, counts: Mapping[str, int]) -> None:
        """Set the number of present problems, by the reason of their Events."""
        self._standing.clear()
        for reason, count in counts.items():
            self._standing.labels(reason).set(count)

    def exposition(self) -> bytes:
        """Render in the Prometheus text format."""
        return generate_latest(self.registry)
