"""What comes of converting a policy: documents, and what is not in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import Problem

Document: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Converted:
    """The documents that say what a policy says, and a problem for each part that they leave out."""

    documents: list[Document] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)


def present(fields: Mapping[str, Any]) -> Document:
    """Return the fields that have a content."""
    return {key: value for key, value in fields.items() if value not in (None, [], {}, "")}
