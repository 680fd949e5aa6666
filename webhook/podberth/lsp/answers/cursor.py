"""Finds what stands at a place of a YAML document, also while the document is only half typed.

A mark is put into the text at the place, the reader of ``kube`` parses the text, and the mark is in the key or value at
the place. If the text cannot be parsed, three repairs are tried in turn. The first completes the cursor's line by a
colon, or by a closing quotation mark or bracket. The second leaves out the lines below it. The third puts the cursor's
line into the last text that could be parsed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...kube.documents import load_documents
from ...kube.paths import Path
from ...kube.positions import Positions
from .text import Place, Text

_MARK: Final = "\uf8e1"
"""The mark, a character for private use, which YAML allows in a plain word."""
_NEW_DOCUMENT: Final = re.compile(r"---(?:\s|$)")
# A line on which only a key can be typed: indentation, dashes of list items, the beginning of a word
_BARE: Final = re.compile(r"\s*(?:- +)*[\w./-]*")
_OPENING: Final[Mapping[str, str]] = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The key or the value at a place of a document."""

    document: Mapping[str, Any]
    """The whole document; only a key at the place still has the mark."""
    positions: Positions
    first: int
    """The number of lines of the file above those in which ``positions`` count."""
    path: Path
    """The path of the value; for a key, the path of the object that has the key."""
    key: str | None
    """The key at the place; None if a value is there."""
    value: str
    """The text of the value at the place, a string or a word; empty for a key."""
    offset: int
    """The number of characters of the key or value before the place."""

    @property
    def typed(self) -> str:
        """The part of the key or value before the place."""
        return (self.value if self.key is None else self.key)[: self.offset]

    @property
    def beside(self) -> frozenset[str]:
        """The other keys of the object that has the key at the place."""
        found: Any = self.document
        for step in self.path:
            found = found[step]
        keys = found if isinstance(found, dict) else ()
        return frozenset(key for key in keys if _MARK not in key)


def cursor_at(text: Text, place: Place, good: Text | None = None) -> Cursor | None:
    """Return the key or value at a place; None in a comment, outside the text, or if nothing can be parsed.

    ``good`` is the last text of the document that could be parsed; None if there is none.
    """
    if _MARK in text.content or place.line >= len(text.lines):
        return None
    for lines, number in _texts(text, place, good):
        first, last = _document(lines, number)
        own = lines[first:last]
        for line, colon in _marked(lines[number], place.column):
            own[number - first] = line
            for end in (len(own), number - first + 1):
                found = _parsed("\n".join(own[:end]), first, colon)
                if found is not None:
                    return found
    return None


def _texts(text: Text, place: Place, good: Text | None) -> Iterator[tuple[list[str], int]]:
    """Yield (lines, number of the cursor's line) for the text, and for the last good text with the cursor's line."""
    yield text.lines, place.line
    if good is not None:
        at, taken = _stands_in(place.line, text.lines, good.lines)
        yield [*good.lines[:at], text.line(place.line), *good.lines[at + taken :]], at


def _stands_in(line: int, lines: list[str], good: list[str]) -> tuple[int, int]:
    """Return the place of a line in the lines of the last good text: (number of the line, number of replaced lines).

    Between the first and the last lines that both texts have in common, lines are counted from the first that differs.
    """
    before, after = _common(lines, good)
    if line < before:
        return line, 1
    if line >= len(lines) - after:
        return line + len(good) - len(lines), 1
    changed = len(good) - after - before
    distance = min(line - before, changed)
    return before + distance, int(distance < changed)


def _common(lines: list[str], others: list[str]) -> tuple[int, int]:
    """Return (number of first lines, number of last lines) that two texts have in common, each line counted once."""
    most = min(len(lines), len(others))
    before = next((at for at in range(most) if lines[at] != others[at]), most)
    most -= before
    return before, next((at for at in range(most) if lines[-1 - at] != others[-1 - at]), most)


def _document(lines: list[str], number: int) -> tuple[int, int]:
    """Return (number of the first line, number behind the last line) of the document with the line ``number``."""
    starts = [at for at, line in enumerate(lines) if _NEW_DOCUMENT.match(line)]
    first = max((at for at in starts if at <= number), default=0)
    return first, min((at for at in starts if at > number), default=len(lines))


def _marked(line: str, column: int) -> Iterator[tuple[str, str]]:
    """Yield (line, colon): the cursor's line with the mark, in the forms in which the line may be parsed.

    ``colon`` is the colon that was added behind the mark; empty if none was added.
    """
    before, after = line[:column], line[column:]
    closing = _closing(before)
    if _BARE.fullmatch(before) and not after.strip():
        yield f"{before}{_MARK}:", ":"
    yield f"{before}{_MARK}{after}", ""
    yield f"{before}{_MARK}{closing}", ""
    yield f"{before}{_MARK}:{closing}", ":"
    # A value that YAML reads as something else, such as `!variables.a`, whose beginning is a tag
    key, colon, value = before.partition(": ")
    if colon and "'" not in value and " #" not in value:
        yield f"{key}: '{value}{_MARK}'", ""


def _closing(before: str) -> str:
    """Return the quotation mark and brackets that close what is open at the end of a part of a line."""
    quote, open_brackets = "", ""
    for at, character in enumerate(before):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and (at == 0 or before[at - 1] in " {[,("):
            quote = character
        elif character in _OPENING:
            open_brackets = _OPENING[character] + open_brackets
        elif open_brackets.startswith(character):
            open_brackets = open_brackets[1:]
    return quote + open_brackets


def _parsed(content: str, first: int, colon: str) -> Cursor | None:
    for each in load_documents(content, "", last_wins=True)[0]:
        found = next(_found(each.document, ()), None)
        if found is not None:
            path, key, marked = found
            before, _, after = marked.partition(_MARK)
            text = before + after.removeprefix(colon)
            if key is None:
                _put(each.document, path, text)
            return Cursor(
                document=each.document,
                positions=each.positions,
                first=first,
                path=path,
                key=None if key is None else text,
                value=text if key is None else "",
                offset=len(before),
            )
    return None


def _put(document: Any, path: Path, value: str) -> None:
    """Replace the value at a path of a document."""
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


def _found(value: object, path: Path) -> Iterator[tuple[Path, str | None, str]]:
    """Yield (path, key, text) for each key or value with the mark; the key is None for a value."""
    if isinstance(value, str) and _MARK in value:
        yield path, None, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        if isinstance(step, str) and _MARK in step:
            yield path, step, step
        else:
            yield from _found(part, (*path, step))
