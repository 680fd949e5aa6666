"""Documents as YAML text in which long expressions are folded."""

import re
import textwrap
from collections.abc import Iterable
from typing import Any, Final

from ..kube.yaml_text import as_yaml
from .result import Document

_COLUMNS: Final = 120
_LONG: Final = 80
"""A longer text is folded, and so is one with quotes, which would be doubled."""
_FOLDED: Final = re.compile(r"^(?P<indent>[ -]*)(?P<key>\S+): folded-(?P<number>\d+)-$", re.MULTILINE)


def as_text(documents: Iterable[Document]) -> str:
    """Return documents as YAML, with a line between each two; empty if there are none."""
    return "---\n".join(map(_text, documents))


def _text(document: Document) -> str:
    folded: list[str] = []

    def unfolded(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: unfolded(each) for key, each in value.items()}
        if isinstance(value, list):
            return [unfolded(each) for each in value]
        if not isinstance(value, str) or value != " ".join(value.split()):
            return value
        if len(value) <= _LONG and "'" not in value:
            return value
        folded.append(value)
        return f"folded-{len(folded) - 1}-"

    def written(found: re.Match[str]) -> str:
        column = len(found["indent"]) + 2
        lines = textwrap.wrap(
            folded[int(found["number"])], _COLUMNS - column, break_long_words=False, break_on_hyphens=False
        )
        body = "".join(f"\n{' ' * column}{line}" for line in lines)
        return f"{found['indent']}{found['key']}: >-{body}"

    return _FOLDED.sub(written, as_yaml(unfolded(document)))
