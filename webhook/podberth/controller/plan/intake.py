"""Extracts the facts about waiting pods and PodGroups that the controller keeps, to save memory for 10,000 objects."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ...kube.pod import OwnerReference, annotations, controller, labels
from ...kube.unchecked import at, list_at, mapping_at, number, text, text_at
from ...wellknown import (
    GANG_ACCELERATED_ANNOTATION,
    GANG_LABEL,
    GANG_LEVEL_ANNOTATION,
    GANG_LEVEL_MODE_ANNOTATION,
    GANG_SIZE_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_LABEL,
)
from ...workload.gang_keys import with_gang_keys
from ...workload.gangs import gang_of
from .systems import references
from .world import Made, WaitingPod

# The limit of a label: a DNS subdomain, a slash and a name (apimachinery pkg/util/validation IsQualifiedName).
_LONGEST_KEY: Final = 253 + 1 + 63
_OVER: Final = frozenset({"Succeeded", "Failed"})


def waiting_pod(document: Mapping[str, Any]) -> WaitingPod | None:
    """Return the facts about a pod; None if it names no group or claim template, has a node, or has ended."""
    named, claims = tuple(references(document)), list_at(document, "spec", "resourceClaims")
    templates = tuple(name for each in claims if (name := text_at(each, "resourceClaimTemplateName")))
    metadata = mapping_at(document, "metadata")
    namespace, gang = text(metadata.get("namespace")), labels(document).get(GANG_LABEL) or ""
    over = metadata.get("deletionTimestamp") or text_at(document, "status", "phase") in _OVER
    if not (named or templates) or over or text_at(document, "spec", "nodeName"):
        return None
    noted = annotations(document)
    gang_keys = with_gang_keys(document) if gang and named else {}
    return WaitingPod(
        namespace=namespace,
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        created=_seconds(metadata.get("creationTimestamp")),
        owner=controller(document),
        groups=named,
        gang=gang,
        size=_size(noted),
        level=_level(noted),
        required=noted.get(GANG_LEVEL_MODE_ANNOTATION) == "required",
        gated=bool(at(document, "spec", "schedulingGates")),
        templates=templates,
        gang_keys=gang_keys,
        sized_by_owner=bool(gang_keys) and gang_of(gang_keys, namespace, {}).sized_by_owner,
    )


def _size(noted: Mapping[str, str]) -> int:
    """Return the number of pods in the gang's group, from the annotations ``noted`` of a pod.

    If not all pods of the gang request accelerators, only the pods that request accelerators count.
    """
    size, accelerated = (number(noted.get(key)) or 0 for key in (GANG_SIZE_ANNOTATION, GANG_ACCELERATED_ANNOTATION))
    return accelerated if 0 < accelerated < size else size


def _level(noted: Mapping[str, str]) -> str:
    """Return the key of the node label that is the gang's topology level, from the annotations ``noted`` of a pod.

    Empty if there is no key, or if the text is too long for a label key.
    """
    level = noted.get(GANG_LEVEL_ANNOTATION) or ""
    return level if len(level) <= _LONGEST_KEY else ""


def made(document: Mapping[str, Any], minimum: int = 0) -> Made:
    """Return the facts about an object that podberth makes, such as a PodGroup.

    ``minimum`` is the number of pods that a PodGroup waits for; 0 for an object of another kind.
    """
    metadata = mapping_at(document, "metadata")
    return Made(
        uid=text(metadata.get("uid")),
        version=text(metadata.get("resourceVersion")),
        ours=mapping_at(metadata, "labels").get(MANAGED_BY_LABEL) == MANAGED_BY,
        deleting=bool(metadata.get("deletionTimestamp")),
        owners=owners_of(document),
        minimum=minimum,
    )


def owners_of(document: Mapping[str, Any]) -> tuple[OwnerReference, ...]:
    """Return all ownerReferences of an object."""
    return tuple(
        OwnerReference(
            api_version=text_at(each, "apiVersion"),
            kind=text_at(each, "kind"),
            name=text_at(each, "name"),
            uid=text_at(each, "uid"),
            is_controller=at(each, "controller") is True,
            blocks_deletion=at(each, "blockOwnerDeletion") is True,
        )
        for each in list_at(document, "metadata", "ownerReferences")
    )


def _seconds(value: object) -> float:
    try:
        return datetime.fromisoformat(text(value)).timestamp()
    except ValueError:
        return 0.0
