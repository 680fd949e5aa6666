"""Writes plain documents as YAML text: block style in kubectl's format, or flow style in the format of JSON and KYAML.

A string is quoted if kubectl or any other YAML parser would read the unquoted text as something else.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .scalars import resolve

# Characters that no YAML 1.1 parser reads as punctuation at these places, and a colon that no blank follows
_PLAIN = re.compile(r"(?!\.\.\.)[\w./](?:[\w./@%+=~^$()<>;-]|:(?=[\w/])| (?=[\w./@%+=~^$()<>;]))*")
_KEY = re.compile(r"[^\W\d][\w./-]*")
# Dates and sexagesimal numbers are strings to kubectl, but not to every parser. YAML 1.1, timestamp and int
_LIKE_A_NUMBER = re.compile(r"[-+.\d][-+.:_\dTZtz ]*")
# Not printable (YAML 1.2.2, 5.1), a line break to YAML 1.1, or invisible: written as an escape
_UNSEEN = re.compile("[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff0-\uffff]")


@dataclass(frozen=True, slots=True)
class Indents:
    """The indentation, in columns, of an object below its key and of a list below its key."""

    object: int = 2
    list: int = 0


KUBECTL = Indents()


@dataclass(frozen=True, slots=True)
class Flow:
    """The details of flow style: separators, indentation, and whether keys are quoted as in JSON."""

    colon: str = ": "
    comma: str = ", "
    quoted_keys: bool = False
    indent: int = 0
    """The indentation of nested lines, in columns; 0 means that the collection is written in one line."""
    trailing_comma: bool = False
    """Whether a comma follows the last entry if entries are on lines of their own."""


def as_yaml(document: Any, indents: Indents = KUBECTL) -> str:
    """Return a document as YAML text in kubectl's format: block style, keys in order, and no folded lines."""
    return "\n".join(block(document, indents)) + "\n"


def block(value: Any, indents: Indents = KUBECTL) -> list[str]:
    """Return the lines of a value in block style, without indentation of the first line."""
    if value and isinstance(value, dict):
        return [line for key, item in value.items() for line in entry(scalar(key), item, indents)]
    if value and isinstance(value, list):
        return [line for item in value for line in list_item(item, indents)]
    return _leaf(value)


def entry(key: str, value: Any, indents: Indents) -> list[str]:
    """Return the lines of YAML for one key and its value; ``key`` has to be YAML text already."""
    if value and isinstance(value, dict | list):
        inner = indents.object if isinstance(value, dict) else indents.list
        return [f"{key}:", *indented(block(value, indents), inner)]
    first, *rest = _leaf(value)
    return [f"{key}: {first}", *indented(rest, indents.object)]


def list_item(value: Any, indents: Indents) -> list[str]:
    """Return the lines of YAML for an item of a list; the dash is not indented."""
    first, *rest = block(value, indents)
    return [f"- {first}", *indented(rest, 2)]


def indented(lines: Iterable[str], columns: int) -> list[str]:
    """Return the lines indented by ``columns``; blank lines become empty."""
    return [" " * columns + line if line else line for line in lines]


def scalar(value: Any, quote: str = "") -> str:
    """Return a scalar as one line of YAML. ``quote`` is the preferred quotation mark, if the string allows a choice."""
    if not isinstance(value, str):
        return json.dumps(value)
    if quote == '"' or _UNSEEN.search(value):
        return double_quoted(value)
    if quote != "'" and _PLAIN.fullmatch(value) and resolve(value) == value and not _LIKE_A_NUMBER.fullmatch(value):
        return value
    return "'" + value.replace("'", "''") + "'"


def double_quoted(value: str) -> str:
    """Return a string in double quotes that JSON and YAML parsers read alike; invisible characters are escaped."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def flow(value: Any, style: Flow, column: int = 0) -> str:
    """Return a value as YAML text in flow style.

    ``column`` is the indentation, in columns, of the line on which the text will start; later lines are indented from
    this column.
    """
    if isinstance(value, dict):
        items = [
            f"{flow_key(key, style)}{style.colon}{flow(item, style, column + style.indent)}"
            for key, item in value.items()
        ]
    elif isinstance(value, list):
        items = [flow(item, style, column + style.indent) for item in value]
    else:
        return double_quoted(value) if isinstance(value, str) else json.dumps(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if not items or not style.indent:
        return f"{opening}{style.comma.join(items)}{closing}"
    margin = "\n" + " " * (column + style.indent)
    end = "," if style.trailing_comma else ""
    return f"{opening}{margin}{f',{margin}'.join(items)}{end}\n{' ' * column}{closing}"


def flow_key(key: str, style: Flow) -> str:
    """Return a key in flow style, without quotation marks if the style and YAML allow this."""
    return key if not style.quoted_keys and _KEY.fullmatch(key) and resolve(key) == key else double_quoted(key)


def _leaf(value: Any) -> list[str]:
    """Return the lines of a scalar or an empty collection: one line, or the lines of a literal block."""
    if not isinstance(value, str) or "\n" not in value:
        return [scalar(value)]
    lines = value.removesuffix("\n").split("\n")
    # Leading blanks would need an indentation indicator, and trailing line breaks a chomping indicator: such a text is
    # quoted instead
    literal = lines[0][:1].strip() and lines[-1].strip() and not any(_UNSEEN.search(line) for line in lines)
    if not literal or any(line and not line.strip() for line in lines):
        return [double_quoted(value)]
    return ["|" if value.endswith("\n") else "|-", *indented(lines, 0)]
