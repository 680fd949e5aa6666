"""Metrics that are made when somebody scrapes, for the modules that declare some."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class Asked(Collector):
    """What a registry asks at every scrape."""

    def __init__(self, families: Callable[[], Iterator[Family]]) -> None:
        """Ask ``families`` each time."""
        self._families = families

    def collect(self) -> Iterator[Family]:
        """Make them."""
        return self._families()
