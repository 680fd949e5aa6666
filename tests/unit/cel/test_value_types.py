import datetime as dt
from typing import Any

import pytest

from podberth.cel.types import Want
from podberth.cel.value_types import misfit


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("want", "plain"),
    [
        (Want.STRING, ""),
        (Want.STRING, None),
        (Want.INT, 0),
        (Want.MAP, {}),
        (Want.MAP, {"a": [1, 2.5, None, True, {"b": "c"}]}),
        (Want.MAP, {"deep": nested(90)}),
        (Want.MAP, {"a": [0] * 19_000}),
        (Want.LIST_OF_MAPS, []),
        (Want.LIST_OF_MAPS, [{}]),
        (Want.BOOL, False),
        (Want.ANY, dt.timedelta(1)),
    ],
)
def test_a_value_of_the_wanted_kind_fits(want: Want, plain: Any) -> None:
    assert misfit(plain, want) == ""


@pytest.mark.parametrize(
    ("want", "plain", "message"),
    [
        (Want.BOOL, None, "got null, want bool"),
        (Want.STRING, 1, "got int, want string"),
        (Want.INT, True, "got bool, want int"),
        (Want.INT, 1.0, "got double, want int"),
        (Want.MAP, [], "got list, want map"),
        (Want.LIST_OF_MAPS, {}, "got map, want list of maps"),
        (Want.LIST_OF_MAPS, [{}, None], "got a list with null in it, want list of maps"),
        (Want.MAP, {"deep": nested(5000)}, "got a value nested more than 100 levels deep, want less"),
        (Want.MAP, {"a": [0] * 20_000}, "got a value with more than 20,000 values in it, want less"),
        (Want.LIST_OF_MAPS, [{}] * 20_000, "got a value with more than 20,000 values in it, want less"),
        (Want.MAP, {1: 2}, "got a map with the key 1, want string keys"),
        (Want.MAP, {"a": [{None: 2}]}, "got a map with the key None, want string keys"),
        (Want.MAP, {"a": float("nan")}, "got the number nan, want a finite one"),
        (Want.MAP, {"a": bytearray(b"x")}, "got bytes inside, want JSON values; write string(...)"),
        (
            Want.LIST_OF_MAPS,
            [{"a": dt.timedelta(1)}],
            "got timedelta inside, want JSON values; write string(...)",
        ),
    ],
)
def test_another_value_is_named_with_what_is_wanted(want: Want, plain: Any, message: str) -> None:
    assert misfit(plain, want) == message
