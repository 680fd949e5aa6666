"""Metrics of the review port: the memory that its callers hold, and their connections."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from .metrics import Family, Registered


class Budget(Protocol):
    """The counts of a budget of memory, by kind."""

    @property
    def used(self) -> Mapping[str, int]:
        """Bytes taken now."""

    @property
    def refused(self) -> Mapping[str, int]:
        """How often there was no memory."""


class Places(Protocol):
    """The counts of connections."""

    displaced: int

    def __len__(self) -> int:
        """Return the number of open connections."""


class PortMetrics(Collector):
    """The metrics of the budget and the places of a port. Belongs to the event loop's thread."""

    def __init__(self, metrics: Registered, budget: Budget, places: Places) -> None:
        """Declare all; they are read at each scrape."""
        self._budget = budget
        self._places = places
        metrics.registry.register(self)

    def collect(self) -> Iterator[Family]:
        """Yield the metrics of one scrape."""
        held = GaugeMetricFamily(
            "podberth_callers_memory_bytes", "Memory charged to callers of the review port.", labels=["kind"]
        )
        for kind, amount in self._budget.used.items():
            held.add_metric([kind], amount)
        yield held
        refusals = CounterMetricFamily(
            "podberth_callers_memory_refusals_total", "How often callers found no memory.", labels=["kind"]
        )
        for kind, count in self._budget.refused.items():
            refusals.add_metric([kind], count)
        yield refusals
        yield GaugeMetricFamily("podberth_connections", "Connections to the review port.", value=len(self._places))
        yield CounterMetricFamily(
            "podberth_connections_displaced_total",
            "Connections without a decided review that gave way to newer ones.",
            value=self._places.displaced,
        )
