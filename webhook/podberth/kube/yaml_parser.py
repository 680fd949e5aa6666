"""Parses YAML with libyaml: the values that kubectl would send, the position of each value, and every error.

libyaml (through PyYAML) has the grammar of kubectl, because kubectl's go-yaml is a port of libyaml. ``kube.documents``
lists the YAML that is refused, with the reasons. Only this module imports PyYAML.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.reader import ReaderError

from .json_text import MAX_DEPTH
from .positions import Chunk, Place, PlacedPart, Position
from .scalars import resolve, tagged
from .shape import kind_of

# The most that the aliases of one document may add to it: etcd takes objects of 1.5 MB, and a node is ten bytes or more
MAX_ALIASED_NODES = 150_000
_MERGE = "<<"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_BLOCK_STYLES = ("|", ">")
# PyYAML can be built without libyaml; its own parser gives the same events, only slower
_PURE: Final = yaml.SafeLoader
_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else _PURE
# Texts that PyYAML's own parser reads as JSON and kubectl do, and libyaml does not: a pair of surrogates,
# JSON's escape of a character beyond 16 bits (libyaml refuses it), and a byte order mark inside (libyaml skips it)
_BY_PURE: Final = re.compile(r"\\u[dD][89a-fA-F]|\ufeff")
# Characters that no parser accepts: YAML 1.2.2, 5.1 (c-printable), and escapes beyond Unicode
_NO_CHARACTER: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    r"|\\U(?!000|0010)[0-9a-fA-F]{8}"
)
# The length at which the text of a line is cut in a message
_SHOWN: Final = 20
# The length at which a key or a value is cut in a message; a label's key has 317 at most
_LONGEST: Final = 320
# The most pairs of list items that are compared to find whether a duplicate key loses any
_MOST_COMPARED: Final = 10_000
_COLON = re.compile(r"[ \t]*:")
# The text before a syntax error in its line: a key or a dash and a part of the value; a value that begins with a tag
_VALUE_BEFORE: Final = re.compile(r"(?:[:{,]|^\s*-)[ \t]+[^\s{,]")
_WORD_BEFORE: Final = re.compile(r":[ \t]+[^\s{},:\"']+$")
_TAG_BEFORE: Final = re.compile(r"(?:[:{,\[]|^\s*-)[ \t]+(![^\s!]\S{0,80})")
_UNCLOSED: Final = "this is no YAML: the text that begins here has no closing {}"
_BREAKS: Final = frozenset(
    {
        "mapping values are not allowed in this context",
        "did not find expected key",
        "did not find expected ',' or '}'",
        "did not find expected ',' or ']'",
    }
)
"""The parser's errors for an unquoted text, in which it reads the end of a value or the start of another value."""


@dataclass(frozen=True, slots=True)
class Composed:
    """One parsed YAML document: its value, the positions in the text, the errors and the duplicate keys.

    The value is None if the document is empty or cannot be read.
    """

    value: object
    place: Place
    wrong: list[tuple[Position, str]]
    repeated: list[tuple[Position, str]]
    """The keys that an object has twice with different values; the value uses the last one, as kubectl does."""


class _RefusedError(Exception):
    """An error because of which the parser stops reading a text."""

    def __init__(self, position: Position, message: str) -> None:
        super().__init__(message)
        self.wrong = (position, message)


def compose(chunk: Chunk) -> list[Composed]:
    """Return the parsed documents of a part of a YAML file, usually one. A syntax error is in the last document."""
    composer = _Composer(chunk)
    found: list[Composed] = []
    try:
        found += composer.documents()
    except _RefusedError as refused:
        wrong = refused.wrong
    except yaml.MarkedYAMLError as error:
        wrong = composer.syntax(error)
    except (ReaderError, ValueError, OverflowError) as error:  # a ValueError: half a surrogate pair, a bad \U escape
        match = _NO_CHARACTER.search(chunk.text)
        got = f"got {match[0]!r}, which is no character of YAML; remove it" if match else f"this is no YAML: {error}"
        wrong = composer.at(match.start() if match else 0), got
    else:
        return found
    return [*found, Composed(None, Place(position=wrong[0], chunk=chunk, index=0), [wrong], [])]


class _Composer:
    """Turns the events of the YAML parser for a part of a file into values, with the position of each value."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._loader = _PURE if _BY_PURE.search(chunk.text) else _LOADER
        self._events: Iterator[Any] = yaml.parse(chunk.text, Loader=self._loader)
        self._has_halves = self._loader is _PURE  # halves of surrogate pairs, which libyaml refuses
        self._anchors: dict[str, tuple[object, Place, int] | None] = {}
        self._wrong: list[tuple[Position, str]] = []
        self._repeated: list[tuple[Position, str]] = []
        self._count = 0
        self._aliased = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", chunk.text))]

    def at(self, index: int) -> Position:
        """Return the position in the file of an offset in the parsed text.

        Only a line feed ends a line; the parser's own line numbers also count U+0085, U+2028 and U+2029.
        """
        line = bisect_right(self._lines, index)
        return Position(self._chunk.lines_before + line, index - self._lines[line - 1] + 1)

    def syntax(self, error: yaml.MarkedYAMLError) -> tuple[Position, str]:
        """Return (position of a syntax error, the reason in kubectl's words with the text at that position)."""
        text, mark, start = self._chunk.text, error.problem_mark, error.context_mark
        index = mark.index if mark else 0
        position = self.at(index)
        if text[index : index + 1] == "\t":
            return position, "got a tab where YAML wants spaces; indent with spaces"
        if start and error.context == "while scanning a quoted scalar":
            return self.at(start.index), _UNCLOSED.format(text[start.index])
        if quote := self._closed_late(index):
            return self.at(quote[0]), f"{_UNCLOSED.format(text[quote[0]])} before line {self.at(quote[1]).line}"
        began = self.at(start.index).line if start else position.line
        context = f" {error.context} from line {began}" if began != position.line else ""
        got = text[index:].split("\n")[0][:_SHOWN].rstrip() if text[index:].strip() else "the end"
        line = text[self._lines[bisect_right(self._lines, index) - 1] : index]
        hint = _unquoted(line[-_LONGEST:], str(error.problem), got)
        return position, f"this is no YAML: {error.problem}{context}; got {got}{hint}"

    def _closed_late(self, index: int) -> tuple[int, int] | None:
        """Return (start, end) of the text in quotes before ``index``, if it ends on a later line; else None."""
        last: yaml.Event | None = None
        with suppress(yaml.YAMLError):
            for event in yaml.parse(self._chunk.text, Loader=self._loader):
                last = event
        if not isinstance(last, yaml.ScalarEvent) or last.style not in ("'", '"'):
            return None
        start, end = (mark.index if mark else index for mark in (last.start_mark, last.end_mark))
        is_late = self.at(start).line < self.at(end).line and not self._chunk.text[end:index].strip()
        return (start, end) if is_late else None

    def documents(self) -> Iterator[Composed]:
        """Yield each document of the parsed text once it is complete; an empty document has the value None."""
        last: list[Composed] = []
        for event in self._events:
            begins = isinstance(event, yaml.DocumentStartEvent)
            if begins or (isinstance(event, yaml.DocumentEndEvent) and event.explicit):
                yield from last
                last = [self._document()] if begins else []
        yield from last

    def _document(self) -> Composed:
        self._anchors, self._wrong, self._repeated, self._aliased = {}, [], [], 0
        event = next(self._events)
        value, place = self._value(event, self.at(event.start_mark.index), 1)
        if value is not None and not isinstance(value, dict):
            self._refuse(place.position, f"got {kind_of(value)}, want an object with apiVersion and kind")
        return Composed(value, place, self._wrong, self._repeated)

    def _value(self, event: Any, position: Position, depth: int) -> tuple[object, Place]:
        self._count += 1
        if depth > MAX_DEPTH:
            raise _RefusedError(position, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, position)
        place = Place(position=position, chunk=self._chunk, index=event.start_mark.index, end=event.end_mark.index)
        place.tag = event.tag or ""
        before = self._count
        if event.anchor:
            self._anchors[event.anchor] = None  # open: an alias to it now would be a loop
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, place)
        else:
            place.style = "{" if event.flow_style else ""
            sequence = isinstance(event, yaml.SequenceStartEvent)
            value = self._sequence(place, depth) if sequence else self._mapping(place, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, place, self._count - before + 1)
        return value, place

    def _alias(self, event: Any, position: Position) -> tuple[object, Place]:
        target = self._anchors.get(event.anchor)
        if target is None:
            what = "holds itself" if event.anchor in self._anchors else "names no anchor above it"
            raise _RefusedError(position, f"the alias *{event.anchor:.{_LONGEST}} {what}")
        value, place, size = target
        self._count += size
        self._aliased += size
        if self._aliased > MAX_ALIASED_NODES:
            raise _RefusedError(
                position, f"the aliases repeat more than {MAX_ALIASED_NODES} values; write the document plainly"
            )
        return value, place

    def _scalar(self, event: Any, place: Place) -> object:
        text = str(event.value)
        value: object = text
        if event.tag:
            try:
                value = tagged(event.tag, text)
            except ValueError:
                self._refuse(
                    place.position, f"got {text!r:.{_LONGEST}}, which the tag {event.tag:.{_LONGEST}} does not allow"
                )
        elif not event.style:
            value = resolve(text)
        if isinstance(value, float) and not math.isfinite(value):
            self._refuse(place.position, f"got {text:.{_LONGEST}}, want a number that JSON has")
        if isinstance(value, str):
            if self._has_halves:
                value = self._unicode(value, place.position)
            place.style, place.value = event.style or "", value
        if event.style in _BLOCK_STYLES:  # the parser's end is behind the blank lines that follow
            header, _, content = self._chunk.text[place.index : place.end].partition("\n")
            keep = "+" in header.partition("#")[0]
            content = content.rstrip(" ").removesuffix("\n") if keep else content.rstrip("\n ")
            place.end = place.index + len(header) + 1 + len(content) if content or keep else place.index + len(header)
        return value

    def _unicode(self, value: str, position: Position) -> str:
        try:
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._refuse(position, "got half a surrogate pair, which is no character")
            return ""

    def _sequence(self, place: Place, depth: int) -> list[object]:
        items: list[object] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                _close(place, event)
                break
            start = event.start_mark.index
            position = self.at(start)
            value, inner = self._value(event, position, depth + 1)
            place.parts[len(items)] = PlacedPart(position, inner, start, start, _end(event, inner))
            items.append(value)
        return items

    def _mapping(self, place: Place, depth: int) -> dict[str, object]:
        items: dict[str, object] = {}
        own: set[str] = set()
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                _close(place, event)
                break
            start, key_end = event.start_mark.index, event.end_mark.index
            position = self.at(start)
            merge = isinstance(event, yaml.ScalarEvent) and event.value == _MERGE and _is_merge(event)
            key = None if merge else self._key(event, position, depth)
            of_value = next(self._events)
            value, inner = self._value(of_value, self.at(of_value.start_mark.index), depth + 1)
            if inner.index == inner.end:
                self._settle(inner, key_end)
            part = PlacedPart(position, inner, start, key_end, _end(of_value, inner))
            if merge:
                self._merge(items, place, (value, inner), position)
                place.merges.append(part)
            elif key is not None:
                if key in own and _is_lost(items[key], value):
                    other = place.parts[key].position.line
                    advice = f"kubectl takes this one and not that of line {other}; remove one"
                    message = f"duplicate key {key!r:.{_LONGEST}}: {advice}"
                    self._repeated.append((position, message))
                own.add(key)
                items[key], place.parts[key] = value, part
        return items

    def _settle(self, place: Place, key_end: int) -> None:
        """Set the position of an empty value to the offset behind its colon.

        In flow style the parser reports the position of the next token.
        """
        colon = _COLON.match(self._chunk.text, key_end)
        if colon:
            place.index = place.end = colon.end()
            place.position = self.at(place.end)

    def _key(self, event: Any, position: Position, depth: int) -> str | None:
        value, place = self._value(event, position, depth + 1)
        if isinstance(value, int):
            return str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, str) and isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
            return value
        got = (
            f"{event.value:.{_LONGEST}}, which kubectl reads as {kind_of(value)}"
            if hasattr(event, "value")
            else kind_of(value)
        )
        self._refuse(place.position, f"got {got}, want a string as the key; put it in quotes")
        return None

    def _merge(self, items: dict[str, object], place: Place, source: tuple[object, Place], position: Position) -> None:
        """Add the entries of the objects that a merge key names (yaml.org/type/merge.html).

        If two of the objects have a key, the value of the first object is added.
        """
        value, part = source
        one = isinstance(value, dict)
        sources = (
            [source]
            if one
            else [(item, part.parts[at].place) for at, item in enumerate(value)]
            if isinstance(value, list)
            else []
        )
        if not sources or not all(isinstance(item, dict) for item, _ in sources):
            self._refuse(position, f"got {kind_of(value)} to merge, want a mapping or a list of mappings")
            return
        present = set(items)
        for item, origin in sources:
            for key, inner in item.items() if isinstance(item, dict) else ():
                if key in present:  # explicit keys win in YAML, the last one wins in go-yaml v2
                    self._refuse(
                        position, f"the merge key brings {key!r:.{_LONGEST}} again; put << before {key!r:.{_LONGEST}}"
                    )
                elif key not in items:
                    items[key], place.parts[key] = inner, origin.parts[key]

    def _refuse(self, position: Position, message: str) -> None:
        self._wrong.append((position, message))


def _end(event: Any, place: Place) -> int:
    """Return the offset behind a value in the parsed text; for an alias, the offset behind the alias."""
    end: int = event.end_mark.index
    return end if isinstance(event, yaml.AliasEvent) else place.end


def _is_merge(event: yaml.ScalarEvent) -> bool:
    """Return whether a key ``<<`` is a merge key: it is unquoted, or has the tag ``!!merge``.

    Source: go.yaml.in/yaml/v2 decode.go isMerge.
    """
    return event.tag == _MERGE_TAG if event.tag else not event.style


def _is_lost(first: Any, last: Any) -> bool:
    """Return whether a duplicate key loses data: ``last``, the last value, replaces ``first``.

    No data is lost if ``first`` is null, or if both are lists and ``last`` has all items of ``first``. Lists with too
    many pairs of items (_MOST_COMPARED) have to be equal.
    """
    if first is None:
        return False
    if isinstance(first, list) and isinstance(last, list) and len(first) * len(last) <= _MOST_COMPARED:
        return not all(each in last for each in first)
    return bool(first != last)


def _close(place: Place, event: Any) -> None:
    """Set the end of an object or list: after the closing bracket or, in block style, after the last part."""
    if place.style:
        place.end = event.end_mark.index
    else:
        own = [*place.parts.values(), *place.merges]
        place.end = max((part.end for part in own if part.start >= place.index), default=place.end)


def _unquoted(before: str, problem: str, got: str) -> str:
    """Return advice to quote a text, if the author probably meant a string and YAML read something else; else "".

    ``before`` is the line up to the error, ``problem`` the parser's message, and ``got`` the text at the error.
    """
    if tag := _TAG_BEFORE.search(before):
        return f"; YAML reads {tag[1]} as a tag, put the whole text into quotes"
    if problem not in _BREAKS or got == "the end" or not _VALUE_BEFORE.search(before):
        return ""
    if got[:1] != ":":
        return "; put the whole text into quotes"
    if _WORD_BEFORE.search(before):  # requests: nvidia.com/gpu: 1
        return "; a field goes into a line of its own, and a text with ': ' in it into quotes"
    return "; a text with ': ' in it needs quotes"
