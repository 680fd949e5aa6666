"""Computes the text edits that turn one YAML document into another and leave all other text unchanged.

The places of a document's values show which text belongs to which value. If an object or list remains an object or
list, only its changed parts are edited; any other change is written as new text, in the style of the text around it. If
an alias no longer equals the value of its anchor, the alias is replaced by the value, so that an edit does not change
other uses of the anchor.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from .json_patch import same
from .positions import Place, PlacedPart
from .yaml_text import Flow, Indents, block, entry, flow, flow_key, indented, list_item, scalar


def paired(old: Sequence[Any], new: Sequence[Any]) -> dict[int, int]:
    """Return a mapping from the index of an item in ``new`` to the index of the item in ``old`` that becomes this item.

    The text of the old item is kept if the items are equal, else edited. Equal items are paired first, then items with
    equal fields ``name``, then the other items in their order. A new item without a pair is inserted, and an old item
    without a pair is removed. The pairs only decide how many lines of the document change.
    """
    before, after = ([json.dumps(item, sort_keys=True) for item in items] for items in (old, new))
    pairs: dict[int, int] = {}
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            pairs.update(zip(range(new_start, new_end), range(old_start, old_end), strict=True))
        elif kind == "replace":
            pairs.update(_alike(old, new, range(old_start, old_end), range(new_start, new_end)))
    return pairs


def _alike(old: Sequence[Any], new: Sequence[Any], left: range, right: range) -> dict[int, int]:
    pairs: dict[int, int] = {}
    start = left.start
    for number in right:
        name = _name(new[number])
        found = next((at for at in range(start, left.stop) if name is not None and _name(old[at]) == name), None)
        if found is not None:
            pairs[number], start = found, found + 1
    if not pairs:
        pairs = dict(zip(right, left, strict=False))
    return pairs


def _name(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else None


# From a dash to its item: blanks, comments and line breaks
_DASH = re.compile(r"-(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*")
_COMMA = re.compile(r"(?:\s|#[^\n]*)*,")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?=\n|$)")


@dataclass(frozen=True, slots=True)
class Splice:
    """A text that replaces the characters of a document from the offset ``start`` to the offset ``end``."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Slot:
    """A part of an object or list, with the offset of its key or dash, and whether the part has to be removed."""

    part: PlacedPart
    start: int
    goes: bool = False


@dataclass(slots=True)
class _Collection:
    """The new content of an object or list: the old parts in the text's order, and the insertions before each part."""

    place: Place
    slots: list[_Slot]
    inserted: list[list[tuple[str | None, Any]]] = field(default_factory=list)
    """The inserted keys and values, by the index of the part that follows them; in a list the key is None."""

    def __post_init__(self) -> None:
        self.inserted = [[] for _ in range(len(self.slots) + 1)]

    def runs(self) -> list[tuple[int, int]]:
        """Return, for each run of adjacent removed parts, the index of its first and last part."""
        grouped = groupby(enumerate(self.slots), key=lambda numbered: numbered[1].goes)
        numbers = [[number for number, _ in each] for goes, each in grouped if goes]
        return [(each[0], each[-1]) for each in numbers]

    def kept_before(self, gap: int) -> _Slot | None:
        """Return the last part of the collection before index ``gap`` that is not removed; None if there is none."""
        return next((slot for slot in reversed(self.slots[:gap]) if not slot.goes), None)

    def kept_from(self, gap: int) -> _Slot:
        """Return the first part, at the index ``gap`` or later, that is not removed; such a part must exist."""
        return next(slot for slot in self.slots[gap:] if not slot.goes)


def splices(place: Place, old: dict[str, Any], new: dict[str, Any]) -> list[Splice]:
    """Return the sorted replacements of text that turn the document ``old``, whose text is at ``place``, into ``new``.

    The offsets count from the start of the document's text (``Chunk.text``).
    """
    writer = _Writer(place)
    if not writer.change(place, old, new):
        text = flow(new, writer.flow_style(place)) if place.style else "\n".join(block(new, writer.indents))
        writer.cut(place.index, place.end, text)
    # Splices at one offset keep the order in which they were found: the innermost collection ends first
    return sorted(writer.found, key=lambda each: (each.start, each.end > each.start))


class _Writer:
    """Collects the text edits (``Splice``) that change a document."""

    def __init__(self, root: Place) -> None:
        self.text = root.chunk.text
        self.found: list[Splice] = []
        self._aliased = "*" in self.text
        self._now: dict[int, Any] = {}
        """The new values of places that aliases may refer to later, by the ``id`` of the place.

        Only values whose anchor remains are in it.
        """
        self.indents = _indents(root)

    def cut(self, start: int, end: int, text: str = "") -> None:
        """Replace the document's text from the offset ``start`` to the offset ``end`` by ``text``."""
        self.found.append(Splice(start, end, text))

    def _insert(self, offset: int, text: str) -> None:
        self.cut(offset, offset, text)

    def change(self, place: Place, old: Any, new: Any) -> bool:
        """Edit an object or list in place; return False, without an edit, if it must be written as a whole."""
        if self._aliased or not same(old, new):
            if isinstance(old, dict) and isinstance(new, dict):
                done = self._object(place, old, new)
            elif isinstance(old, list) and isinstance(new, list):
                done = self._list(place, old, new)
            else:
                done = same(old, new)
            if not done:
                return False
        if self._aliased:
            self._now[id(place)] = new
        return True

    # ---- objects and lists ---------------------------------------------------------------------------------------

    def _object(self, place: Place, old: dict[str, Any], new: dict[str, Any]) -> bool:
        own = {key: part for key, part in place.parts.items() if _is_own(place, part)}
        if (place.style and self.text[place.end - 1] != "}") or self._explicit_keys(own.values()):
            return same(old, new) and not self._aliased
        kept = {key for key in own if key in new}
        merging = self._merged(place, old, own.keys())
        if merging is not None and not all(key in new and (key in own or key in old) for key in merging):
            merging = None
        merging = merging or {}
        stays = bool(place.merges) and bool(merging)
        if not kept and not stays and (old or new):
            return False
        parts = sorted([*own.items(), *((None, part) for part in place.merges)], key=lambda each: each[1].start)
        goes = [key not in kept if key is not None else not stays for key, _ in parts]
        whole = _Collection(place, [_Slot(part, part.start, gone) for (_, part), gone in zip(parts, goes, strict=True)])
        for key, part in parts:
            if key is None and stays:
                self._survive(part.place, old)
            elif key in kept:
                self._part(place, part, old[key], new[key])
        brought = {key for key, value in merging.items() if key not in own and same(value, new[key])} if stays else ()
        whole.inserted[-1] += [(key, value) for key, value in new.items() if key not in kept and key not in brought]
        self._arrange(whole)
        return True

    def _explicit_keys(self, parts: Any) -> bool:
        return any(not self.text[part.key_end :].lstrip(" \t").startswith(":") for part in parts)

    def _merged(self, place: Place, old: Mapping[str, Any], own: Any) -> dict[str, Any] | None:
        """Return the values that an object gets through its merge keys (``<<``) in the changed document.

        ``own`` has the object's own keys. None if the changed document no longer has a value that a merge key copies.
        """
        brought: dict[str, Any] = {}
        for part in place.merges:
            sources = [part.place, *(inner.place for key, inner in part.place.parts.items() if isinstance(key, int))]
            for source in sources[1:] or sources:
                inline = part.start <= source.index
                inner = {str(key): old[str(key)] for key in source.parts if key not in own} if inline else None
                now = self._now.get(id(source)) if inner is None else inner
                if now is None:
                    return None
                brought = {**now, **brought}
        return brought

    def _survive(self, place: Place, old: Mapping[str, Any]) -> None:
        """Record that the values below the merge key (``<<``) at ``place`` stay: later aliases may refer to them.

        ``old`` is the object with the merge key, before the change. The values are recorded in ``_now``.
        """
        for key, part in place.parts.items():
            if part.start >= place.index and key in old:
                self._now[id(part.place)] = old[str(key)]

    def _list(self, place: Place, old: list[Any], new: list[Any]) -> bool:
        if same(old, new) and not self._aliased:
            return True
        parts = list(place.parts.values())
        pairs = paired(old, new)
        if not pairs and (old or new):
            return False
        starts = [part.start if place.style else self._dash(part.start) for part in parts]
        whole = _Collection(place, [_Slot(part, start, goes=True) for part, start in zip(parts, starts, strict=True)])
        gap = 0
        for number, item in enumerate(new):
            if number in pairs:
                gap = pairs[number]
                whole.slots[gap].goes = False
                self._part(place, parts[gap], old[gap], item)
                gap += 1
            else:
                whole.inserted[gap].append((None, item))
        self._arrange(whole)
        return True

    def _dash(self, start: int) -> int:
        dash = self.text.rfind("-", 0, start)
        while not _DASH.fullmatch(self.text, dash, start):
            dash = self.text.rfind("-", 0, dash)
        return dash

    def _part(self, container: Place, part: PlacedPart, old: Any, new: Any) -> None:
        """Edit one value of an object or list in place; if that is impossible, write the value as a whole."""
        if part.place.index < part.key_end:  # an alias: the value stands elsewhere
            if id(part.place) not in self._now or not same(self._now[id(part.place)], new):
                self._write(container, part, self.text.rindex("*", part.key_end, part.end), "", new)
        elif not self.change(part.place, old, new):
            quote = part.place.style if isinstance(old, str) else ""
            self._write(container, part, part.place.index, quote, new)

    def _write(self, container: Place, part: PlacedPart, start: int, quote: str, new: Any) -> None:
        """Write one value of an object or list as a whole. The old value's text starts at the offset ``start``.

        ``quote`` is the quotation mark of the old string, which a new string keeps if possible; empty if there is none.
        """
        blank = " " if start == part.end and not self.text[start - 1 : start].isspace() else ""
        if container.style:
            column = self._margin(part.start)
            text = flow(new, self.flow_style(container), column)
            self.cut(start, part.end, blank + text)
            return
        if part.start == part.key_end:
            dash = self._dash(part.start)
            first, *rest = list_item(new, self.indents)
            body, column = rest, self._column(dash)
            start, head = dash, first
            if not rest and isinstance(new, str):
                start, head = part.start, blank + scalar(new, quote)
        else:
            first, *body = entry("", new, self.indents)
            column = self._column(part.start)
            below = "\n" in self.text[part.key_end : start]
            start, head = (part.key_end, first) if body or below else (start, blank + scalar(new, quote))
        self.cut(start, part.end, head)
        if body:
            self._lines_after(part.end, indented(body, column))

    # ---- removals and insertions ------------------------------------------------------------------------------------

    def _arrange(self, whole: _Collection) -> None:
        if whole.slots:
            (self._arrange_flow if whole.place.style else self._arrange_block)(whole)

    def _arrange_block(self, whole: _Collection) -> None:
        slots = whole.slots
        column = self._column(slots[0].start)
        for first, last in whole.runs():
            start, end = slots[first].start, slots[last].part.end
            if last + 1 == len(
                slots
            ):  # the line break before it goes as well: insertions after the collection are put at its end
                self.cut(self._line_start(start) - 1, self._line_end(end))
            elif self._is_first_on_line(start):
                self.cut(self._line_start(start), min(self._line_end(end) + 1, len(self.text)))
            else:  # on the line of a dash: the next part moves up to the dash
                self.cut(start, slots[last + 1].start)
        for gap, wanted in enumerate(whole.inserted):
            lines = [line for key, value in wanted for line in self._lines(key, value)]
            before = whole.kept_before(gap)
            if lines and before:
                self._lines_after(before.part.end, indented(lines, column))
            elif lines:
                margin = "\n" + " " * column
                self._insert(whole.kept_from(gap).start, margin.join(lines) + margin)

    def _lines(self, key: str | None, value: Any) -> list[str]:
        return list_item(value, self.indents) if key is None else entry(scalar(key), value, self.indents)

    def _arrange_flow(self, whole: _Collection) -> None:
        slots, place, style = whole.slots, whole.place, self.flow_style(whole.place)
        trailing = _COMMA.match(self.text, slots[-1].part.end, place.end)
        for first, last in whole.runs():
            if last + 1 < len(slots):
                self.cut(slots[first].start, slots[last + 1].start)
                continue
            start = slots[first - 1].part.end
            comma = _COMMA.match(self.text, start, place.end)
            assert comma is not None  # noqa: S101 - two parts in flow style have a comma between them
            if trailing:
                self.cut(self._end_of_rest(comma.end()), self._end_of_rest(trailing.end()))
            else:
                self.cut(comma.end() - 1, comma.end())
                self.cut(comma.end(), slots[last].part.end)
        for gap, wanted in enumerate(whole.inserted):
            before = whole.kept_before(gap)
            column = self._margin(slots[0].start)
            texts = [self._flow_part(key, value, style, column) for key, value in wanted]
            if not texts:
                continue
            margin = "\n" + " " * column if style.indent else style.comma[1:]
            if before:
                self._flow_after(before, whole, texts, margin, comma_stays=bool(trailing) or _followed(whole, before))
            else:
                self._insert(whole.kept_from(gap).start, "".join(f"{text},{margin}" for text in texts))

    def _flow_after(
        self, before: _Slot, whole: _Collection, texts: Sequence[str], margin: str, *, comma_stays: bool
    ) -> None:
        end = before.part.end
        comma = _COMMA.match(self.text, end, whole.place.end)
        if comma_stays and comma:
            end = comma.end()
        at = self._end_of_rest(end) if "\n" in margin else end
        if not comma_stays:
            self._insert(end, ",")
        self._insert(at, margin + f",{margin}".join(texts) + ("," if comma_stays else ""))

    def _flow_part(self, key: str | None, value: Any, style: Flow, column: int) -> str:
        text = flow(value, style, column)
        return text if key is None else f"{flow_key(key, style)}{style.colon}{text}"

    def flow_style(self, place: Place) -> Flow:
        """Return the flow style (separators, quotes) of a collection, from its own text or from the text around it."""
        text = self.text[place.index : place.end]
        parts = list(place.parts.values())
        keys = [part for part in parts if part.key_end > part.start]
        quoted = (
            any(self.text[part.start] == '"' for part in keys)
            if keys
            else self.text.lstrip()[:1] == "{" and ('":' in self.text)
        )
        spread = bool(parts) and self._is_first_on_line(parts[0].start)
        indent = self._column(parts[0].start) - self._margin(place.index) if spread else 0
        compact = bool(re.search(r'":\S', text)) and not re.search(r'": ', text)
        comma = _COMMA.match(self.text, parts[-1].end, place.end) if parts else None
        return Flow(
            colon=":" if compact else ": ",
            comma="," if compact else ", ",
            quoted_keys=quoted,
            indent=max(indent, 0),
            trailing_comma=bool(comma) and spread,
        )

    # ---- lines -------------------------------------------------------------------------------------------------------

    def _lines_after(self, offset: int, lines: Sequence[str]) -> None:
        """Insert lines after the line that contains ``offset``."""
        end = self._line_end(offset)
        self._insert(end, "".join(f"\n{line}" for line in lines))

    def _end_of_rest(self, offset: int) -> int:
        """Return the end of the line if only blanks and a comment follow ``offset``; else return ``offset``."""
        rest = _REST_OF_LINE.match(self.text, offset)
        return rest.end() if rest else offset

    def _line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def _column(self, offset: int) -> int:
        return offset - self._line_start(offset)

    def _margin(self, offset: int) -> int:
        line = self.text[self._line_start(offset) :]
        return len(line) - len(line.lstrip(" "))

    def _is_first_on_line(self, offset: int) -> bool:
        return not self.text[self._line_start(offset) : offset].strip(" ")


def _followed(whole: _Collection, slot: _Slot) -> bool:
    """Return whether a part after ``slot`` remains in the collection.

    In this case the comma after ``slot`` remains, too.
    """
    number = next(at for at, each in enumerate(whole.slots) if each is slot)
    return any(not each.goes for each in whole.slots[number + 1 :])


def _is_own(place: Place, part: PlacedPart) -> bool:
    """Return whether a key is written in this object itself, and not merged in by a merge key."""
    merged = any(merge.start <= part.start < merge.end for merge in place.merges)
    return place.index <= part.start < max(place.end, place.index + 1) and not merged


def _indents(root: Place) -> Indents:
    """Return the indentation of a document's blocks, measured at the first nested object and list."""
    of_object = of_list = None
    queue = [(root, part) for part in root.parts.values()] if not root.style else []
    while queue and (of_object is None or of_list is None):
        _, part = queue.pop(0)
        place = part.place
        if place.style or not place.parts or place.index < part.key_end:
            continue
        in_object = part.key_end > part.start
        first = next(iter(place.parts.values()))
        if in_object and first.key_end > first.start and _is_own(place, first):
            of_object = of_object or first.position.column - part.position.column
        elif in_object and first.key_end == first.start and of_list is None:
            of_list = max(place.position.column - part.position.column, 0)
        queue += [(place, inner) for inner in place.parts.values()]
    return Indents(max(of_object or 2, 1), of_list or 0)
