"""Owners as the pods of a test name them: tables of gangs are tested on objects that need no names of their own.

Which object a reference is to, and which one it is not, is tested in tests/unit/workload/test_forged_owners.py.
"""

from collections.abc import Mapping
from typing import Any

from podberth.kinds.roles import Predicted
from podberth.workload import gangs
from podberth.workload.gangs import Gang

JSON = dict[str, Any]
_SET = "jobset.sigs.k8s.io/jobset"


def gang_of(pod: Mapping[str, Any], namespace: str, owners: Mapping[str, Any], *known: Any, **more: Any) -> Gang:
    """Return what podberth's own says, of owners that are what the pod and they themselves say about each other."""
    return gangs.gang_of(pod, namespace, as_named(pod, owners, namespace), *known, **more)


def as_named(pod: Mapping[str, Any], owners: Mapping[str, Any], namespace: str) -> JSON:
    """Return the owners by uid with names, versions and the namespace; hostile and predicted owners are kept."""
    metadata: Mapping[str, Any] = pod.get("metadata") or {}
    labels = metadata.get("labels") or {}
    names = {each.get("uid"): each.get("name") for each in metadata.get("ownerReferences") or ()}
    if isinstance(labels, dict) and f"{_SET}-uid" in labels:
        names[labels[f"{_SET}-uid"]] = labels.get(f"{_SET}-name")
    versions = {each.get("uid"): each.get("apiVersion") for each in metadata.get("ownerReferences") or ()}
    found = {}
    for uid, owner in owners.items():
        if "/" in uid or isinstance(owner, Predicted) or not _is_object(owner):
            found[uid] = owner
            continue
        own = {"name": names.get(uid) or owner["metadata"].get("name") or "work", "namespace": namespace, "uid": uid}
        version = owner.get("apiVersion") or versions.get(uid) or "example.com/v1"
        found[uid] = {**owner, "apiVersion": version, "metadata": {**owner["metadata"], **own}}
    return {uid: _with_references(owner, found) for uid, owner in found.items()}


def _with_references(owner: Any, owners: Mapping[str, Any]) -> Any:
    """Return an object whose references to owners that are there are whole."""
    if isinstance(owner, Predicted) or not _is_object(owner) or not owner["metadata"].get("ownerReferences"):
        return owner
    whole = [_whole(each, owners) for each in owner["metadata"]["ownerReferences"]]
    return {**owner, "metadata": {**owner["metadata"], "ownerReferences": whole}}


def _whole(reference: Any, owners: Mapping[str, Any]) -> Any:
    owner = owners.get(str(reference.get("uid"))) if isinstance(reference, dict) else None
    if owner is None or not _is_object(owner):
        return reference
    return {**reference, **{key: owner.get(key) for key in ("apiVersion", "kind")}, "name": owner["metadata"]["name"]}


def _is_object(owner: Any) -> bool:
    return isinstance(owner, dict) and isinstance(owner.get("metadata"), dict)
