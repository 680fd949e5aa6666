"""The YAML of converted documents is read back as the same documents."""

import pytest
import yaml

from podberth.convert.result import as_text

LONG = "a long text of many words, " * 8 + "with an end"


@pytest.mark.parametrize(
    "text", [LONG, "it's short", f"# {LONG}", f"it's {chr(7)}", f"{LONG}{chr(0x200B)}", f" {LONG}", "a" * 253, "x: y"]
)
def test_a_text_is_read_back(text: str) -> None:
    document = {"key": text, "list": [text, {"key": text, "names": [text, "b"]}], "b": text}
    assert list(yaml.safe_load_all(as_text([document, document]))) == [document, document]
