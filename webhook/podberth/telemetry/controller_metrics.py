"""Metrics of the controller in Prometheus' text format. What follows a cluster has the names that the webhook's has."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily

from .. import __version__
from .asked import Asked
from .watch_metrics import KindState, WatchCounts, Watched, watch_families

ACTIONS: Final = ("create", "change", "look up")
RESULTS: Final = ("ok", "conflict", "refused", "failed")
"""What became of a request: somebody was faster; the API server said no; it did not answer, or there is a bug."""


class ControllerMetrics(WatchCounts):
    """The metrics of one process. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        """Declare what is counted."""
        self.registry = registry = CollectorRegistry()
        super().__init__(registry)
        build = Gauge("podberth_build_info", "Always 1; the labels tell.", ["version"], registry=registry)
        build.labels(__version__).set(1)
        self._standing = Gauge(
            "podberth_controller_notices", "What is wrong now and was told in an Event.", ["reason"], registry=registry
        )
        self._requests = Counter(
            "podberth_controller_requests_total",
            "Requests for what is to be made, changed or found out, by what became of them.",
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
        watched: Callable[[], Mapping[str, Watched]],
        kinds: Callable[[], Mapping[str, KindState]],
    ) -> None:
        """Declare what is asked at every scrape."""
        self.registry.register(Asked(lambda: _families(leads(), waiting(), watched(), kinds())))

    def requested(self, action: str, result: str) -> None:
        """Count a request."""
        self._requests.labels(action, result).inc()

    def standing(self, counts: Mapping[str, int]) -> None:
        """Say how much is wrong now, by the reason of its Event."""
        self._standing.clear()
        for reason, count in counts.items():
            self._standing.labels(reason).set(count)

    def exposition(self) -> bytes:
        """Render in the Prometheus text format."""
        return generate_latest(self.registry)


def _families(
    leads: bool, waiting: int, watched: Mapping[str, Watched], kinds: Mapping[str, KindState]
) -> Iterator[GaugeMetricFamily]:
    yield GaugeMetricFamily("podberth_controller_leads", "1 where this replica leads, and so acts.", value=leads)
    yield GaugeMetricFamily("podberth_controller_waiting_pods", "Pods on no node yet that name a group.", value=waiting)
    yield from watch_families(watched, kinds)
