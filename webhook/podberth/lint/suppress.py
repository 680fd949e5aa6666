"""Reads comments that suppress a lint rule: ``# podberth-lint: disable=RULE[,RULE] reason``.

A comment behind a value, or on a line of its own above the value, applies to the value and everything nested in the
value. A comment above or behind the first key of a document applies to the whole document. The reason is required: a
comment without a reason suppresses nothing. This module reads only the text.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..errors import Problem

_COMMENT = re.compile(r"(?:^|(?<=\s))#\s*podberth-lint:\s*(?P<rest>[^\n]*)")
_DISABLE = re.compile(r"disable=(?P<rules>[a-z][a-z,-]*)(?:\s+(?P<reason>\S.*))?")
_KEY = re.compile(r"\s*(?:- )*[^\s#'\"].*?:(?:\s+[|>][-+0-9]*)?\s*(?:#.*)?$")
_DOCUMENT = "---"


@dataclass(frozen=True, slots=True)
class Suppression:
    """The rules that a comment suppresses on a range of lines."""

    rules: frozenset[str]
    first: int
    last: int

    def covers(self, rule: str, line: int) -> bool:
        """Return whether the comment suppresses a finding of the rule ``rule`` at ``line``."""
        return rule in self.rules and self.first <= line <= self.last


def suppressions(text: str, file: str, known: Collection[str]) -> tuple[list[Suppression], list[Problem]]:
    """Return (the suppressions in a file's comments, the problems of the comments).

    ``file`` is the name of the file in problems; ``known`` has the names of all rules.
    """
    lines = text.splitlines()
    found: list[Suppression] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        wrong = _wrong(comment["rest"], known)
        if wrong:
            problems.append(Problem(file, number + 1, comment.start() + 1, "", wrong))
            continue
        asked = _DISABLE.match(comment["rest"])
        rules = frozenset(asked["rules"].split(",")) if asked else frozenset[str]()
        alone = not line[: comment.start()].strip()
        start = _next(lines, number) if alone else number
        if start is not None:
            found.append(Suppression(rules, start + 1, _end(lines, start) + 1))
    return found, problems


def _wrong(rest: str, known: Collection[str]) -> str:
    asked = _DISABLE.match(rest)
    if asked is None:
        return f"got {rest.strip()!r}, want disable=RULE and the reason"
    unknown = [rule for rule in asked["rules"].split(",") if rule not in known]
    if unknown:
        return f"got the rule {unknown[0]!r}, want one of {', '.join(sorted(known))}"
    return "" if asked["reason"] else "got no reason, want one behind the rule, for later readers"


def _next(lines: list[str], number: int) -> int | None:
    """Return the index of the next line after ``lines[number]`` that has a value; None if there is none.

    Blank lines, comments and document markers have no value.
    """
    for at in range(number + 1, len(lines)):
        text = lines[at].strip()
        if text and not text.startswith("#") and text != _DOCUMENT:
            return at
    return None


def _end(lines: list[str], start: int) -> int:
    """Return the index of the last line of the value that starts in ``lines[start]``.

    Further lines of the value have a larger indent than its first line, or are items of a list at the same indent. If
    the value belongs to the document's first key, the result is the index of the document's last line.
    """
    whole = _indent(lines[start]) == 0 and all(_blank(line) for line in _above(lines, start))
    depth = _indent(lines[start])
    opens = _KEY.match(lines[start]) is not None
    last = start
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if line.startswith(_DOCUMENT):
            break
        if _blank(line):
            continue
        # Items of a list may have the same indent as the key above them
        inside = _indent(line) > depth or (opens and _indent(line) == depth and line.strip().startswith("- "))
        if not whole and not inside:
            break
        last = at
    return last


def _above(lines: list[str], start: int) -> Iterator[str]:
    for at in range(start - 1, -1, -1):
        if lines[at].startswith(_DOCUMENT):
            return
        yield lines[at]


def _blank(line: str) -> bool:
    return not line.strip() or line.strip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
