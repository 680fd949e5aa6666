"""Quantities as the apiserver reads them."""

from fractions import Fraction

import pytest

from podberth.kube.quantity import parse_count, parse_quantity

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("0", 0),
        ("2", 2),
        (2, 2),
        ("+2", 2),
        ("-2", -2),
        ("500m", Fraction(1, 2)),
        ("1u", Fraction(1, 10**6)),
        ("1n", Fraction(1, 10**9)),
        ("2k", 2000),
        ("3M", 3 * 10**6),
        ("4G", 4 * 10**9),
        ("5T", 5 * 10**12),
        ("6P", 6 * 10**15),
        ("7E", 7 * 10**18),
        ("1Ki", 1024),
        ("10Gi", 10 * 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("1.5Gi", Fraction(3 * 2**30, 2)),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("5e-1", Fraction(1, 2)),
        (0.1, Fraction(1, 10)),
        (1e22, LARGEST),
    ],
)
def test_a_quantity_is_read_exactly(value: object, amount: Fraction | int) -> None:
    assert parse_quantity(value) == amount


def test_null_is_zero_as_for_the_apiserver() -> None:
    """tests/real-manifests.md 3, 4 and 23: nulls where an amount belongs."""
    assert parse_quantity(None) == 0


@pytest.mark.parametrize("text", ["16E", "1e100", "1e999999999999", "9" * 100])
def test_a_quantity_is_capped_at_the_largest(text: str) -> None:
    assert parse_quantity(text) == LARGEST
    assert parse_quantity(f"-{text}") == -LARGEST


@pytest.mark.parametrize("text", ["0.1n", "1e-10", "1e-999999999999"])
def test_a_quantity_is_rounded_away_from_zero_to_a_nano(text: str) -> None:
    assert parse_quantity(text) == Fraction(1, 10**9)
    assert parse_quantity(f"-{text}") == Fraction(-1, 10**9)


@pytest.mark.parametrize(
    "value",
    ["", " ", "Gi", ".", "1 Gi", " 1", "1\n", "1gi", "1KI", "1ki", "1mi", "1e", "1e1.5", "1.2.3", "0x10", "1_000", "٣"],
)
def test_what_is_no_quantity_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="want a quantity"):
        parse_quantity(value)


@pytest.mark.parametrize("value", [True, False, [], {}, float("nan"), float("inf"), "9" * 1000])
def test_what_json_holds_besides_numbers_and_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="want a quantity"):
        parse_quantity(value)


@pytest.mark.parametrize("value", [2, "2", "2.0", "2000m", "0.002k", "2e0", "20e-1"])
def test_a_count_may_be_spelled_in_any_way_that_is_whole(value: object) -> None:
    """tests/real-manifests.md 3: 955 strings, 753 integers."""
    assert parse_count(value) == 2


@pytest.mark.parametrize(("value", "count"), [("2k", 2000), ("1e1", 10), ("1Ki", 1024), (0, 0), ("0", 0), (None, 0)])
def test_a_count_takes_suffixes_and_zero(value: object, count: int) -> None:
    """tests/real-manifests.md 5: zero is a value."""
    assert parse_count(value) == count


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("500m", '"500m"'),
        (1.5, "1.5"),
        ("-1", '"-1"'),
        (-1, "-1"),
        ("$GPUS", '"$GPUS"'),
        (True, "true"),
        ("x" * 99, '"' + "x" * 36 + "..."),
    ],
)
def test_a_count_that_is_none_is_refused_by_its_own_text(value: object, shown: str) -> None:
    """tests/real-manifests.md 23: unexpanded placeholders where a number belongs."""
    with pytest.raises(ValueError, match="want a") as refused:
        parse_count(value)
    assert str(refused.value).startswith(f"got {shown}, want a")


@pytest.mark.parametrize("value", [10**30, "1" + "0" * 30])
def test_a_count_beyond_64_bits_is_capped(value: object) -> None:
    assert parse_count(value) == LARGEST
