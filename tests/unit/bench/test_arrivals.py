"""Arrivals that are drawn by lot, and gangs laid over them."""

from collections.abc import Sequence
from itertools import islice

from bench.placement.arrivals import GANG_PODS, drawn, until, with_gangs
from bench.placement.manifests import manifest
from bench.placement.replay import GROUPS, Mode
from bench.placement.trace import TracePod


def pod(name: str, gpus: int = 1, milli: int = 1000) -> TracePod:
    return TracePod(name=name, cpu_milli=1, memory_mib=1, gpus=gpus, gpu_milli=milli if gpus else 0, created=0)


def names(pods: Sequence[TracePod]) -> list[str]:
    return [each.name for each in pods]


def test_draws_are_those_of_the_seed_and_every_name_is_its_own() -> None:
    pods = [pod("a"), pod("b", milli=500)]
    first = list(islice(drawn(pods, 1), 50))
    assert first == list(islice(drawn(pods, 1), 50)) != list(islice(drawn(pods, 2), 50))
    assert len(set(names(first))) == 50
    assert {each.name.split("-")[0] for each in first} == {"a", "b"}


def test_pods_come_until_they_have_use_for_so_many_gpus() -> None:
    pods = [pod("none", gpus=0), pod("part", milli=500), pod("one"), pod("late")]
    assert names(until(pods, 1.5)) == ["none", "part", "one"]
    assert names(until(pods, 0.6)) == ["none", "part", "one"]
    assert names(until(pods, 0.5)) == ["none", "part"]


def test_a_gang_at_the_end_is_whole() -> None:
    pods = list(with_gangs(pod(f"p-{number}") for number in range(9)))
    assert names(until(pods, 8)) == [f"p-{number}" for number in range(7)] + [f"p-7-{index}" for index in range(4)]


def test_every_eighth_pod_of_whole_gpus_comes_as_a_gang() -> None:
    pods = [pod(f"p-{number}", gpus=2) for number in range(16)]
    others = [pod("part", milli=500), pod("none", gpus=0)]
    found = list(with_gangs([*pods[:8], *others, *pods[8:]]))
    assert [each.gang for each in found if each.gang] == ["p-7"] * GANG_PODS + ["p-15"] * GANG_PODS
    assert {each.gpus for each in found if each.gang} == {2}
    assert len(found) == 18 + 2 * (GANG_PODS - 1)


def test_a_pod_of_a_gang_says_which_and_of_how_many() -> None:
    *_, member = with_gangs(pod(f"p-{number}") for number in range(8))
    metadata = manifest(member)["metadata"]
    assert metadata["labels"] == {"podberth.io/gang": "p-7"}
    assert metadata["annotations"] == {"podberth.io/gang-size": "4"}
    assert manifest(pod("alone"))["metadata"] == {"name": "alone", "annotations": {}}


def test_a_gang_that_is_placed_as_a_whole_is_awaited_with_its_last_pod() -> None:
    *_, second, last = with_gangs(pod(f"p-{number}") for number in range(8))
    mode = Mode(name="groups", optional=(GROUPS,))
    assert not mode.awaits(second, last)
    assert mode.awaits(last, None)
    assert mode.awaits(last, pod("next"))
    assert not mode.awaits(pod("alone"), None)
    assert not Mode(name="off").awaits(last, None)
