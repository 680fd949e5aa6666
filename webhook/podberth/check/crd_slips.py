"""Finds fields that an object's CRD lacks, but that resemble a field of the CRD or belong to another object.

Other unknown fields are never reported, because the cluster may have another release of the CRD. If the API server
keeps unknown fields of an object, only fields that differ from a known field by a typing error (``slips``) are
reported.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from ..kinds import forms
from ..kinds.crd_fields import KEEPS, Fields
from ..kinds.name_sets import words
from ..kinds.places import TEMPLATE, TemplatePlace
from ..kube.json_patch import ABSENT
from ..kube.paths import ELEMENT, Path
from ..kube.positions import render_path
from ..workload.kinds import row_for
from .slips import SLIP, is_slip

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_EVERYWHERE: Final = words("annotations kind labels metadata name namespace spec status template type value")
"""The names of fields that many objects have: if one is misplaced, the place that the author meant is unknown."""


class _Level(NamedTuple):
    """An object that contains the checked value, with the fields that the CRD has for the object."""

    value: Mapping[str, Any]
    fields: Fields
    at: Path


def wrong_by_crd(
    content: Mapping[str, Any], fields: Fields, pods: frozenset[tuple[str, ...]], path: Path
) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each field of an object that is misspelt or misplaced according to the object's CRD.

    Args:
        content: the object.
        fields: the fields that the object's CRD has.
        pods: the paths of the object's parts that are checked as parts of a pod, and skipped here.
        path: the path from the document to the object.
    """

    def walk(
        value: object, fields: Fields, at: Path, around: tuple[_Level, ...] = (), names: tuple[str, ...] = ()
    ) -> Iterator[tuple[Path, str]]:
        """Yield each misspelt or misplaced field in a value: the path, and a message about the field.

        Args:
            value: the value whose fields are compared with ``fields``.
            fields: the fields that the CRD has for the value.
            at: the path from the object to the value.
            around: the objects that the value is in, the outermost first.
            names: the path, with ELEMENT for each element of a list or map.
        """
        if ELEMENT in fields:
            items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
            for key, item in items:
                yield from walk(item, fields[ELEMENT], (*at, key), around, (*names, ELEMENT))
            return
        if not fields or not isinstance(value, Mapping):
            return
        level = _Level(value, fields, at)
        for key, item in value.items():
            if key in fields:
                if (*names, key) not in pods:
                    yield from walk(item, fields[key], (*at, key), (*around, level), (*names, key))
            elif isinstance(key, str) and _NAME.fullmatch(key) and (said := _about(key, level, around)):
                yield (*path, *at, key), said

    yield from walk(content, fields, ())


@cache
def checked_as_pods(version: str, kind: str) -> frozenset[tuple[str, ...]]:
    """Return the paths of a kind's pod templates and of other parts that podberth checks as parts of Pods.

    ``version`` is the ``apiVersion`` of the kind.
    """
    row = row_for({"apiVersion": version, "kind": kind})
    return frozenset(path for place in (row.places if row else ()) for path in _parts(place))


def _parts(place: TemplatePlace) -> Iterator[tuple[str, ...]]:
    form = place.form
    if form is TEMPLATE:
        yield place.path
        return
    for target, source in form.seats:
        here = (*place.path, *map(str, source))
        if target == ("spec",) and form.fields is not None:
            yield from ((*here, name) for name in form.fields)
        elif here != place.path:
            yield here
    for front in form.front:
        here = (*place.path, *map(str, front))
        yield from ((here,) if form.front_whole else ((*here, name) for name in form.front_fields.values()))


def _about(key: str, level: _Level, around: tuple[_Level, ...]) -> str:
    absent = [name for name in level.fields if name not in level.value]
    if meant := next((name for name in absent if is_slip(key, name)), ""):
        return SLIP.format(key, meant)
    if KEEPS in level.fields:
        return ""
    if meant := next((name for name in absent if _is_near(key, name)), ""):
        return SLIP.format(key, meant)
    place = None if key in _EVERYWHERE else _place(key, level, around)
    return "" if place is None else f"got {key}, which is lost here; it belongs in {render_path(place) or 'the object'}"


def _is_near(got: str, want: str) -> bool:
    """Return whether two field names differ only in upper and lower case, or only by typing errors in their words."""
    ours, theirs = _words(got), _words(want)
    if "".join(ours) == "".join(theirs):
        return True
    wrong = [(one, other) for one, other in zip(ours, theirs, strict=False) if one != other]
    return len(ours) == len(theirs) and all(is_slip(one, other) for one, other in wrong)


def _words(name: str) -> list[str]:
    return [each.lower() for each in _WORD.findall(name)]


def _place(key: str, level: _Level, around: tuple[_Level, ...]) -> Path | None:
    """Return the path of the object to which the misplaced field ``key`` belongs; None if that is unclear.

    The CRD has the field for that object, and the document has no such field there. ``level`` is the object with the
    misplaced field; ``around`` are the objects that contain ``level``. The place is unclear if an object inside
    ``level`` and an object of ``around`` are both possible: a Volcano Job and its pods have different ``volumes``.
    Inside ``level``, an object that is in the document is preferred, then the least deep. Of ``around``, the innermost
    is the result.
    """
    found: list[tuple[bool, int, Path]] = []
    for path, fields in _objects_below(level.fields):
        held = forms.find(level.value, path)
        if key in fields and (held is ABSENT or (isinstance(held, Mapping) and key not in held)):
            found.append((held is ABSENT, len(path), (*level.at, *path)))
    outside = next((each.at for each in reversed(around) if key in each.fields and key not in each.value), None)
    if not found:
        return outside
    nearest = min(each[:2] for each in found)
    places = [path for *how, path in found if tuple(how) == nearest]
    return places[0] if len(places) == 1 and outside is None else None


def _objects_below(fields: Fields) -> Iterator[tuple[tuple[str, ...], Fields]]:
    """Yield the path and the fields of each object in a value, up to two levels deep; lists and maps are not opened."""
    for name, below in fields.items():
        yield (name,), below
        if ELEMENT not in below:
            yield from (((name, inner), found) for inner, found in below.items())
