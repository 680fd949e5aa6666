"""The exceptions of the bench of the largest pods are as many as a namespace may have."""

import pytest
from bench import decisions, excepted

from podberth.policy.exceptions import MOST_COMPARED


def test_one_exception_more_is_one_too_many() -> None:
    snapshot = decisions.snapshot_of([decisions.POLICIES / "gpu-tolerations"], [])
    with pytest.raises(SystemExit) as raised:
        excepted.with_exceptions(snapshot, excepted.NUMBER + 1)
    [problem] = str(raised.value).splitlines()
    assert f"got 2 names of policies and requirements of podSelector, after {MOST_COMPARED:,} of other" in problem


def test_the_exceptions_are_in_force_for_the_pods_of_the_bench_and_hold_for_none() -> None:
    snapshot = excepted.with_exceptions(decisions.snapshot_of([decisions.POLICIES / "gpu-tolerations"], []), 2)
    assert [each.name for each in snapshot.in_force["default"]] == ["e0", "e1"]
    assert not any(each.selects({}) for each in snapshot.exceptions)
