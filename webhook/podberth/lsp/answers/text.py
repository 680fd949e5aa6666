"""The lines of a document, and places in them: conversions between editor, characters and problems.

Only a line feed, a carriage return, or both end a line, as in the protocol and in the YAML reader.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from ...errors import Problem

Units: TypeAlias = Callable[[str], int]
"""A function that returns the length of a text in the units in which the editor counts columns."""

# The text that a problem is about, from the problem's position on: a quoted text, a word, or one character
_ABOUT: Final = re.compile(r'"(?:\\.|[^"\\])*"?|\'(?:\'\'|[^\'])*\'?|[\w.-]+|\S')
_WORD: Final = re.compile(r"\w+")


class Place(NamedTuple):
    """A place between two characters; line and column count from 0, and columns count characters."""

    line: int
    column: int


class Range(NamedTuple):
    """The characters from ``start`` to before ``end``."""

    start: Place
    end: Place


class Text:
    """The text of a document."""

    def __init__(self, content: str) -> None:
        """Create the object from the text as the editor has it."""
        self.content = content.replace("\r\n", "\n").replace("\r", "\n")
        """The text, in which a line feed ends each line."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; there is at least one."""
        return self.content.split("\n")

    def line(self, number: int) -> str:
        """Return a line; empty if the text has no such line."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def of_editor(self, line: int, column: int, units: Units) -> Place:
        """Return the place at a position of the editor; a position behind the end of its line is the line's end."""
        text = self.line(line)
        taken = 0
        for index, character in enumerate(text):
            if taken >= column:
                return Place(line, index)
            taken += units(character)
        return Place(line, len(text))

    def to_editor(self, place: Place, units: Units) -> tuple[int, int]:
        """Return (line, column) of a place in the units of the editor."""
        return place.line, units(self.line(place.line)[: place.column])

    def about(self, problem: Problem) -> Range:
        """Return the range of the text that a problem is about; the first line if it is about the whole document."""
        if not problem.line:
            return Range(Place(0, 0), Place(0, len(self.line(0))))
        line = min(problem.line, len(self.lines)) - 1
        text = self.line(line)
        start = min(problem.column - 1, len(text))
        found = _ABOUT.match(text, start)
        return Range(Place(line, start), Place(line, found.end() if found else start))

    def word(self, place: Place) -> Range:
        """Return the range of the word at a place; an empty range if no word is there."""
        return word_in(self.line(place.line), place)


def word_in(line: str, place: Place) -> Range:
    """Return the range of the word around a column of a line; an empty range if no word is there."""
    for found in _WORD.finditer(line):
        if found.start() <= place.column <= found.end():
            return Range(Place(place.line, found.start()), Place(place.line, found.end()))
    return Range(place, place)
