"""The comparison of a case's ``patched`` with the pod: whether one document is part of another."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..kube.positions import Path
from ..policy.wording import kind, shown

_ABSENT: Any = object()
# About two lines of a terminal
_SHOWN = 160


def differences(expected: object, actual: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield each place where ``expected`` is no part of ``actual``, with the actual value.

    - an object: each of its keys is in the actual object, with a value that matches; further keys do not matter;
    - a list: each of its items matches its own item of the actual list, in the same order; other items do not matter;
    - an empty object or list: the actual one is empty or absent;
    - null: the field is absent or null;
    - anything else: the same value of the same type (``"1"`` is not ``1``).
    """
    if expected in (None, {}, []):
        if actual is not _ABSENT and actual not in (None, {}, []):
            yield path, f"got {_shown(actual)}, want nothing"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            yield from differences(value, actual.get(key, _ABSENT), (*path, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _of_lists(expected, actual, path)
    elif type(expected) is not type(actual) or expected != actual:
        yield path, f"got {_shown(actual)}, want {_shown(expected)}"


def _of_lists(expected: Sequence[object], actual: Sequence[object], path: Path) -> Iterator[tuple[Path, str]]:
    """Match greedily: the first actual item that matches is taken, which leaves the most for the next ones."""
    start = 0
    for index, item in enumerate(expected):
        rest = range(start, len(actual))
        found = next((at for at in rest if not any(differences(item, actual[at]))), None)
        if found is not None:
            start = found + 1
        elif len(expected) == len(actual) == 1:
            yield from differences(item, actual[0], (*path, index))
        else:
            behind = " behind those matched before" if start else ""
            yield (*path, index), f"got no such item{behind} in {_shown(actual)}"


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    text = repr(value) if isinstance(value, dict | list) else shown(value)
    return text if len(text) <= _SHOWN else f"{kind(value)} ({text[:_SHOWN]}…)"
