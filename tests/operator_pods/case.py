"""The pods of one gang as its operator makes them, for tests: what each is, and who owns them."""

from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """The pods of one gang, each with its role and index, and the objects that own them, by uid."""

    maker: str
    """The name of a `Maker` of the operators' rows."""
    name: str
    size: int
    source: str
    members: tuple[tuple[JSON, str, int], ...]
    owners: dict[str, Any]
    alone: int = 0
    """The size by the pods alone."""
    staged: str = ""
    system: str = "plain"
