"""All metrics of the webhook, except the metrics of watches, which the controller shares (``watch_metrics``).

``read_samples`` reads the metrics that another process has exposed.

No module outside this package imports ``prometheus_client``. Each ``Metrics`` has its own registry, so importing this
module declares no metric. Series for label values that are known beforehand exist from the start with the value 0, so
that ``rate()`` sees their first increase.

The counts of each review are plain numbers, which the library reads at each scrape. The library's own counters would
take 5 us a review, because each counter has a lock; the plain numbers take 2 us. Both figures were measured under load,
where a review without its decision takes 70 us.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate, product
from math import nan
from typing import NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from .. import __version__
from ..pki.rotation import STAGES, Stage
from .watch_metrics import KindState, WatchCounts, WatchFacts, watch_families

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

# Below 5 ms there are two or three buckets to the decade, because a decision takes 0.1 to 1 ms (bench/). The others are
# about the apiserver's own (5 ms to 25 s, apiserver pkg/admission/metrics), and end at the longest legal timeout, 30 s.
DURATION_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0)

# The phases of a review show its slow part, for which a factor of two or three is exact enough. They have only half of
# the buckets, because each phase needs all its series again.
PHASE_BUCKETS = DURATION_BUCKETS[::2]

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "")
"""The values of the label ``operation``; empty if the review's envelope cannot be read."""
VERDICTS = ("allowed", "mutated", "denied", "error")
OTHER_PATH = "other"
"""The value of the label ``path`` for every request to a path that is not served."""
WATCHED = ("policies", "topology", "certificate", "client CA", "record key")

WATCH_REASONS = ("ended", "lost", "silent", "garbled", "expired", "busy", "failed", "refused", "bug")
LIST_REASONS = ("start", "expired", "resync")
LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "nodes": ("unreadable",),
    "configmaps": ("unreadable", "no node"),
    "leases": ("unreadable",),
    "namespaces": (),
    "params": (),
    "controller": (),
}
"""For each watched resource, the reasons for which an object can be left out."""
OF_TOPOLOGY = ("nodes", "configmaps", "leases")
"""The resources from which the topology of the nodes is derived."""
KIND_LEFT_OUT = ("unreadable", "too many")
"""The reasons for leaving out an object of a kind that the cluster may or may not serve."""

POLICY_STATES = ("active", "disabled", "outdated", "broken")
"""The states of a GPUPolicy, as values of a label.

active: the policy takes effect. disabled: the policy's spec switches the policy off. outdated: the policy does not
compile, and an older version takes effect, or the policy of the same name from files. broken: the policy does not
compile, and no other version takes effect.
"""

EVENT_RESULTS = ("created", "repeated", "limited", "dropped", "failed", "unknown")
"""The results of a notice (a text for an Event): a new Event, a higher count of an Event, or why the notice is lost."""
EVENT_FAULTS = ("lost", "silent", "garbled", "busy", "failed", "refused", "bug")
"""The reasons why the API server did not accept an Event."""


class Phases(NamedTuple):
    """The seconds that each phase of a review took; the sum of the phases is the whole time."""

    receive: float
    """The seconds from the arrival of the headers until the review is parsed.

    The waits for the body, and for a Namespace or owner that the snapshot lacks, are included.
    """
    decide: float
    encode: float


class Metrics(Collector):
    """The metrics of one webhook process, used only by the event loop's thread."""

    def __init__(self, paths: Iterable[str], *, lines_dropped: Callable[[], int], in_flight: Callable[[], int]) -> None:
        """Declare all metrics; ``paths`` are the URL paths of reviews.

        At each scrape, ``lines_dropped`` returns the number of lost log lines, and ``in_flight`` the number of requests
        that are being read or decided.
        """
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._lines_dropped, self._in_flight = lines_dropped, in_flight
        self.topology_age: Callable[[], float] = lambda: nan
        """Returns the age of the nodes' topology in seconds, called at each scrape; NaN while no topology is known."""
        self._count_reviews((*paths, OTHER_PATH))
        gauge = partial(Gauge, registry=self.registry)
        self.policies = gauge("podberth_policies_loaded", "Policies in force.")
        self.policies_for_every_pod = gauge(
            "podberth_policies_for_every_pod",
            "Policies in force of scope All that are about new pods, by what they do with them.",
            ["review"],
        )
        self._policy_objects = gauge(
            "podberth_policy_objects",
            "GPUPolicies of the cluster by what became of them; all 0 without --topology cluster.",
            ["state"],
        )
        self._exception_ends = gauge(
            "podberth_exception_expires_seconds",
            "When each exception from policies ends, as Unix time; those that have ended are kept.",
            ["exception"],
        )
        self.nodes = gauge("podberth_topology_nodes", "Nodes in the topology in force.")
        self.certificate_not_after = gauge(
            "podberth_certificate_not_after_seconds", "When the serving certificate expires, as Unix time."
        )
        self.client_certificate_required = gauge(
            "podberth_client_certificate_required", "1 if only clients with a certificate are answered."
        )
        self.ca_not_after = gauge(
            "podberth_ca_not_after_seconds",
            "When the authority expires that signs the serving certificate, as Unix time; 0 without --ca-secret.",
        )
        self._rotation = gauge(
            "podberth_ca_rotation_stage",
            "1 for the stage of the authorities' rotation; all 0 without --ca-secret.",
            ["stage"],
        )
        self._reloads = Counter(
            "podberth_reload_total",
            "Loads of policies, topology, certificates and keys; after an error the last good one stays in force.",
            ["what", "result"],
            registry=self.registry,
        )
        gauge("podberth_build_info", "Always 1; the facts are the labels.", ["version"]).labels(__version__).set(1)
        _begin(self.policies_for_every_pod, ("mutate", "validate"))
        _begin(self._policy_objects, POLICY_STATES)
        _begin(self._rotation, STAGES)
        _begin(self._reloads, WATCHED, ("ok", "error"))

    def _count_reviews(self, paths: Sequence[str]) -> None:
        self._requests = dict.fromkeys(product(paths, OPERATIONS, VERDICTS), 0)
        # There is one bucket more than bounds, for values above the last bound.
        self._durations = {path: [0] * (len(DURATION_BUCKETS) + 1) for path in paths}
        self._seconds = dict.fromkeys(paths, 0.0)
        self._phases = {path: [[0] * (len(PHASE_BUCKETS) + 1) for _ in Phases._fields] for path in paths}
        self._phase_seconds = {path: [0.0] * len(Phases._fields) for path in paths}
        self._decisions: dict[tuple[str, str], int] = defaultdict(int)
        self._policy_errors: dict[tuple[str], int] = defaultdict(int)

    def request(self, path: str, operation: str, verdict: str, seconds: float) -> None:
        """Count one answer on the webhook path ``path``, and the answer's duration in seconds."""
        self._requests[path, operation, verdict] += 1
        self._durations[path][bisect_left(DURATION_BUCKETS, seconds)] += 1
        self._seconds[path] += seconds

    def phases(self, path: str, phases: Phases) -> None:
        """Add the time of each phase of one review to the histograms of the webhook path ``path``."""
        counts, sums = self._phases[path], self._phase_seconds[path]
        for index, seconds in enumerate(phases):
            counts[index][bisect_left(PHASE_BUCKETS, seconds)] += 1
            sums[index] += seconds

    def policy_error(self, policy: str) -> None:
        """Count a review in which an error of the policy ``policy`` occurred."""
        self._policy_errors[(policy,)] += 1

    def decision(self, policy: str, verdict: str) -> None:
        """Count one decision of a policy; ``verdict`` is the action of the decision, such as "deny"."""
        self._decisions[policy, verdict] += 1

    def reloaded(self, what: str, *, ok: bool) -> None:
        """Count one load of ``what``, such as "policies" or "certificate"; ``ok`` says if the load succeeded."""
        self._reloads.labels(what, "ok" if ok else "error").inc()

    def policy_objects(self, states: Sequence[str]) -> None:
        """Set the number of GPUPolicies in each state, from the state of every GPUPolicy in the cluster."""
        for each in POLICY_STATES:
            self._policy_objects.labels(each).set(states.count(each))

    def exceptions(self, ends: Mapping[str, datetime]) -> None:
        """Set the times at which the GPUPolicyExceptions in ``ends`` end, by name.

        The times of exceptions that are not in ``ends`` are removed.
        """
        self._exception_ends.clear()
        for name, end in ends.items():
            self._exception_ends.labels(name).set(end.timestamp())

    def rotation(self, stage: Stage) -> None:
        """Set the current stage of the rotation of the shared CA."""
        for each in STAGES:
            self._rotation.labels(each).set(each == stage)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def collect(self) -> Iterator[Family]:
        """Yield the metrics whose values are computed at each scrape."""
        said = "Reviews answered; verdict error is an answer other than HTTP 200."
        labels = ["path", "operation", "verdict"]
        yield _counted("podberth_admission_requests_total", said, labels, self._requests.items())
        durations = HistogramMetricFamily(
            "podberth_admission_duration_seconds", "From the review's headers to its answer.", labels=["path"]
        )
        for path, counts in self._durations.items():
            durations.add_metric([path], _cumulative(DURATION_BUCKETS, counts), self._seconds[path])
        yield durations
        phases = HistogramMetricFamily(
            "podberth_admission_phase_duration_seconds", "Where the time of a review went.", labels=["path", "phase"]
        )
        for path, by_phase in self._phases.items():
            for phase, counts, seconds in zip(Phases._fields, by_phase, self._phase_seconds[path], strict=True):
                phases.add_metric([path, phase], _cumulative(PHASE_BUCKETS, counts), seconds)
        yield phases
        said = "What policies decided."
        yield _counted("podberth_policy_decisions_total", said, ["policy", "verdict"], self._decisions.items())
        said = "Reviews in which a policy had an error."
        yield _counted("podberth_policy_errors_total", said, ["policy"], self._policy_errors.items())
        dropped = "Log lines lost because nobody read them fast enough."
        yield CounterMetricFamily("podberth_log_lines_dropped_total", dropped, value=self._lines_dropped())
        reading = "Requests that are being read or decided."
        yield GaugeMetricFamily("podberth_admission_in_flight", reading, value=self._in_flight())
        age = "The possible age of the facts about nodes: since the API server last answered, or files were read."
        yield GaugeMetricFamily("podberth_topology_age_seconds", age, value=self.topology_age())


class WatchMetrics(WatchCounts, Collector):
    """The metrics that exist only with ``--topology cluster``, used only by the event loop's thread."""

    def __init__(
        self,
        metrics: Metrics,
        watched: Callable[[], Mapping[str, WatchFacts]],
        stale_nodes: Callable[[], int],
        kinds: Callable[[], Mapping[str, KindState]] = dict,
    ) -> None:
        """Declare all metrics. At each scrape, the functions return their values.

        ``watched`` returns the facts about each watched resource, ``kinds`` the state of each watched kind, and
        ``stale_nodes`` the number of nodes whose agent's heartbeat has expired.
        """
        super().__init__(metrics.registry)
        self._kinds = kinds
        self._watched = watched
        self._stale_nodes = stale_nodes
        _begin(self._restarts, LEFT_OUT, WATCH_REASONS)
        _begin(self._lists, LEFT_OUT, LIST_REASONS)
        metrics.registry.register(self)
        metrics.topology_age = self._topology_age

    def _topology_age(self) -> float:
        watched = self._watched()
        return max((watched[each].contact_age_seconds for each in OF_TOPOLOGY if each in watched), default=nan)

    def collect(self) -> Iterator[Family]:
        """Yield the metrics whose values are computed at each scrape."""
        watched = self._watched()
        yield from watch_families(watched, self._kinds())
        left_out = GaugeMetricFamily(
            "podberth_watch_left_out", "Objects that exist and cannot be used.", labels=["resource", "reason"]
        )
        for resource, each in watched.items():
            for reason in LEFT_OUT.get(resource, KIND_LEFT_OUT):
                left_out.add_metric([resource, reason], each.left_out.get(reason, 0))
        yield left_out
        stale = "Nodes whose agent's heartbeat has run out."
        yield GaugeMetricFamily("podberth_topology_stale_nodes", stale, value=self._stale_nodes())


class EventMetrics:
    """The metrics of Events, used only by the event loop's thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._notices = Counter(
            "podberth_event_notices_total",
            "Notices for Events, by result.",
            ["result"],
            registry=registry,
        )
        self._errors = Counter(
            "podberth_event_errors_total",
            "Requests with an Event that the API server did not take, by reason.",
            ["reason"],
            registry=registry,
        )
        _begin(self._notices, EVENT_RESULTS)
        _begin(self._errors, EVENT_FAULTS)

    def notices(self, result: str, count: int = 1) -> None:
        """Count ``count`` notices with the result ``result``, such as "created" or "limited"."""
        self._notices.labels(result).inc(count)

    def error(self, reason: str) -> None:
        """Count a request with an Event that the API server did not accept, by the reason."""
        self._errors.labels(reason).inc()


class PortMetrics(Collector):
    """The metrics of the memory budget and the connections of a port, used only by the event loop's thread."""

    def __init__(
        self,
        registry: CollectorRegistry,
        used: Mapping[str, int],
        refused: Mapping[str, int],
        connections: Callable[[], tuple[int, int]],
    ) -> None:
        """Declare all metrics; the values are read at each scrape.

        ``used`` is a mapping from kind of use (such as bodies) to the charged bytes, and ``refused`` to the number of
        refusals. ``connections`` returns (the number of open connections, the number of displaced connections so far).
        """
        self._used, self._refused, self._connections = used, refused, connections
        registry.register(self)

    def collect(self) -> Iterator[Family]:
        """Yield the metrics whose values are computed at each scrape."""
        said = "Memory charged to callers of the review port."
        held = GaugeMetricFamily("podberth_callers_memory_bytes", said, labels=["kind"])
        for kind, amount in self._used.items():
            held.add_metric([kind], amount)
        yield held
        refused = (((kind,), count) for kind, count in self._refused.items())
        said = "How often callers found no memory."
        yield _counted("podberth_callers_memory_refusals_total", said, ["kind"], refused)
        still_open, displaced = self._connections()
        yield GaugeMetricFamily("podberth_connections", "Connections to the review port.", value=still_open)
        yield CounterMetricFamily(
            "podberth_connections_displaced_total",
            "Connections without a decided review that gave way to newer ones.",
            value=displaced,
        )


def read_samples(text: str) -> Mapping[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return a mapping from (name, labels) to the value, for every sample in a text of metrics.

    Raises:
        ValueError: the text is not in Prometheus' format.
    """
    families = text_string_to_metric_families(text)
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}


def _counted(
    name: str, said: str, labels: Sequence[str], counts: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, said, labels=labels)
    for key, count in counts:
        family.add_metric(key, count)
    return family


def _begin(metric: Counter | Gauge, *values: Iterable[str]) -> None:
    """Create a series for every combination of label values, so that the series exist before their first change."""
    for each in product(*values):
        metric.labels(*each)


def _cumulative(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return (upper bound as text, number of values up to the bound) for each bucket of a histogram, "+Inf" last.

    ``counts`` has the number of values in each bucket. It has one number more than ``bounds``: of the values above all
    bounds.
    """
    return list(zip([*map(str, bounds), "+Inf"], map(float, accumulate(counts)), strict=True))
