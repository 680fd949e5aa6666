"""Merges an apply configuration into a Pod, field by field, as the API server does for MutatingAdmissionPolicy.

A field that the configuration sets gets the configuration's value; any other field keeps its value. Lists merge by the
schema's list types: items of a map list by their keys, sets by value. A field that the schema calls atomic
(tolerations, nodeSelector, affinity terms) would be replaced as a whole, and the user's values in the field would be
lost: the API server refuses such a configuration, and so does this module.

Sources: k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch/smd.go (validatePatch);
sigs.k8s.io/structured-merge-diff v6 typed/merge.go (visitListItems, the order of a merged list).
"""

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import orjson

from .schema import PodSchema, Schema
from .typed import MisfitError, check, children, step


class ConfigurationError(ValueError):
    """The apply configuration cannot be merged into any object."""


def stripped(value: Any) -> Any:
    """Return ``value`` without the keys, at any depth, whose value is null: null means that the field is absent."""
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if item is not None}
    return [stripped(item) for item in value] if isinstance(value, list) else value


def merge(schema: PodSchema, kind: Schema, live: Any, applied: Any) -> Any:
    """Return ``live`` with ``applied`` merged into it.

    The arguments are not changed, and the result shares parts of them.

    Args:
        schema: the definitions that ``kind`` refers to.
        kind: the type of both values.
        live: the value to merge into, such as a Pod.
        applied: the apply configuration, without nulls.

    Raises:
        ConfigurationError: ``applied`` does not fit the schema, sets a part of an atomic field, or has an item twice.
    """
    where = "applyConfiguration"
    try:
        check(schema, kind, applied, where)
        _refuse_atomic(schema, kind, applied, where)
    except MisfitError as error:
        raise ConfigurationError(str(error)) from error
    return _merged(schema, kind, live, applied, where)


def _refuse_atomic(schema: PodSchema, kind: Schema, value: Any, where: str) -> None:
    atomic = kind.atomic or (kind.kind == "array" and kind.list_type not in ("map", "set"))
    if atomic and isinstance(value, (dict, list)):
        raise ConfigurationError(
            f"{where}: may not set atomic lists, maps or structs, which would replace what the user wrote; "
            "want a mutation of its own, or jsonPatch"
        )
    for key, item, below in children(schema, kind, value, where):
        _refuse_atomic(schema, below, item, f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}")


def _merged(schema: PodSchema, kind: Schema, live: Any, applied: Any, where: str) -> Any:
    if kind.kind == "array" and isinstance(applied, list):
        return _merged_list(schema, kind, live if isinstance(live, list) else [], applied, where)
    if not isinstance(applied, dict) or (not live and not applied):
        return applied
    result = dict(live) if isinstance(live, dict) else {}
    for key, item in applied.items():
        result[key] = _merged(schema, step(schema, kind, key, where), result.get(key), item, f"{where}.{key}")
    return result


def _merged_list(schema: PodSchema, kind: Schema, live: list[Any], applied: list[Any], where: str) -> list[Any]:
    """Return the merge of two lists of list type map or set (server-side apply).

    Items of ``applied`` are in the order of ``applied``, and items that only ``live`` has are in the order of ``live``.
    ``_order`` says how the two are interleaved. If ``live`` has an item twice, the applied item replaces both items.
    """
    theirs = [_identity(schema, kind, item) for item in live]
    ours = [_identity(schema, kind, item) for item in applied]
    if len(set(ours)) < len(ours):
        raise ConfigurationError(
            f"{where}: got an item twice, want each {' and '.join(kind.list_map_keys) or 'value'} once"
        )
    times = Counter(theirs)
    found = {name: None if times[name] > 1 else item for name, item in zip(theirs, live, strict=True)}
    element = kind.element or kind
    return [
        live[at]
        if place is None
        else _merged(schema, element, found.get(ours[place]), applied[place], f"{where}[{place}]")
        for at, place in _order(theirs, ours)
    ]


def _order(theirs: list[bytes], ours: list[bytes]) -> Iterator[tuple[int, int | None]]:
    """Yield the source of each item of the merged list, in order, as in the API server's function visitListItems.

    ``theirs`` has the identities of the live list's items: their keys or values as JSON. ``ours`` has those of the
    applied list. An item that only the live list has is (index in ``theirs``, None); any other item is (-1, index in
    ``ours``).
    """
    wanted, there = set(ours), set(theirs)
    shared = deque(name for name in ours if name in there)
    done: set[bytes] = set()
    left, right = 0, 0
    while left < len(theirs) or right < len(ours):
        if left < len(theirs) and right < len(ours):
            name = theirs[left]
            if name == ours[right]:
                done.add(name)
                yield -1, right
                left, right = left + 1, right + 1
                shared.popleft()
                continue
            if name in wanted and shared and shared[0] != name:
                left += 1  # both lists have it, but it is not the next shared item of ``ours``
                continue
        if left < len(theirs):
            if theirs[left] not in wanted:
                yield left, None
                left += 1
                continue
            if theirs[left] in done:
                left += 1
        if right < len(ours):
            name = ours[right]
            done.add(name)
            yield -1, right
            right += 1
            if shared and shared[0] == name:
                shared.popleft()


def _identity(schema: PodSchema, kind: Schema, item: Any) -> bytes:
    """Return the identity of an item of a map list or a set, as bytes; a missing key counts with the key's default."""
    if kind.list_type == "map" and kind.element is not None and isinstance(item, dict):
        fields = schema.definitions[kind.element.message]
        item = [item.get(key, fields[key].default) for key in kind.list_map_keys]
    return orjson.dumps(item)
