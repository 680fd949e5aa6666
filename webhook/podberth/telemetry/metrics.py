"""Every metric of podberth, declared in one place. The only importer of ``prometheus_client``.

Each ``Metrics`` has a registry of its own: importing this module declares nothing. Label values that are known
beforehand exist from the start, so that a rate has a zero to rise from.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from .. import __version__

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

# A decision takes 0.1 to 1 ms (bench/): two or three buckets to the decade up to there and beyond, until the
# apiserver's own buckets begin (5 ms to 25 s, apiserver pkg/admission/metrics), of which the longest legal timeout is
# 30 s.
DURATION_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0)

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "")
"""An envelope that cannot be read has no operation."""
VERDICTS = ("allowed", "mutated", "denied", "error")
OTHER_PATH = "other"
"""The ``path`` of every request to a path that is not served."""
WATCHED = ("policies", "topology", "certificate")


class Metrics:
    """The metrics of one process."""

    def __init__(self, paths: Iterable[str], *, lines_dropped: Callable[[], int]) -> None:
        """Declare all; ``paths`` are those that answer reviews, ``lines_dropped`` is asked at every scrape."""
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "podberth_admission_requests_total",
            "Reviews answered; verdict error is an answer other than HTTP 200.",
            ["path", "operation", "verdict"],
            registry=registry,
        )
        self.duration = Histogram(
            "podberth_admission_duration_seconds",
            "From the review's headers to its answer.",
            ["path"],
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self.in_flight = Gauge(
            "podberth_admission_in_flight", "Requests that are being read or decided.", registry=registry
        )
        self.decisions = Counter(
            "podberth_policy_decisions_total",
            "What policies decided.",
            ["policy", "verdict"],
            registry=registry,
        )
        self.policies = Gauge("podberth_policies_loaded", "Policies in force.", registry=registry)
        self.nodes = Gauge("podberth_topology_nodes", "Nodes in the topology in force.", registry=registry)
        self.reloads = Counter(
            "podberth_reload_total",
            "Loads of what may change at run time; after an error the last good one stays in force.",
            ["what", "result"],
            registry=registry,
        )
        self.certificate_not_after = Gauge(
            "podberth_certificate_not_after_seconds",
            "When the serving certificate expires, as Unix time.",
            registry=registry,
        )
        dropped = "Log lines lost because nobody read them fast enough."
        registry.register(_Asked("podberth_log_lines_dropped_total", dropped, lines_dropped))
        build = Gauge("podberth_build_info", "Always 1; the labels tell.", ["version"], registry=registry)
        build.labels(__version__).set(1)
        self._requests = {
            key: self.requests.labels(*key) for key in product((*paths, OTHER_PATH), OPERATIONS, VERDICTS)
        }
        self._durations = {path: self.duration.labels(path) for path in (*paths, OTHER_PATH)}
        self._decisions: dict[tuple[str, str], Counter] = {}
        for what, result in product(WATCHED, ("ok", "error")):
            self.reloads.labels(what, result)

    def request(self, path: str, operation: str, verdict: str, seconds: float) -> None:
        """Count one answer. The children are bound beforehand: ``labels`` alone costs more than all of this."""
        self._requests[path, operation, verdict].inc()
        self._durations[path].observe(seconds)

    def decision(self, policy: str, verdict: str) -> None:
        """Count what one policy decided; as many children as policies times actions."""
        child = self._decisions.get((policy, verdict))
        if child is None:
            child = self._decisions[policy, verdict] = self.decisions.labels(policy, verdict)
        child.inc()

    def reloaded(self, what: str, *, ok: bool) -> None:
        """Count one load."""
        self.reloads.labels(what, "ok" if ok else "error").inc()

    def watch_in_flight(self, count: Callable[[], int]) -> None:
        """Ask ``count`` when somebody scrapes, which is cheaper than two updates a review."""
        self.in_flight.set_function(count)

    def exposition(self) -> bytes:
        """Render in the Prometheus text format."""
        return generate_latest(self.registry)


class _Asked(Collector):
    """A counter that somebody else counts."""

    def __init__(self, name: str, documentation: str, count: Callable[[], int]) -> None:
        self._name = name
        self._documentation = documentation
        self._count = count

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Ask for the count."""
        yield CounterMetricFamily(self._name, self._documentation, value=self._count())
