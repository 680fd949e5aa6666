"""Metrics that are computed at each scrape, for the modules that declare some."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class Asked(Collector):
    """A collector that calls a function at each scrape."""

    def __init__(self, families: Callable[[], Iterator[Family]]) -> None:
        """Call ``families`` each time."""
        self._families = families

    def collect(self) -> Iterator[Family]:
        """Return the families."""
        return self._families()
