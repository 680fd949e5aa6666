"""The difference of two documents, for reading: changed YAML lines, each below the keys that lead to it.

A plain unified diff of a pod shows three lines around a change and not where in the pod it is. Here every changed line
stands under its parents (``spec:``, ``containers:``, ``- name: main``, ``resources:``), and all else is left out.
"""

import difflib
import io
import re
from typing import Any

from ruamel.yaml import YAML

_LEADING = re.compile(r"( *)(- )?")


def as_yaml(document: Any) -> str:
    """Write a document as kubectl prints it: blocks, keys in their order, no line folded."""
    emitter = YAML()
    emitter.width = 1_000_000
    text = io.StringIO()
    emitter.dump(document, text)
    return text.getvalue()


def changes(before: Any, after: Any) -> list[str]:
    """Return the lines of the difference, each behind "+", "-" or " "; none where nothing changes."""
    lines = [line for line in difflib.ndiff(_lines(before), _lines(after)) if line[0] != "?"]
    shown: set[int] = set()
    for number, line in enumerate(lines):
        if line[0] in "+-":
            shown.add(number)
            shown.update(_parents(lines, number))
    return [lines[number][0] + lines[number][1:].rstrip() for number in sorted(shown)]


def _lines(document: Any) -> list[str]:
    return as_yaml(document).splitlines()


def _parents(lines: list[str], number: int) -> list[int]:
    """Find the lines that lead to one, nearest first. A removed line has no added parent, and the other way round."""
    found, depth = [], _depth(lines[number])
    for above in range(number - 1, -1, -1):
        foreign = {lines[above][0], lines[number][0]} == {"+", "-"}
        if not foreign and _depth(lines[above]) < depth:
            found.append(above)
            depth = _depth(lines[above])
    return found


def _depth(line: str) -> int:
    """Measure how deep a line is. An element of a list is deeper than the list's key, which has the same indent."""
    leading = _LEADING.match(line, 2)
    indent, dash = (leading[1], leading[2]) if leading else ("", None)
    return 2 * len(indent) + (1 if dash else 0)
