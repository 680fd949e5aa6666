from math import isnan

from podberth.telemetry.metrics import DURATION_BUCKETS, LEFT_OUT, PHASE_BUCKETS, Metrics, Phases, WatchMetrics
from podberth.telemetry.watch_metrics import WatchFacts


def _metrics() -> Metrics:
    return Metrics(["/mutate"], lines_dropped=lambda: 7, in_flight=lambda: 3)


def _samples(metrics: Metrics) -> dict[str, float]:
    lines = (line for line in metrics.exposition().decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_known_label_values_exist_from_the_start() -> None:
    samples = _samples(_metrics())
    assert samples['podberth_admission_requests_total{operation="CREATE",path="/mutate",verdict="denied"}'] == 0
    assert samples['podberth_admission_requests_total{operation="",path="other",verdict="error"}'] == 0
    assert samples['podberth_reload_total{result="error",what="certificate"}'] == 0
    assert samples['podberth_admission_duration_seconds_count{path="/mutate"}'] == 0


def test_external_counts_are_read_at_each_scrape() -> None:
    samples = _samples(_metrics())
    assert samples["podberth_log_lines_dropped_total"] == 7
    assert samples["podberth_admission_in_flight"] == 3


def test_durations_fall_into_cumulative_buckets_with_inclusive_bounds() -> None:
    metrics = _metrics()
    for seconds in (DURATION_BUCKETS[0], 0.0003, 0.0003, 100.0):
        metrics.request("/mutate", "CREATE", "allowed", seconds)
    samples = _samples(metrics)
    assert samples['podberth_admission_duration_seconds_bucket{le="0.0001",path="/mutate"}'] == 1
    assert samples['podberth_admission_duration_seconds_bucket{le="0.0005",path="/mutate"}'] == 3
    assert samples['podberth_admission_duration_seconds_bucket{le="30.0",path="/mutate"}'] == 3
    assert samples['podberth_admission_duration_seconds_bucket{le="+Inf",path="/mutate"}'] == 4
    assert samples['podberth_admission_duration_seconds_count{path="/mutate"}'] == 4
    assert samples['podberth_admission_requests_total{operation="CREATE",path="/mutate",verdict="allowed"}'] == 4


def test_decisions_are_counted_by_policy_and_verdict() -> None:
    metrics = _metrics()
    for _ in range(2):
        metrics.decision("a", "mutate")
    assert _samples(metrics)['podberth_policy_decisions_total{policy="a",verdict="mutate"}'] == 2


def test_two_sets_of_metrics_know_nothing_of_each_other() -> None:
    first, second = _metrics(), _metrics()
    first.policies.set(4)
    assert _samples(second)["podberth_policies_loaded"] == 0


def test_the_phases_of_a_review_fall_into_buckets_each_of_its_own() -> None:
    metrics = _metrics()
    metrics.phases("/mutate", Phases(receive=PHASE_BUCKETS[0], decide=0.002, encode=100.0))
    metrics.phases("/mutate", Phases(receive=0.0, decide=0.002, encode=0.0))
    samples = _samples(metrics)
    name = "podberth_admission_phase_duration_seconds"
    first = PHASE_BUCKETS[0]
    counts = {
        (phase, bound): samples[f'{name}_bucket{{le="{bound}",path="/mutate",phase="{phase}"}}']
        for phase in Phases._fields
        for bound in (first, "0.0025", "10.0", "+Inf")
    }
    assert [counts["receive", bound] for bound in (first, "+Inf")] == [2, 2]
    assert [counts["decide", bound] for bound in (first, "0.0025", "+Inf")] == [0, 2, 2]
    assert [counts["encode", bound] for bound in (first, "10.0", "+Inf")] == [1, 1, 2]
    assert samples[f'{name}_sum{{path="/mutate",phase="encode"}}'] == 100.0


def test_the_age_of_the_topology_is_that_of_its_oldest_resource() -> None:
    metrics = _metrics()
    assert isnan(_samples(metrics)["podberth_topology_age_seconds"])
    ages = dict(zip(LEFT_OUT, (1.0, 5.0, 3.0, 100.0, 100.0, 100.0), strict=True))
    watched = {resource: WatchFacts(objects=0, contact_age_seconds=age, left_out={}) for resource, age in ages.items()}
    WatchMetrics(metrics, lambda: watched, lambda: 0)
    assert _samples(metrics)["podberth_topology_age_seconds"] == 5.0
