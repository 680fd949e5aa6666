import pytest

from podberth.admission.decide import mutate
from podberth.server.handler import resolve, timeout_seconds


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=5s", 5),
        ("timeout=1m0s", 30),  # the apiserver's own bound
        ("timeout=500ms", 0.5),
        ("timeout=1.5s", 1.5),
        ("other=1&timeout=3s", 3),
        ("timeout=3s&timeout=7s", 3),
        ("timeout=24h", 30),
        ("", 10),
        ("timeout=", 10),
        ("timeout=5", 10),
        ("timeout=0s", 10),
        ("timeout=-5s", 10),
        ("timeout=5 s", 10),
        ("timeout=NaNs", 10),
        ("timeout=%00", 10),
        ("timeout=" + "9" * 5000 + "s", 10),
        ("timeout=" + "1s" * 5000, 30),
        ("&".join("a=b" for _ in range(100)), 10),
    ],
)
def test_a_timeout_is_read_and_an_invalid_one_is_the_default(query: str, seconds: float) -> None:
    assert timeout_seconds(query) == pytest.approx(seconds)


def test_budget_leaves_time_for_the_answer_to_travel() -> None:
    target = resolve({"/mutate": mutate}, "/mutate?timeout=10s")
    assert (target.path, target.decider, target.budget_seconds) == ("/mutate", mutate, 9.0)


@pytest.mark.parametrize("target", ["/", "", "/mutate/", "/MUTATE", "/%6dutate", "//mutate", "*", "?timeout=1s"])
def test_paths_match_exactly(target: str) -> None:
    assert resolve({"/mutate": mutate}, target).decider is None
