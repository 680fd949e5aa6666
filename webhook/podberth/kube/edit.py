"""Applies a JSON Patch to YAML text and keeps comments, order, quoting, indentation, anchors and line ends.

A document without changes is returned byte for byte; otherwise only the lines of changed values differ. The text is
edited at the positions of the changed values. Each result is checked: the new text is parsed again and has to equal the
document after the operations. Otherwise the result is a Problem, and the text is unchanged.

The text is edited in place because a YAML library changes more when it writes a document: ruamel.yaml unifies the
indentation of a file, folds long lines, drops spaces before comments, and does not know kubectl's booleans (an unquoted
``on``).
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..errors import Problem
from .documents import PositionedDocument, load_documents
from .json_patch import Operation, edit, same
from .positions import Chunk
from .splice import Splice, splices

_BREAK = re.compile(r"\r\n|\r|\n")


def edited(
    text: str, file: str, wanted: Sequence[tuple[PositionedDocument, Sequence[Operation]]]
) -> tuple[str, list[Problem]]:
    """Return (``text`` with its documents edited, a Problem for each document that cannot be edited in place).

    A document with a Problem keeps its text.

    Args:
        text: the YAML text.
        file: the name of the file, for the Problems.
        wanted: pairs of a document to edit, parsed from ``text``, and the operations to apply to the document.

    Raises:
        PatchError: an operation does not apply.
    """
    places: list[Splice] = []
    problems: list[Problem] = []
    lines = _Lines(text)
    for source, operations in wanted:
        new = edit(source.document, operations, lambda _path, _value: None)
        if same(new, source.document):
            continue
        root = source.positions.root
        found = splices(root, source.document, new)
        if _proved(root.chunk, found, root.index, new):
            places += lines.placed(root.chunk, found)
        else:
            message = "the changes cannot be written into this text and leave the rest of it; got a rare form of YAML, "
            problems.append(Problem(file, *root.position, "", message + "want blocks or JSON; rewrite the document"))
    return applied(text, sorted(places, key=lambda each: each.start)), problems


def applied(text: str, found: Sequence[Splice]) -> str:
    """Return ``text`` with the replacements ``found`` made; ``found`` is sorted by offset, without overlaps."""
    parts: list[str] = []
    at = 0
    for each in found:
        parts += [text[at : each.start], each.text]
        at = each.end
    return "".join([*parts, text[at:]])


def _proved(chunk: Chunk, found: Sequence[Splice], root: int, new: Mapping[str, Any]) -> bool:
    """Return whether the edit changes only the document with the index ``root``, and makes it equal to ``new``.

    ``found`` are the splices of the edit. All documents of the text are parsed before and after the edit, and compared.
    """
    if any(one.end > other.start for one, other in pairwise(found)):
        return False
    documents, problems = load_documents(applied(chunk.text, found), "", last_wins=True)
    if problems:
        return False
    if len(documents) == 1:
        return same(documents[0].document, new)
    before, _ = load_documents(chunk.text, "", last_wins=True)
    expected = [new if each.positions.root.index == root else each.document for each in before]
    return same([each.document for each in documents], expected)


class _Lines:
    """Translates offsets in the text of one document, whose lines end in line feeds, to offsets in the file's text."""

    def __init__(self, text: str) -> None:
        breaks = list(_BREAK.finditer(text))
        self._starts = [0, *(match.end() for match in breaks)]
        self._break = breaks[0][0] if breaks else "\n"
        self._text = text

    def placed(self, chunk: Chunk, found: Sequence[Splice]) -> list[Splice]:
        """Return the text replacements ``found`` of a document, with the offsets and line ends of the file."""
        starts = [0, *(match.end() for match in re.finditer("\n", chunk.text))]
        first = self._starts[chunk.lines_before]
        mark = 1 if self._text.startswith("\ufeff", first) else 0

        def offset(at: int) -> int:
            line = bisect_right(starts, at) - 1
            return self._starts[chunk.lines_before + line] + at - starts[line] + (mark if line == 0 else 0)

        return [Splice(offset(each.start), offset(each.end), each.text.replace("\n", self._break)) for each in found]
