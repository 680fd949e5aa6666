"""The owners that state the size of a gang, such as Jobs, and the fields of such owners that podberth keeps.

The webhook follows owners with a watch, and the controller looks up owners. Both keep only the result of ``keep``: the
fields from which gangs are read, and the owner's own controller. ``is_finished`` reads from an owner's status whether
the owner makes no more pods.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossier import POD_SPEC_ASKS, TEMPLATE_ASKS, Fields, Finished, OwnerKind
from ..kinds.dossiers import DOSSIERS
from ..kinds.roles import MOST_PARTS, asks_in, asks_of
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, list_at, mapping_at, text_at
from .systems import OWNER_LABELS, SYSTEMS

KEPT_ANNOTATIONS: Final = tuple(
    sorted(
        {each.key for row in DOSSIERS for each in row.stated_minimums}
        | {path[-1] for row in SYSTEMS for path in row.asked_above if path[:-1] == ("metadata", "annotations")}
    )
)
"""The annotations of owners that podberth keeps: minimums of groups, and requests to a group system for topology."""
_LONGEST: Final = 64  # the characters of an annotation's value that are kept; no number has as many digits
# The limit for list elements in all roles: components, and the roles that a role waits for. Reading them takes 4 ms.
_MOST_IN_ALL: Final = 4 * MOST_PARTS


OWNER_KINDS: Final[tuple[OwnerKind, ...]] = tuple(each for row in DOSSIERS for each in row.owners)
PARENT_GROUPS: Final = frozenset(each for row in DOSSIERS for each in row.parent_groups)
"""API groups of workloads that podberth does not read, but whose objects create owners that podberth reads."""
LOOKED_UP: Final[Mapping[tuple[str, str], OwnerKind]] = {
    (version, each.kind): each for each in OWNER_KINDS for version in each.api_versions
}
"""The kinds of owners that podberth reads, by the apiVersion and kind of an owner reference."""
FINISHED: Final[Mapping[tuple[str, str], Finished]] = {
    (each.group, each.kind): each for row in DOSSIERS for each in row.finished
}
"""The status field and values that show that an object is finished, by API group and kind."""
_REPLICA_SETS: Final = {label: kind for row in DOSSIERS for label, kind in row.replica_sets.items()}


def maker_of(replica_set: str, labels: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return (kind, name) of the object that made the ReplicaSet of this name, such as a Deployment.

    ``labels`` are the labels of one of the ReplicaSet's pods. None if no object made the ReplicaSet.
    """
    for label, kind in _REPLICA_SETS.items():
        value = labels.get(label)
        if value and replica_set.endswith(f"-{value}"):
            return kind, replica_set.removesuffix(f"-{value}")
    return None


def is_finished(group: str, kind: str, document: Mapping[str, Any]) -> bool:
    """Return whether the status of an object shows that the object is finished and makes no more pods.

    ``group`` and ``kind`` are arguments, because the items of a list have no apiVersion and kind.
    """
    row = FINISHED.get((group, kind))
    if row is None:
        return False
    said = at(document, "status", *row.field)
    if not isinstance(said, list):
        return isinstance(said, str) and said in row.words
    found = (at(each, "type") for each in said if at(each, "status") == "True")
    return any(isinstance(each, str) and each in row.words for each in found)


def keep(kind: OwnerKind, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields that podberth keeps of an owner of pods; None if the owner makes no more pods, or has no uid.

    Raises:
        ValueError: the lists in these fields have more elements than those of any real object of the kind.
    """
    uid = at(document, "metadata", "uid")
    if not (isinstance(uid, str) and uid) or is_finished(kind.group, kind.kind, document):
        return None
    labels = {key: "" for key in mapping_at(document, "metadata", "labels") if key in OWNER_LABELS}
    owners = list_at(document, "metadata", "ownerReferences")
    # An object has at most one controller (apimachinery pkg/api/validation ValidateOwnerReferences).
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
    annotations = {key: text_at(document, "metadata", "annotations", key)[:_LONGEST] for key in KEPT_ANNOTATIONS}
    if said := {key: value for key, value in annotations.items() if value}:
        metadata["annotations"] = said
    spec = _kept(document.get("spec"), kind.spec)
    if (parts := _parts(spec)) > _MOST_IN_ALL:
        raise ValueError(f"got {parts:,} parts of parts, want {_MOST_IN_ALL:,} at most")
    return {"apiVersion": kind.api_versions[0], "kind": kind.kind, "metadata": metadata, "spec": spec}


def _parts(kept: object) -> int:
    """Return the number of elements of all lists in a document."""
    inside = kept.values() if isinstance(kept, dict) else kept if isinstance(kept, list) else ()
    return (len(kept) if isinstance(kept, list) else 0) + sum(map(_parts, inside))


def _kept(value: object, fields: Fields) -> Any:
    """Return a copy of ``value`` with only ``fields``. A list or an object in place of a scalar becomes None."""
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
