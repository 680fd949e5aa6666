"""The result of converting policies: the new documents, the documents' YAML, and a problem for each part left out."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..errors import Problem
from ..kube.yaml_text import as_yaml

Document: TypeAlias = dict[str, Any]

_COLUMNS: Final = 120
_LONG: Final = 80
"""The most characters of a text on one line of YAML; a longer text is folded, and so is a text with quotes."""
_FOLDED: Final = re.compile(r"^(?P<indent>[ -]*)(?P<key>\S+: )?folded-(?P<number>\d+)-$", re.MULTILINE)


@dataclass(slots=True)
class Converted:
    """The result of converting policies: the new documents, and a problem for each part left out."""

    documents: list[Document] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)


def present(fields: Mapping[str, Any]) -> Document:
    """Return the fields whose value is not empty: neither None nor "", [] or {}."""
    return {key: value for key, value in fields.items() if value not in (None, [], {}, "")}


def as_text(documents: Iterable[Document]) -> str:
    """Return documents as YAML, separated by ``---``; empty if there are none."""
    return "---\n".join(map(_text, documents))


def _text(document: Document) -> str:
    folded: list[str] = []

    def unfolded(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: unfolded(each) for key, each in value.items()}
        if isinstance(value, list):
            return [unfolded(each) for each in value]
        if not isinstance(value, str) or value != " ".join(value.split()) or not value.isprintable():
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
        return f"{found['indent']}{found['key'] or ''}>-{body}"

    return _FOLDED.sub(written, as_yaml(unfolded(document)))
