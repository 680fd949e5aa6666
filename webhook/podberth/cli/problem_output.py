"""Writes a problem in a document for other programs: as fields of JSON, or as a GitHub workflow command."""

from typing import Any

from ..check.report import github
from ..check.report.styled_lines import inert, visible
from ..errors import Problem


def fields_of(problem: Problem) -> dict[str, Any]:
    """Return a problem as the JSON fields that ``podberth lint`` and ``podberth test`` print."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "field": problem.where,
        "message": problem.message,
    }


def one_line(problem: Problem, level: str, title: str, file: str = "") -> str:
    """Return ``FILE:LINE:COLUMN: LEVEL: TITLE: FIELD: MESSAGE``, without empty parts.

    ``file`` is for problems without a file.
    """
    parts = (problem.place or file, level, title, problem.where, problem.message)
    return inert(visible(": ".join(filter(None, parts))))


def command(level: str, title: str, problem: Problem, file: str = "") -> str:
    """Return the GitHub workflow command that shows a problem at a line; ``file`` is for problems without a file."""
    return github.command(
        level,
        f"{problem.where}: {problem.message}" if problem.where else problem.message,
        file=(problem.file or file).removeprefix("./"),
        line=str(problem.line or ""),
        col=str(problem.column or ""),
        title=title,
    )
