"""Finds positions in a YAML file: line and column of the value at a path, or of a character inside a string.

``kube.documents`` makes the positions; checks use them to give a problem its position. Lines and columns count from 1;
columns count characters.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from ..errors import Problem
from .paths import Path

# A label's key has 317 characters at most: a prefix of 253, a slash and a name of 63.
_LONGEST_STEP: Final = 320


def render_path(path: Path) -> str:
    """Return a path as text for messages: ``spec.mutations[0].labels[example.com/a]``."""
    text = ""
    for step in path:
        if isinstance(step, str) and len(step) > _LONGEST_STEP:
            text += f"[{step[:_LONGEST_STEP]}…]"
        elif isinstance(step, int) or not step.isidentifier():
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


class Position(NamedTuple):
    """A line and a column in a file; both count from 1."""

    line: int
    column: int


class PlacedPart(NamedTuple):
    """An entry of an object or an item of a list: the place of its value, and the offsets of its text.

    For a value from an alias or a merge key, ``place`` is where the anchor's value is written. ``start`` and ``end``
    are always the offsets of the entry itself.
    """

    position: Position
    """The position of the key, or of the item if the container is a list."""
    place: "Place"
    start: int
    """The offset of the key's first character. In a list: the offset of the item's first character, behind the dash."""
    key_end: int
    """The offset behind the key. In a list: equal to ``start``."""
    end: int
    """The offset behind the value, or behind the alias that stands for the value."""


@dataclass(slots=True, kw_only=True)
class Place:
    """The position, offsets and style of a value in a YAML text, with the positions of the value's parts.

    The YAML parser creates the object, and nothing changes the object afterwards.
    """

    position: Position
    chunk: "Chunk"
    index: int
    """The offset of the value's first character (or of the value's anchor) in the chunk's text."""
    end: int = 0
    """The offset behind the value's last character, without comments and blank lines after the value."""
    style: str = ""
    """The quoting of a scalar: ``'``, ``"``, ``|``, ``>``, or empty for a plain scalar. ``{`` for a collection in flow
    style."""
    tag: str = ""
    """The tag, such as ``!x``; empty if there is no tag."""
    value: str | None = None
    """The value of a scalar that is a string; else None."""
    parts: dict[str | int, PlacedPart] = field(default_factory=dict)
    """The parts of an object or list by key or index, in the text's order."""
    merges: list[PlacedPart] = field(default_factory=list)
    """The merge keys (``<<``) of an object."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a YAML file, from one ``---`` to the next: usually one document."""

    text: str
    lines_before: int
    """The number of lines of the file before this part."""


# The characters that one escape of a double-quoted scalar takes, backslash included. YAML 1.2.2, 5.7
_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}
# YAML 1.1, https://yaml.org/type/bool.html, without true and false
_BOOLEAN_WORD = re.compile("(?i:y|n|yes|no|on|off)")
_BLANK_ESCAPES = "tnrvf LP_N\t\n\r"
"""The characters that mean a blank after a backslash; a line break after a backslash stands for no character."""


def _count_solid(value: str, line: int, column: int) -> tuple[int, int]:
    """Return (number of non-blank characters before a place in ``value``, distance) for the method ``within``.

    ``line`` and ``column`` of the place count from 1. If the character at the place is not blank, the distance is 0. If
    it is blank, the distance is the number of columns from the last non-blank character before it. If that last
    character is in an earlier line, the distance is 1.
    """
    lines = value.split("\n")
    line = min(max(line, 1), len(lines))
    here = lines[line - 1]
    column = min(max(column, 1), len(here) + 1)
    head = "\n".join([*lines[: line - 1], here[: column - 1]])
    solid = sum(not character.isspace() for character in head)
    if column <= len(here) and not here[column - 1].isspace():
        return solid, 0
    blanks = head[len(head.rstrip()) :]
    return solid, 1 if "\n" in blanks else 1 + len(blanks)


def _solid(place: Place) -> Iterator[Position]:
    """Yield the position in the file of each non-blank character in the text of a scalar."""
    text, style = place.chunk.text, place.style
    line, column = place.position
    index = place.index
    if style in ("|", ">"):  # the header line: indicator, indentation, chomping, a comment
        header = text.find("\n", index)
        index, line, column = len(text) if header < 0 else header + 1, line + 1, 1
    elif style in ("'", '"'):
        index, column = index + 1, column + 1
    while index < len(text):
        length, solid = _unit(text, index, style)
        if solid:
            yield Position(line, column)
        for character in text[index : index + length]:
            line, column = (line + 1, 1) if character == "\n" else (line, column + 1)
        index += length


def _unit(text: str, index: int, style: str) -> tuple[int, bool]:
    """Return (length of the character or escape at ``index`` in ``text``, whether it is a non-blank character).

    ``style`` is the quotation mark of the scalar: quotation marks of each kind have their own escapes.
    """
    pair = text[index : index + 2]
    if style == "'" and pair == "''":
        return 2, True
    if style == '"' and pair.startswith("\\") and len(pair) == len("\\n"):
        return _escape(text, index)
    return 1, not pair[0].isspace()


def _escape(text: str, index: int) -> tuple[int, bool]:
    kind = text[index + 1]
    length = _ESCAPE_LENGTHS.get(kind)
    if length is None:
        return 2, kind not in _BLANK_ESCAPES
    code = text[index + 2 : index + length]
    if kind == "u" and code[:2].lower() in ("d8", "d9", "da", "db"):
        return 2 * length, True  # the first half of a surrogate pair in JSON's form
    return length, not chr(int(code, 16)).isspace()


class Positions:
    """The positions of the values in a document, computed when a position is first needed."""

    def __init__(self, load: Callable[[], Place]) -> None:
        """Create the object. ``load`` returns the place of the whole document; it is called when it is first needed."""
        self._load = load

    @cached_property
    def root(self) -> Place:
        """The place (position, offsets, style) of the whole document."""
        return self._load()

    def at(self, path: Path) -> Position:
        """Return the position of the value at ``path``; without a value, the position of the nearest parent's key."""
        here, missing, key = self._find(path)
        return key if missing else here.position

    def tagged(self) -> Iterator[tuple[Path, str]]:
        """Yield (path, tag) for each value with a tag in the text, such as ``!x``."""
        waiting: list[tuple[Path, Place]] = [((), self.root)]
        while waiting:
            path, place = waiting.pop()
            if place.tag.startswith("!"):
                yield path, place.tag
            waiting += [((*path, step), part.place) for step, part in place.parts.items()]

    def boolean_word(self, path: Path) -> str:
        """Return the word that YAML 1.1 reads as a boolean at ``path``, such as ``yes``; empty for any other text."""
        place, missing, _ = self._find(path)
        text = "" if missing else place.chunk.text[place.index : place.end]
        return text if _BOOLEAN_WORD.fullmatch(text) else ""

    def key(self, path: Path) -> Position:
        """Return the position of the last key or list item of ``path``.

        If it is absent, the result is the position of the nearest parent's key.
        """
        return self._find(path)[2]

    def problem(self, file: str, path: Path, message: str, *, of_key: bool = False) -> Problem:
        """Return a Problem in ``file`` at the value of ``path``; with ``of_key``, at the key of ``path``."""
        return Problem(file, *(self.key(path) if of_key else self.at(path)), render_path(path), message)

    def within(self, path: Path, line: int, column: int) -> Position:
        """Return the position in the file of a line and column in the string at ``path``.

        If the line and column are outside the string, the result is the nearest position. ``line`` and ``column`` count
        from 1. The result is exact for every non-blank character in every style of scalar: folding, indentation and
        escapes change only blanks, so the non-blank characters of value and source match one to one. A blank is placed
        right behind the character before it. An escape is one character of the value, at the position of the backslash.
        If the value is no string, the result is the value's start.
        """
        place, missing, last = self._find(path)
        if missing:
            return last
        before, distance = _count_solid(place.value or "", line, column)
        last = place.position
        for count, position in enumerate(_solid(place)):
            if count == before and distance == 0:
                return position
            if count == before - 1:
                last = Position(position.line, position.column + distance)
                if distance:
                    return last
        return last

    def _find(self, path: Path) -> tuple[Place, bool, Position]:
        here = self.root
        key = here.position
        for step in path:
            if step not in here.parts:
                return here, True, key
            key, here = here.parts[step][:2]
        return here, False, key
