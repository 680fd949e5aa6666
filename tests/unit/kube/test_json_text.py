import pytest

from podberth.kube.json_text import MAX_DEPTH, read_object


def test_one_object_is_read() -> None:
    assert read_object('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}
    assert read_object(' {"a": [1, 2.5, null, {"b": "\\u00e9"}]}\n') == {"a": [1, 2.5, None, {"b": "é"}]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a: 1",
        '{"a": 1',
        '{"a": 1} {"b": 2}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud83d"}',
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        '{"a":' + "[" * 100_000,
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert read_object(text) is None
