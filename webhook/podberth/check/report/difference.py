"""Shows the difference of two documents: the changed YAML lines, each below the line's parent keys.

A unified diff of a pod shows three lines around a change, and not the path of the change in the pod. In this format,
every changed line follows the lines of the parents (``spec:``, ``containers:``, ``- name: main``, ``resources:``), and
all other lines are left out.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Any

from ...kube.yaml_text import as_yaml

_LEADING = re.compile(r"( *)(- )?")


def difference(before: Any, after: Any) -> list[str]:
    """Return the lines of the difference between two documents as YAML, each with the prefix "+ ", "- " or two blanks.

    The list is empty if the documents are equal.
    """
    lines = list(_compared(as_yaml(before).splitlines(), as_yaml(after).splitlines()))
    shown: set[int] = set()
    for number, line in enumerate(lines):
        if line[0] in "+-":
            shown.add(number)
            shown.update(_parents(lines, number))
    return [lines[number].rstrip() for number in sorted(shown)]


def _compared(before: list[str], after: list[str]) -> Iterator[str]:
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    gone, come = [False] * len(before), [False] * len(after)
    for number, (kind, start, end, new_start, new_end) in enumerate(codes):
        room = codes[number + 1] if number + 1 < len(codes) and codes[number + 1][0] == "equal" else None
        if kind == "insert":
            block = _slid(after, new_start, new_end, room[4] if room else new_end)
            come[block] = [True] * (new_end - new_start)
        elif kind == "delete":
            block = _slid(before, start, end, room[2] if room else end)
            gone[block] = [True] * (end - start)
        elif kind == "replace":
            gone[start:end], come[new_start:new_end] = [True] * (end - start), [True] * (new_end - new_start)
    at = 0
    for line, is_gone in zip(before, gone, strict=True):
        while not is_gone and come[at]:
            yield f"+ {after[at]}"
            at += 1
        yield f"{'-' if is_gone else ' '} {line}"
        at += not is_gone
    yield from (f"+ {line}" for line in after[at:])


def _slid(lines: list[str], start: int, end: int, stop: int) -> slice:
    """Return the range of a block of changed lines, moved down to the position with the smallest indentation.

    The block is ``lines[start:end]``. It may move down by a line if its first line is equal to the line after the
    block, which leaves the difference correct; the end stays at or before ``stop``. An added item of a list is thus
    shown from the item's dash on, and not from the first line that differs from the item before.
    """
    size, best = end - start, start
    for at in range(start + 1, stop - size + 1):
        if lines[at - 1] != lines[at + size - 1]:
            break
        if _depth(f"  {lines[at]}") < _depth(f"  {lines[best]}"):
            best = at
    return slice(best, best + size)


def _parents(lines: list[str], number: int) -> list[int]:
    """Return the indexes of the parent lines of a line in the YAML, nearest first.

    A removed line has no added parents, and an added line has no removed parents. A blank line is no parent, because a
    blank line is part of a text of several lines.
    """
    found, depth = [], _depth(lines[number])
    for above in range(number - 1, -1, -1):
        foreign = {lines[above][0], lines[number][0]} == {"+", "-"}
        if not foreign and lines[above][1:].strip() and _depth(lines[above]) < depth:
            found.append(above)
            depth = _depth(lines[above])
    return found


def _depth(line: str) -> int:
    """Return a number for the depth of a line in the YAML: a higher number for a deeper line.

    An item of a list is deeper than the key of the list, even if both lines have equal indentation.
    """
    leading = _LEADING.match(line, 2)
    indent, dash = (leading[1], leading[2]) if leading else ("", None)
    return 2 * len(indent) + (1 if dash else 0)
