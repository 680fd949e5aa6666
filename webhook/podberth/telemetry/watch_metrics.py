"""The metrics of watches, which webhook and controller expose under the same names."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily

KindState: TypeAlias = Literal["followed", "listing", "not served", "refused"]
KIND_STATES: tuple[KindState, ...] = get_args(KindState)
"""The states of a kind that is followed only if the cluster serves the kind.

followed: the kind's objects are listed and watched. listing: the objects are not listed yet. not served: the cluster
does not serve the kind. refused: the API server forbids podberth to list the objects.
"""


class WatchFacts(NamedTuple):
    """The facts about one watched resource at the time of a scrape."""

    objects: int
    contact_age_seconds: float
    left_out: Mapping[str, int]
    """The number of objects that are left out, by reason."""


class WatchCounts:
    """The counters of watches and lists, used only by the event loop's thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._restarts = Counter(
            "podberth_watch_restarts_total",
            "Watches that ended, by reason; each is begun again.",
            ["resource", "reason"],
            registry=registry,
        )
        self._lists = Counter(
            "podberth_watch_lists_total",
            "Lists of all objects, by what made one necessary.",
            ["resource", "reason"],
            registry=registry,
        )

    def restarted(self, resource: str, reason: str) -> None:
        """Count a watch that ended, by the resource and the reason."""
        self._restarts.labels(resource, reason).inc()

    def listed(self, resource: str, reason: str) -> None:
        """Count a request that lists all objects of a resource, by the resource and the reason."""
        self._lists.labels(resource, reason).inc()


def watch_families(watched: Mapping[str, WatchFacts], kinds: Mapping[str, KindState]) -> Iterator[GaugeMetricFamily]:
    """Yield the metrics of watched resources, and of kinds that are followed only if the cluster serves the kind."""
    objects = GaugeMetricFamily("podberth_watch_objects", "Objects that the cluster has.", labels=["resource"])
    age = GaugeMetricFamily(
        "podberth_watch_contact_age_seconds", "Since the API server was last heard.", labels=["resource"]
    )
    for resource, each in watched.items():
        objects.add_metric([resource], each.objects)
        age.add_metric([resource], each.contact_age_seconds)
    states = GaugeMetricFamily(
        "podberth_watch_kinds",
        "1 for the state of a kind that is followed if it is served.",
        labels=["resource", "state"],
    )
    for kind, state in kinds.items():
        for one in KIND_STATES:
            states.add_metric([kind, one], float(one == state))
    yield from (states, objects, age)
