"""Gangs of every operator before the real scheduler: half-started without podberth; with it whole, or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .gangs import GANGS, POOLS
from .makers import JOB, RUN_HERE, Maker
from .pods_as_made import AS_MADE, Made
from .processes import install_crds, operators
from .stage import Mode, Stage, staged

pytestmark = pytest.mark.shared("crds")

EVERY = (*RUN_HERE, *AS_MADE)
MACHINES = 16
ONE_IN_EACH_POOL = GANGS[: len(POOLS)]


@pytest.fixture(scope="module")
def stage(operator_programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("operators")
    with staged(directory) as stage:
        install_crds(stage.plane)
        with operators(stage.plane, operator_programs, directory / "operators"):
            yield stage


@pytest.mark.parametrize("maker", EVERY, ids=lambda maker: maker.title)
def test_without_podberth_gangs_hold_machines_and_do_not_start(stage: Stage, maker: Maker | Made) -> None:
    outcome = stage.play(maker, Mode.WITHOUT)
    assert outcome.machines == MACHINES
    assert outcome.half >= 2  # one in each pool, whatever the order
    assert outcome.whole <= 4


@pytest.mark.parametrize("maker", EVERY, ids=lambda maker: maker.title)
def test_as_shipped_a_gang_that_finds_room_starts_whole_in_one_domain(stage: Stage, maker: Maker | Made) -> None:
    """The default install is not worse than none for a gang that has a domain to itself."""
    outcome = stage.play(maker, Mode.SHIPPED, gangs=ONE_IN_EACH_POOL)
    assert (outcome.whole, outcome.half, outcome.outside) == (len(POOLS), 0, 0)


@pytest.mark.parametrize("maker", EVERY, ids=lambda maker: maker.title)
def test_in_a_group_a_gang_runs_whole_in_one_domain_or_holds_nothing(stage: Stage, maker: Maker | Made) -> None:
    outcome = stage.play(maker, Mode.NATIVE)
    assert (outcome.whole, outcome.half, outcome.outside) == (4, 0, 0)


@pytest.mark.parametrize("mode", [Mode.WITHOUT, Mode.SHIPPED])
def test_the_groups_of_the_job_controller_are_left_alone(mode: Mode, tmp_path: Path) -> None:
    """Its PodGroups say no topology, and podberth writes none where the scheduler reads it: domains are not counted."""
    with staged(tmp_path, job_gangs=True) as stage:
        outcome = stage.play(JOB, mode, grouped=True)
    assert (outcome.whole, outcome.half) == (4, 0)
