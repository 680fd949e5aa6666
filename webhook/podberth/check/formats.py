"""The formats that a check's outcome can be written in: one table. Each is a function from outcome to text."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from .model import Report
from .run import Patched


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that a format may show: the report, and by file its text and what is written on its documents."""

    report: Report
    texts: Mapping[str, str]
    patched: Mapping[str, tuple[Patched, ...]]


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table."""

    name: str
    help: str
    render: Callable[[Outcome], str]


def _json(outcome: Outcome) -> str:
    return json.dumps(outcome.report.as_json(), indent=2, ensure_ascii=False) + "\n"


FORMATS: Final[tuple[Format, ...]] = (Format("json", "the report, as docs/check.md has it", _json),)
"""The first is what is written if nothing is said."""
