"""Writes the patched files: each file's text, edited only where policies change an object (``kube.edit``)."""

from collections.abc import Sequence

from ...errors import Problem
from ...kube.edit import edited
from ..result import Result
from .results import operations


def render(text: str, file: str, results: Sequence[Result]) -> tuple[str, list[Problem]]:
    """Return (a file's text with the changes of the results with the verdict "mutated", the problems of the changes).

    A document that cannot be edited in place is unchanged, and the problems have a Problem about the document.

    Raises:
        PatchError: a change does not apply to the document.
    """
    mutated = [result for result in results if result.verdict == "mutated" and result.source]
    sources = {id(result.source): result.source for result in mutated if result.source}
    wanted = [
        (source, operations([each for result in mutated if result.source is source for each in result.changes]))
        for source in sources.values()
    ]
    return edited(text, file, wanted)
