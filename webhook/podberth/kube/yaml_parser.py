"""All of YAML, by ruamel.yaml's parser: values as kubectl would send them, the place of everything, every refusal.

``documents`` says what is refused and why; what most manifests are is read without this (``block_yaml``), for it is
slow, and so is importing it. This module alone imports ruamel.yaml.
"""

import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml import events as yaml_events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from .json_text import MAX_DEPTH
from .positions import Chunk, Part, Place, Position
from .scalars import resolve

# What the aliases of one document may add to it: etcd takes objects of 1.5 MB, and a node is ten bytes or more
MAX_ALIASED_NODES = 150_000
_TAGS = {"!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_MERGE = "<<"
_BLOCK_STYLES = ("|", ">")
_COLON = re.compile(r"[ \t]*:")
_DASH = re.compile(r"(?:\s|#[^\n]*)*-")


@dataclass(frozen=True, slots=True)
class Composed:
    """One document of a chunk: its value (None: empty, or unreadable), its place, and what is wrong in it."""

    value: object
    place: Place
    wrong: list[tuple[Position, str]]


class _RefusedError(Exception):
    """Something after which the rest of a chunk is not worth reading."""

    def __init__(self, position: Position, message: str) -> None:
        super().__init__(message)
        self.wrong = (position, message)


def compose(chunk: Chunk) -> list[Composed]:
    """Read the documents of one chunk (several only where ``...`` ends one). Syntax errors are its last entry."""
    composer = _Composer(chunk)
    found: list[Composed] = []
    try:
        found += composer.documents()
    except _RefusedError as refused:
        wrong = refused.wrong
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = Position(chunk.lines_before + mark.line + 1, mark.column + 1) if mark else composer.position
        wrong = (position, _syntax(error))
    except ReaderError as error:
        line = chunk.text.count("\n", 0, error.position)
        column = error.position - (chunk.text.rfind("\n", 0, error.position) + 1)
        character = chunk.text[error.position]
        wrong = (
            Position(chunk.lines_before + line + 1, column + 1),
            f"got the control character {character!r}; remove it",
        )
    except (YAMLError, ValueError, OverflowError) as error:  # a \\U escape beyond Unicode, a %YAML version that is none
        wrong = (composer.position, f"this is no YAML: {' '.join(str(error).split())}")
    else:
        return found
    return [Composed(None, Place(position=wrong[0], chunk=chunk, index=0), [wrong])]


def _syntax(error: MarkedYAMLError) -> str:
    said = str(error.problem or error.context or "this is no YAML")
    if "'\\t'" in said:
        return "got a tab where YAML wants spaces; indent with spaces"
    return f"this is no YAML: {said}"


class _Composer:
    """Turns the parser's events of one chunk into values and places."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._events = YAML(typ="safe", pure=True).parse(io.StringIO(chunk.text))
        self._anchors: dict[str, tuple[object, Place, int] | None] = {}
        self._wrong: list[tuple[Position, str]] = []
        self._count = 0
        self._aliased = 0
        self.position = Position(chunk.lines_before + 1, 1)
        """Where the last event was."""

    def documents(self) -> Iterator[Composed]:
        """Yield each document of the chunk, empty ones with the value None."""
        for event in self._events:
            if not isinstance(event, yaml_events.DocumentStartEvent):
                continue
            self._anchors, self._wrong, self._aliased = {}, [], 0
            value, place = self._value(next(self._events), 1)
            if value is not None and not isinstance(value, dict):
                self._refuse(place.position, f"got {_kind(value)}, want an object with apiVersion and kind")
            yield Composed(value, place, self._wrong)

    def _value(self, event: Any, depth: int) -> tuple[object, Place]:
        self._count += 1
        position = self._at(event)
        if depth > MAX_DEPTH:
            raise _RefusedError(position, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml_events.AliasEvent):
            return self._alias(event, position)
        place = Place(position=position, chunk=self._chunk, index=event.start_mark.index, end=event.end_mark.index)
        before = self._count
        if event.anchor:
            self._anchors[event.anchor] = None  # open: an alias to it now would be a loop
        if event.tag and (event.tag not in _TAGS):
            self._refuse(position, f"got the tag {event.tag}, want none; write the value plainly")
        value: object
        if isinstance(event, yaml_events.ScalarEvent):
            value = self._scalar(event, place)
        else:
            place.style = "{" if event.flow_style else ""
            sequence = isinstance(event, yaml_events.SequenceStartEvent)
            value = self._sequence(place, depth) if sequence else self._mapping(place, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, place, self._count - before + 1)
        return value, place

    def _alias(self, event: Any, position: Position) -> tuple[object, Place]:
        target = self._anchors.get(event.anchor)
        if target is None:
            what = "holds itself" if event.anchor in self._anchors else "names no anchor above it"
            raise _RefusedError(position, f"the alias *{event.anchor} {what}")
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
        plain = not event.style and not (event.tag and event.tag != "!")
        value = resolve(text) if plain and event.tag != "!" else text
        if isinstance(value, float) and not math.isfinite(value):
            self._refuse(place.position, f"got {text}, want a number that JSON has")
        if isinstance(value, str):
            value = self._unicode(value, place.position)
            place.style, place.value = event.style or "", value
        if event.style in _BLOCK_STYLES:  # the parser's end is where the next token starts
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
            if isinstance(event, yaml_events.SequenceEndEvent):
                _close(place, event)
                break
            position, start = self._at(event), event.start_mark.index
            value, part = self._value(event, depth + 1)
            if part.index == part.end and not place.style:
                before = place.parts[len(items) - 1].end if items else place.index
                self._settle(part, _DASH.match(self._chunk.text, before))
                position, start = part.position, part.index
            place.parts[len(items)] = Part(position, part, start, start, _end(event, part))
            items.append(value)
        return items

    def _mapping(self, place: Place, depth: int) -> dict[str, object]:
        items: dict[str, object] = {}
        own: set[str] = set()
        for event in self._events:
            if isinstance(event, yaml_events.MappingEndEvent):
                _close(place, event)
                break
            position = self._at(event)
            merge = (
                isinstance(event, yaml_events.ScalarEvent)
                and event.value == _MERGE
                and not event.style
                and not event.tag
            )
            key = None if merge else self._key(event, depth)
            of_value = next(self._events)
            value, inner = self._value(of_value, depth + 1)
            if inner.index == inner.end:
                self._settle(inner, _COLON.match(self._chunk.text, event.end_mark.index))
            part = Part(position, inner, event.start_mark.index, event.end_mark.index, _end(of_value, inner))
            if merge:
                self._merge(items, place, (value, inner), position)
                place.merges.append(part)
            elif key in own:
                self._refuse(position, f"duplicate key {key!r}; the first is in line {place.parts[key].position.line}")
            elif key is not None:
                own.add(key)
                items[key], place.parts[key] = value, part
        return items

    def _settle(self, place: Place, sign: re.Match[str] | None) -> None:
        """Place an empty value right behind its sign; the parser has it where the next token starts."""
        if sign:
            place.index = place.end = end = sign.end()
            text, before = self._chunk.text, self._chunk.lines_before
            place.position = Position(before + text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end))

    def _key(self, event: Any, depth: int) -> str | None:
        value, place = self._value(event, depth + 1)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and isinstance(event, yaml_events.ScalarEvent):
            return value
        got = f"{event.value}, which kubectl reads as {_kind(value)}" if hasattr(event, "value") else _kind(value)
        self._refuse(place.position, f"got {got}, want a string as the key; put it in quotes")
        return None

    def _merge(self, items: dict[str, object], place: Place, source: tuple[object, Place], position: Position) -> None:
        """Bring in what ``<<`` names. The first of several wins; https://yaml.org/type/merge.html."""
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
            self._refuse(position, f"got {_kind(value)} to merge, want a mapping or a list of mappings")
            return
        present = set(items)
        for item, origin in sources:
            for key, inner in item.items() if isinstance(item, dict) else ():
                if key in present:  # explicit keys win in YAML, the last one wins in go-yaml v2
                    self._refuse(position, f"the merge key brings {key!r} again; put << before {key!r}")
                elif key not in items:
                    items[key], place.parts[key] = inner, origin.parts[key]

    def _at(self, event: Any) -> Position:
        self.position = Position(self._chunk.lines_before + event.start_mark.line + 1, event.start_mark.column + 1)
        return self.position

    def _refuse(self, position: Position, message: str) -> None:
        self._wrong.append((position, message))


def _end(event: Any, place: Place) -> int:
    """Return the offset behind a value that may be an alias to a place elsewhere."""
    return int(event.end_mark.index) if isinstance(event, yaml_events.AliasEvent) else place.end


def _close(place: Place, event: Any) -> None:
    """Set a collection's end: its bracket's, or its last part's, since the parser's is where the next token starts."""
    if place.style:
        place.end = event.end_mark.index
    else:
        own = [*place.parts.values(), *place.merges]
        place.end = max((part.end for part in own if part.start >= place.index), default=place.end)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "null")
