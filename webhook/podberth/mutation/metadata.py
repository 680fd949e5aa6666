"""The mutations ``labels`` and ``annotations``: set each key if the user has not set it."""

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.paths import Path
from . import leaf
from .change import Change
from .concern import Concern, Present, is_string_map
from .conflict import ConflictCase, Resolution


def concern(field: str, word: str, check: Callable[[str, object], object] = lambda _key, _value: None) -> Concern:
    """Return the mutation ``labels``, or the mutation ``annotations``.

    Args:
        field: the name of the mutation and of the field of ``metadata``: "labels" or "annotations".
        word: "label" or "annotation", for messages.
        check: raises EvaluationError if a key and its value may not be written.
    """

    def build(draft: Draft, values: Mapping[str, object]) -> Change | None:
        for key, value in values.items():
            if value is not None:
                check(key, value)
        wrote: dict[str, str] = {}
        for key, value in sorted(values.items()):
            if value is None or draft.get(("metadata", field, key)) is not None:
                continue
            if not isinstance(value, str):
                raise EvaluationError(f"{field}[{key}]: got {leaf.kind(value)}, want a string")
            draft.set(("metadata", field, key), value)
            wrote[key] = value
        return Change(field, wrote, lambda: f"{word} {leaf.pairs(wrote)}") if wrote else None

    def holds(there: Present, wrote: dict[str, str]) -> bool:
        present = there.draft.get(("metadata", field)) or {}
        return all(present.get(key) == value for key, value in wrote.items())

    def wrote_at(wrote: dict[str, str], path: Path, value: object) -> bool:
        return path[:2] == ("metadata", field) and wrote.get(str(path[2])) == value

    def conflicts(case: ConflictCase) -> Resolution:
        wanted: dict[Path, Any] = {("metadata", field, key): value for key, value in case.proposal.leaves.items()}
        return case.fields(wanted), case.proposal

    return Concern(
        name=field,
        build=lambda draft, proposal, _: build(draft, proposal.leaves),
        visits=lambda leaves: tuple([("metadata", field, key) for key in leaves]),
        is_valid=is_string_map,
        holds=holds,
        wrote_at=wrote_at,
        conflicts=conflicts,
    )
