"""Never a lost pod: each row of docs/never-lost.md, for a few seconds, on one real API server with two replicas."""

from collections.abc import Iterator

import pytest

from .never_lost.overlay import Overlay, overlay
from .never_lost.scenarios import SCENARIOS, Scenario, broken, play

# What a disturbance lasts that has no length of its own; the longer figures come from `python -m bench.never_lost`.
SECONDS = 3.0


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    with overlay(tmp_path_factory.mktemp("never-lost")) as made:
        yield made


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.name))
def test_a_promise_is_kept(stage: Overlay, scenario: Scenario[Overlay]) -> None:
    outcome = play(stage, scenario, SECONDS)
    assert broken(scenario, outcome) == []
