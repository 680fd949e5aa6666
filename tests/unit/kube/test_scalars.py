import math

import pytest

from podberth.kube.scalars import resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("on", True),
        ("y", True),
        ("No", False),
        ("OFF", False),
        ("true", True),
        ("", None),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("012", 10),
        ("0o14", 12),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("08", 8),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000),
        ("2.0", 2),
        ("1e25", 1e25),
    ],
)
def test_words_and_numbers_are_what_kubectl_makes_of_them(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["yEs", "2001-01-01", "1:30", "10Gi", "500m", "1e999", "1.2.3", "._5", "0xg", "-", "+", ".", "9" * 5000, "a"],
)
def test_everything_else_is_the_text_itself(text: str) -> None:
    assert resolve(text) == text


def test_what_json_does_not_have_is_handed_to_the_caller() -> None:
    assert resolve("-.inf") == -math.inf
    assert math.isnan(resolve(".NaN"))  # type: ignore[arg-type]
