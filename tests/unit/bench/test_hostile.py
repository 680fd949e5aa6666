"""``bench.hostile`` times every review of a pod's life."""

from bench import clusters, decisions, genome, hostile


def test_a_pod_is_timed_on_creation_and_on_update_by_both_webhooks() -> None:
    snapshot = decisions.snapshot_of([decisions.POLICIES / "gpu-tolerations"], clusters.documents(1, 1))
    times = hostile.times_of(genome.build(genome.Genome(), 0), snapshot)
    assert times.verdicts == "mutated, allowed, mutated, allowed"
    assert times.slowest == max(times.mutate, times.validate, times.update, times.validate_update)
    assert len(times.row("a pod")) == len(hostile.COLUMNS) + 1
