"""The kinds of objects whose gangs cannot be counted by their pods alone, and what of them is read.

Whoever follows a cluster, or looks owners up, keeps of an object what ``keep`` returns: what ``operators`` counts, what
``stages`` goes by, the keys by which ``systems`` knows who places the group, and whose it is.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossier import POD_SPEC_ASKS, TEMPLATE_ASKS, Fields, OwnerKind
from ..kinds.dossiers import DOSSIERS
from ..kinds.roles import MOST_PARTS, asks_in, asks_of
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, list_at, mapping_at, text_at
from .finished import is_finished
from .systems import OWNER_LABELS

# Roles have components, and names of those that they wait for: four times MOST_PARTS are read in 4 ms, at each review.
_MOST_IN_ALL: Final = 4 * MOST_PARTS


OWNER_KINDS: Final[tuple[OwnerKind, ...]] = tuple(each for row in DOSSIERS for each in row.owners)
LOOKED_UP: Final[Mapping[tuple[str, str], OwnerKind]] = {
    (version, each.kind): each for each in OWNER_KINDS for version in each.api_versions
}
"""All of them, by apiVersion and kind as an owner reference has them."""


def keep(kind: OwnerKind, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is read of an owner; None where it makes no more pods, or has no uid to be found by.

    Raises:
        ValueError: it has more parts than any of its kind.
    """
    uid = at(document, "metadata", "uid")
    if not (isinstance(uid, str) and uid) or is_finished(kind.group, kind.kind, document):
        return None
    labels = {key: "" for key in mapping_at(document, "metadata", "labels") if key in OWNER_LABELS}
    owners = list_at(document, "metadata", "ownerReferences")
    # There is one at the most (apimachinery pkg/api/validation ValidateOwnerReferences).
    controllers = [
        {"controller": True, **{key: text_at(each, key) for key in ("apiVersion", "kind", "name", "uid")}}
        for each in owners
        if at(each, "controller") is True
    ]
    metadata: dict[str, Any] = {key: text_at(document, "metadata", key) for key in ("name", "namespace", "uid")}
    if labels:
        metadata["labels"] = labels
    if controllers:
        metadata["ownerReferences"] = controllers[:1]
    spec = _kept(document.get("spec"), kind.spec)
    if (parts := _parts(spec)) > _MOST_IN_ALL:
        raise ValueError(f"got {parts:,} parts of parts, want {_MOST_IN_ALL:,} at most")
    return {"apiVersion": kind.api_versions[0], "kind": kind.kind, "metadata": metadata, "spec": spec}


def _parts(kept: object) -> int:
    """Count the elements of all lists."""
    inside = kept.values() if isinstance(kept, dict) else kept if isinstance(kept, list) else ()
    return (len(kept) if isinstance(kept, list) else 0) + sum(map(_parts, inside))


def _kept(value: object, fields: Fields) -> Any:
    """Copy of a document what stands at the fields; in the place of anything else that is no scalar None."""
    if fields is None:
        return None if isinstance(value, dict | list) else value
    if fields is TEMPLATE_ASKS or fields is POD_SPEC_ASKS:
        return asks_of(value) if fields is TEMPLATE_ASKS else asks_in(value)
    below = fields.get(ELEMENT)
    every = ELEMENT in fields
    if every and isinstance(value, dict | list) and len(value) > MOST_PARTS:
        raise ValueError(f"got {len(value)} parts in one place, want {MOST_PARTS} at most")
    if every and isinstance(value, list):
        return [_kept(each, below) for each in value]
    if not isinstance(value, dict):
        return None
    if every:
        return {key: _kept(each, below) for key, each in value.items()}
    return {key: _kept(value[key], inner) for key, inner in fields.items() if value.get(key) is not None}
