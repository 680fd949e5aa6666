"""YAML as people and tools mostly write it, read by lines: some thirty times as fast as a parser of all YAML.

Block mappings and lists, scalars of one line, block scalars, flow collections within a line. Where a text has anything
else, or anything wrong, nothing is returned, and ``documents`` reads it with the whole parser: so nothing is decided
here that the parser would decide differently, which the tests hold against it.
"""

import re
from typing import Any, Final

from .positions import Chunk, Part, Place, Position
from .scalars import resolve

Read = tuple[Any, Place]

_DEEPEST: Final = 50
# A line break of YAML beside \n, a tab, a control character, a byte order mark, half a surrogate pair
_STRANGE: Final = re.compile(
    "[^\\n\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]"
)
_START: Final = re.compile(r"---[ ]*(?:#.*)?")
_QUOTED: Final = r"""(?:"[^"\\]*"|'[^']*')"""
_KEY: Final = re.compile(rf"([A-Za-z_][A-Za-z0-9_./-]{{0,250}}|{_QUOTED})[ ]*:(?=[ ]|$)")
_COMMENT: Final = r"[ ]*(?:(?<=[ ])#.*)?$"
# What a plain scalar may start with, and how it goes on: no ": ", no " #"
_PLAIN: Final = re.compile(
    r"((?:[^ \-?:,\[\]{}#&*!|>'\"%@`]|-(?=[^ ]))(?:[^:# ]|:(?=[^ ])|#|[ ]+(?=[^# ]))*)" + _COMMENT
)
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\["\\nt])*)"' + _COMMENT)
_SINGLE: Final = re.compile(r"'((?:[^']|'')*)'" + _COMMENT)
_ESCAPE: Final = re.compile(r'\\(["\\nt])')
_ESCAPED: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_BLOCK: Final = re.compile(r"([|>])(-?)" + _COMMENT)
_REST: Final = re.compile(_COMMENT)
# Inside a flow collection neither indicators nor colons are let pass
_FLOW_WORD: Final = re.compile(r"[A-Za-z0-9_./+@$=-][A-Za-z0-9_./+@$=-]*|" + _QUOTED)


class _NotPlainError(Exception):
    """Something for the whole parser."""


def read_block(chunk: Chunk) -> Read | None:
    """Return the one object that a chunk holds and its place; None where it holds anything else."""
    if _STRANGE.search(chunk.text):
        return None
    reader = _Reader(chunk)
    try:
        return reader.document()
    except _NotPlainError:
        return None


class _Reader:
    """Reads line after line. ``column`` is where what is still to be read of the line starts, from 0."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._lines = chunk.text.split("\n")
        self._line = -1
        self._offset = 0
        """Of the line's first character in the chunk."""
        self._text = ""
        self._column = -1
        """-1: there is no further line."""
        self._depth = 0

    def document(self) -> Read:
        self._line, self._text = 0, self._lines[0]
        if self._text.startswith("---"):
            if not _START.fullmatch(self._text):
                raise _NotPlainError
            self._next()
        elif self._text.startswith("%"):
            raise _NotPlainError
        else:
            self._settle()
        if self._column < 0 or not _KEY.match(self._text, self._column):
            raise _NotPlainError
        found = self._mapping()
        if self._column >= 0:
            raise _NotPlainError
        return found

    # ---- lines -------------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        """Go to the next line that holds something."""
        self._offset += len(self._text) + 1
        self._line += 1
        if self._line < len(self._lines):
            self._text = self._lines[self._line]
        self._settle()

    def _settle(self) -> None:
        """Go on to the first line from here that is neither empty nor a comment."""
        lines, line, offset = self._lines, self._line, self._offset
        last = len(lines)
        while line < last:
            text = lines[line]
            bare = text.lstrip(" ")
            if bare and bare[0] != "#":
                if text.startswith(("---", "...")):
                    raise _NotPlainError
                self._line, self._offset, self._text, self._column = line, offset, text, len(text) - len(bare)
                return
            offset += len(text) + 1
            line += 1
        self._line, self._offset, self._text, self._column = last, offset, "", -1

    def _place(self, column: int) -> Place:
        position = Position(self._chunk.lines_before + self._line + 1, column + 1)
        index = self._offset + column
        return Place(position=position, chunk=self._chunk, index=index, end=index)

    # ---- block collections -------------------------------------------------------------------------------------------

    def _mapping(self) -> Read:
        """Read the mapping whose first key stands at the cursor; ends at the first line further left."""
        indent = self._column
        self._enter()
        here = self._place(indent)
        place = here
        items: dict[str, Any] = {}
        while self._column == indent:
            found = _KEY.match(self._text, indent)
            if found is None:
                raise _NotPlainError
            word = found[1]
            key = word[1:-1] if word[0] in "\"'" else word
            if key in items or (key is word and resolve(word) is not word):
                raise _NotPlainError
            position = Position(self._chunk.lines_before + self._line + 1, indent + 1)
            start = self._offset + indent
            items[key], place = self._value(found.end(), indent, of_key=True)
            here.parts[key] = Part(position, place, start, start + len(word), place.end)
        here.end = place.end
        if self._column > indent:
            raise _NotPlainError
        self._depth -= 1
        return items, here

    def _sequence(self) -> Read:
        """Read the list whose first dash stands at the cursor; ends at the first line that is no item of it."""
        indent = self._column
        self._enter()
        here = self._place(indent)
        place = here
        items: list[Any] = []
        while self._column == indent and self._is_item():
            value, place = self._value(indent + 1, indent, of_key=False)
            here.parts[len(items)] = Part(place.position, place, place.index, place.index, place.end)
            items.append(value)
        here.end = place.end
        if self._column > indent:
            raise _NotPlainError
        self._depth -= 1
        return items, here

    def _is_item(self) -> bool:
        return self._text[self._column] == "-" and self._text[self._column + 1 : self._column + 2] in ("", " ")

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotPlainError

    def _value(self, start: int, indent: int, *, of_key: bool) -> Read:
        """Read what follows a colon or a dash that ends before ``start``, in a line whose level is ``indent``."""
        text = self._text
        if _REST.match(text, start):
            return self._below(start, indent, of_key=of_key)
        column = start
        while text[column] == " ":
            column += 1
        if not of_key:
            self._column = column
            if self._is_item():
                return self._sequence()
            if _KEY.match(text, column):
                return self._mapping()
        found = self._scalar(column, indent)
        if self._column > indent:  # a scalar of several lines
            raise _NotPlainError
        return found

    def _below(self, start: int, indent: int, *, of_key: bool) -> Read:
        """Read the collection in the lines below; where there is none, null."""
        empty = self._place(start)
        self._next()
        if self._column > indent:
            if self._is_item():
                return self._sequence()
            if _KEY.match(self._text, self._column):
                return self._mapping()
            raise _NotPlainError
        if of_key and self._column == indent and self._is_item():
            return self._sequence()
        return None, empty

    # ---- scalars -----------------------------------------------------------------------------------------------------

    def _scalar(self, column: int, indent: int) -> Read:
        text = self._text
        place = self._place(column)
        first = text[column]
        if first in "|>":
            return self._block(column, indent, place)
        if first in "[{":
            value, end = self._flow(column, place)
            if not _REST.match(text, end):
                raise _NotPlainError
            place.end = self._offset + end
        else:
            value = _inline(text, column, place)
        self._next()
        return value, place

    def _block(self, column: int, indent: int, place: Place) -> Read:
        header = _BLOCK.match(self._text, column)
        lines, line = self._lines, self._line + 1
        if header is None or line >= len(lines):
            raise _NotPlainError
        depth = len(lines[line]) - len(lines[line].lstrip(" "))
        if depth <= indent or depth == len(lines[line]):
            raise _NotPlainError
        content: list[str] = []
        while line < len(lines):
            text = lines[line]
            if not text.strip(" "):
                if len(text) > depth:
                    raise _NotPlainError
                content.append("")
            elif text.startswith(" " * depth):
                content.append(text[depth:])
            elif len(text) - len(text.lstrip(" ")) > indent:
                raise _NotPlainError
            else:
                break
            line += 1
        while not content[-1]:
            content.pop()
        text = lines[self._line + len(content)].rstrip(" ")
        place.end = (
            self._offset + sum(len(each) + 1 for each in lines[self._line : self._line + len(content)]) + len(text)
        )
        value = _folded(content) if header[1] == ">" else "\n".join(content)
        if not header[2] and self._line + len(content) + 1 < len(lines):
            value += "\n"
        place.style, place.value = header[1], value
        self._offset += sum(len(each) + 1 for each in lines[self._line : line])
        self._line = line
        self._settle()
        return value, place

    # ---- flow collections of one line --------------------------------------------------------------------------------

    def _flow(self, column: int, place: Place) -> tuple[Any, int]:
        """Read the collection that starts at a column; return it and where it ends."""
        self._enter()
        text = self._text
        closing = "]" if text[column] == "[" else "}"
        items: dict[str | int, Any] = {}
        place.style = "{"
        column = self._blank(column + 1)
        while text[column] != closing:
            key: str | int = len(items)
            start, length = column, 0
            if closing == "}":
                key, length, column = self._flow_key(column, items)
            part = self._place(column)
            if text[column] in "[{":
                items[key], column = self._flow(column, part)
                part.end = self._offset + column
            else:
                word = _FLOW_WORD.match(text, column)
                if word is None:
                    raise _NotPlainError
                items[key] = _word(word[0], part)
                column = word.end()
            first = self._offset + start
            place.parts[key] = Part(self._place(start).position, part, first, first + length, part.end)
            column = self._blank(column)
            if text[column] == ",":
                column = self._blank(column + 1)
            elif text[column] != closing:
                raise _NotPlainError
        self._depth -= 1
        return (items if closing == "}" else list(items.values())), column + 1

    def _flow_key(self, column: int, items: dict[str | int, Any]) -> tuple[str, int, int]:
        found = _KEY.match(self._text, column)
        if found is None or self._text[found.end() - 2] == " ":
            raise _NotPlainError
        key = _word(found[1], self._place(column))
        if not isinstance(key, str) or key in items:
            raise _NotPlainError
        return key, len(found[1]), self._blank(found.end())

    def _blank(self, column: int) -> int:
        """Return where the next character that is no blank stands."""
        while self._text[column : column + 1] == " ":
            column += 1
        if column >= len(self._text):
            raise _NotPlainError
        return column


def _word(word: str, place: Place) -> Any:
    """Return the value of a scalar in a flow collection."""
    place.end = place.index + len(word)
    if word[0] in "\"'":
        place.style, place.value = word[0], word[1:-1]
        return word[1:-1]
    if word == "-":
        raise _NotPlainError
    return _plain(word, place)


def _inline(text: str, column: int, place: Place) -> Any:
    """Return the value of a scalar that fills the rest of its line but for a comment."""
    first = text[column]
    if first == '"':
        found = _DOUBLE.match(text, column)
        if found is not None:
            value = found[1]
            if "\\" in value:
                value = _ESCAPE.sub(lambda match: _ESCAPED[match[1]], value)
            place.style, place.value, place.end = first, value, place.index + found.end(1) + 1 - column
            return value
    elif first == "'":
        found = _SINGLE.match(text, column)
        if found is not None:
            place.style, place.value = first, found[1].replace("''", "'")
            place.end = place.index + found.end(1) + 1 - column
            return place.value
    else:
        found = _PLAIN.match(text, column)
        if found is not None and not found[1].endswith(":"):
            place.end = place.index + len(found[1])
            return _plain(found[1], place)
    raise _NotPlainError


def _plain(text: str, place: Place) -> Any:
    value = resolve(text)
    if isinstance(value, float):  # not all of them are numbers to JSON
        raise _NotPlainError
    if isinstance(value, str):
        place.value = value
    return value


def _folded(lines: list[str]) -> str:
    """Fold lines: a break becomes a blank, of several all but the first stay, and those beside an indented line all.

    YAML 1.2.2, 8.1.3.
    """
    text, last = lines[0], lines[0]
    breaks = 0
    for line in lines[1:]:
        if not line:
            breaks += 1
            continue
        flush = last[0] != " " and line[0] != " "
        text += ("\n" * breaks or " ") if flush else "\n" * (breaks + 1)
        text += line
        last, breaks = line, 0
    return text
