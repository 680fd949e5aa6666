from collections.abc import Iterable

import pytest

from podberth.devices.mig import LONGEST
from podberth.devices.mig_nearest import _suggestions, suggestions

A100_40 = ("1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    return next(iter(suggestions(name, candidates, most=1)), None)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nvidia.com/mig-4g.5gb", "4g.20gb"),
        ("nvidia.com/mig-1g.6gb.shared", "1g.5gb"),
        ("1g.6gb", "1g.5gb"),
        ("mig-2g.20gb", "3g.20gb"),
        ("mig-2g.5gb", "2g.10gb"),
        ("3g.40gb", "3g.20gb"),
        ("7g.80gb", "7g.40gb"),
        ("1g5gb", "1g.5gb"),
        ("1G.5GB", "1g.5gb"),
        ("1g.5g", "1g.5gb"),
        ("1g.5gib", "1g.5gb"),
        ("3g-20gb", "3g.20gb"),
        ("1g.5gb.mee", "1g.5gb+me"),
        ("1c.1g.5gb", "1g.5gb"),
        # AKS' names have no memory
        ("MIG1g", "1g.5gb"),
        ("nvidia.com/mig-2g", "2g.10gb"),
        ("MIG7g", "7g.40gb"),
        # no readable number
        ("lg.5gb", "1g.5gb"),
        ("1g.5bg", "1g.5gb"),
        ("3q.20gb", "3g.20gb"),
        ("nvidia.com/mig-7g.4Ogb", "7g.40gb"),
    ],
)
def test_the_nearest_is_near_in_size_or_else_in_spelling(name: str, meant: str) -> None:
    assert nearest(name, A100_40) == meant


def test_the_nearest_is_spelled_as_the_candidate() -> None:
    assert nearest("1g.6gb", ["nvidia.com/mig-1g.5gb", "nvidia.com/mig-7g.40gb"]) == "nvidia.com/mig-1g.5gb"


def test_the_best_comes_first_and_the_farther_the_later() -> None:
    assert suggestions("2g.20gb", A100_40) == ("3g.20gb", "2g.10gb", "4g.20gb")
    # equally far by size: the one with the more similar spelling
    assert suggestions("1g.10gb+gfx", ["1g.10gb+abc", "1g.10gb+gfz"])[0] == "1g.10gb+gfz"


@pytest.mark.parametrize("name", ["nvidia.com/mig-large", "", "gpu", "9" * 100_000, "mig-" + "1g." * 1000])
def test_no_candidate_is_near_to_a_name_that_is_no_profile(name: str) -> None:
    assert suggestions(name, A100_40) == ()


def test_no_candidate_is_near_among_none_or_distant_ones() -> None:
    assert nearest("1g.5gb", []) is None
    assert nearest("1g.5gb", ["7g.278gb"]) is None
    assert nearest("1g.5gb", ["nvidia.com/gpu", "1g"]) is None


@pytest.mark.parametrize("blank", [" ", "   ", "\t\n", " " * 30])
def test_blanks_in_a_name_count_once_however_many_there_are(blank: str) -> None:
    assert nearest(f"1{blank}g{blank}.{blank}5{blank}gb", A100_40) == "1g.5gb"


def test_a_name_that_is_too_long_to_be_one_is_not_remembered() -> None:
    nearest("1g.6gb", A100_40)
    before = _suggestions.cache_info().currsize
    assert nearest("1g.6gb" + "x" * LONGEST, A100_40) is None
    assert _suggestions.cache_info().currsize == before
    hits = _suggestions.cache_info().hits
    assert nearest("1g.6gb", A100_40) == "1g.5gb"
    assert _suggestions.cache_info().hits == hits + 1
