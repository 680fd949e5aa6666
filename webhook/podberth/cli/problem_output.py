"""Writes a problem in a document for other programs: as fields of JSON, or as a GitHub workflow command."""

from typing import Any

from ..check.report.github import escaped, escaped_property
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


def command(level: str, title: str, problem: Problem, file: str = "") -> str:
    """Return the GitHub workflow command that shows a problem at a line; ``file`` is for problems without a file."""
    properties = {
        "file": (problem.file or file).removeprefix("./"),
        "line": str(problem.line or ""),
        "col": str(problem.column or ""),
        "title": title,
    }
    listed = ",".join(f"{key}={escaped_property(value)}" for key, value in properties.items() if value)
    about = f"{problem.where}: " if problem.where else ""
    return f"::{level} {listed}::{escaped(about + problem.message)}"
