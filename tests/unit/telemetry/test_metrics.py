from podberth.telemetry.metrics import DURATION_BUCKETS, Metrics


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


def test_what_others_count_is_asked_at_scrape() -> None:
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
