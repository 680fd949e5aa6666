"""The difference of documents: changed lines below the keys that lead to them."""

from typing import Any

from podberth.check.report.difference import difference


def tolerating(*keys: str) -> dict[str, Any]:
    return {"spec": {"containers": [], "tolerations": [{"key": key, "effect": "NoSchedule"} for key in keys], "z": 1}}


def test_nothing_changed_is_nothing() -> None:
    assert difference(tolerating("a"), tolerating("a")) == []


def test_an_item_is_shown_from_its_dash_on() -> None:
    assert difference(tolerating("a"), tolerating("a", "b")) == [
        "  spec:",
        "    tolerations:",
        "+   - key: b",
        "+     effect: NoSchedule",
    ]
    assert difference(tolerating("b", "a"), tolerating("a")) == [
        "  spec:",
        "    tolerations:",
        "-   - key: b",
        "-     effect: NoSchedule",
    ]


def test_a_value_is_shown_before_and_after_below_its_keys() -> None:
    before, after = ({"a": {"b": [{"name": "x", "c": value}], "d": 1}, "e": 2} for value in ("1", "on"))

    assert difference(before, after) == ["  a:", "    b:", "    - name: x", "-     c: '1'", "+     c: 'on'"]


def test_a_blank_line_of_a_text_leads_to_nothing() -> None:
    before, after = ({"a": {"b": "first\n\nlast\n", "c": value}} for value in ("1", "on"))

    assert difference(before, after) == ["  a:", "-   c: '1'", "+   c: 'on'"]
