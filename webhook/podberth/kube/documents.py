"""Parses YAML text (and so JSON) to plain documents, with the position of every value.

One file may hold many documents; empty documents are skipped. Each error becomes a Problem at the position of the
error, and the correct documents are still returned. Values are the values that kubectl would send. Duplicate keys are
refused, unless the caller asks for the last value of each key. No function here interprets a document.

Some YAML is refused, because parsers disagree about it or because no Kubernetes object needs it: keys that are null,
lists or fractions; NaN; aliases that enlarge the document without bound. A merge key (``<<``) is refused if it copies a
key that stands before it: in some parsers the copied value wins, and in others the first value.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ..errors import Problem
from .json_text import read_object
from .mishaps import mishap
from .positions import Chunk, Place, Position, Positions

if TYPE_CHECKING:
    from .yaml_parser import Composed

MOST_PROBLEMS: Final = 1_000
"""The most problems of one file that are reported: a file of 50 MB had a million."""
MOST_DOCUMENTS: Final = 100_000
"""The most documents of one file: parsing them takes 5 s and 200 MB. kubectl prints a single document, a List, for any
number of objects.
"""
_MOST_REPEATED: Final = 40
"""The most duplicate keys of one document that are reported: more than a screen."""
# Such a line always begins a document, because no scalar may contain it. YAML 1.2.2, 9.1.2 (c-forbidden)
_DOCUMENT_START = re.compile(r"^\ufeff?(?=---(?:\s|$))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PositionedDocument:
    """A document as plain dicts and lists, with the positions of all parts of the document."""

    document: dict[str, Any]
    positions: Positions
    repeated: tuple[Problem, ...] = ()
    """The duplicate keys of the document, if the caller of ``load_documents`` asked for the last value of each."""


def load_documents(text: str, file: str, *, last_wins: bool = False) -> tuple[list[PositionedDocument], list[Problem]]:
    """Return (documents of ``text``, sorted problems); ``file`` is the file's name in the problems.

    A document with a problem is left out; all other documents are returned. A duplicate key is a problem. With
    ``last_wins``, the last value of a duplicate key counts, as for kubectl, and the document's attribute ``repeated``
    has the problem. Parts that an alias repeats are shared: treat the documents as read-only.
    """
    # YAML reads every line break as \n (1.2.2, 5.4), so lines and columns stay what they were
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    quick = read_object(text)
    if quick is not None:
        return [PositionedDocument(quick, Positions(lambda: _composed(Chunk(text, 0))[0].place))], []
    documents: list[PositionedDocument] = []
    problems: list[Problem] = []
    starts = [match.start() for match in islice(_DOCUMENT_START.finditer(text), MOST_DOCUMENTS + 1)]
    if len(starts) > MOST_DOCUMENTS:
        line = text.count("\n", 0, starts[-1]) + 1
        message = f"got more than {MOST_DOCUMENTS:,} documents, want that at most; split the file, or write a List"
        return [], [Problem(file, line, 1, "", message)]
    for chunk in _chunks(text, starts):
        composed = _composed(chunk)
        wrong = [each for one in composed for each in (one.wrong if last_wins else [*one.wrong, *one.repeated])]
        if wrong:
            wrong = mishap(chunk, wrong) or wrong
            problems += _problems(file, wrong)
        documents += [
            PositionedDocument(one.value, _positions(one.place), _first(_problems(file, one.repeated), _MOST_REPEATED))
            for one in composed
            if isinstance(one.value, dict) and not one.wrong and (last_wins or not one.repeated)
        ]
    return documents, list(_first(sorted(problems), MOST_PROBLEMS))


def _problems(file: str, wrong: Iterable[tuple[Position, str]]) -> list[Problem]:
    return [Problem(file, *position, "", message) for position, message in wrong]


def _first(problems: Sequence[Problem], most: int) -> tuple[Problem, ...]:
    """Return the first ``most`` problems. If there are more, a further problem with the number of problems is added."""
    if len(problems) <= most:
        return tuple(problems)
    last = problems[most]
    more = f"got {len(problems):,} problems, of which {most:,} are shown; fix these first"
    return (*problems[:most], Problem(last.file, last.line, last.column, "", more))


def _positions(place: Place) -> Positions:
    return Positions(lambda: place)


def _chunks(text: str, marks: Iterable[int]) -> Iterator[Chunk]:
    """Yield the parts of a YAML text between the offsets ``marks``, without parts that have no document.

    Each part is parsed by itself, so a syntax error affects only the part that has the error.
    """
    starts = [0, *filter(None, marks)]
    line = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end].removeprefix("\ufeff")
        if not all(entry.startswith(("%", "#")) or not entry.strip() for entry in part.split("\n")):
            yield Chunk(part, line)
        line += text.count("\n", start, end)


def _composed(chunk: Chunk) -> "list[Composed]":
    """Return the parsed documents of a part of a YAML file, usually one."""
    from .yaml_parser import compose  # noqa: PLC0415 - importing PyYAML takes 14 ms, and JSON does without

    return compose(chunk)
