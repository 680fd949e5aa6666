"""The patched documents: the file's own text, edited where policies change it (``kube.edit``)."""

from collections.abc import Sequence

from ...errors import Problem
from ...kube.edit import edited
from ...kube.json_patch import Operation
from ..model import Result
from .results import operations


def render(text: str, file: str, results: Sequence[Result]) -> tuple[str, list[Problem]]:
    """Return a file's text with the changes of its mutated results; byte for byte where there are none.

    A document that cannot be edited in place stays as it is, with a Problem.

    Raises:
        PatchError: a change does not apply to its document.
    """
    wanted: dict[int, list[Operation]] = {}
    sources = {id(result.source): result.source for result in results if result.source and result.verdict == "mutated"}
    for result in results:
        if result.verdict == "mutated":
            wanted.setdefault(id(result.source), []).extend(operations(result))
    return edited(text, file, [(source, wanted[key]) for key, source in sources.items()])
