"""Records for tests: sealed as podberth seals them, and read without their seal."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from podberth.mutation.record import sealed
from podberth.mutation.seal import OFFLINE, Sealer, bearer_of
from podberth.wellknown import APPLIED_ANNOTATION

JSON = dict[str, Any]
T = TypeVar("T")

_SEAL = re.compile(r',\\"=\\":\\"[\w-]{22}\\"')


def with_record(pod: JSON, claims: Mapping[str, Any], sealer: Sealer = OFFLINE, *, namespace: str = "default") -> JSON:
    """Return the pod with these claims as its record, sealed for this pod."""
    text = json.dumps(claims, separators=(",", ":"))
    return with_annotation(pod, sealed(text, sealer.seal(bearer_of(pod, namespace), text)))


def with_annotation(pod: JSON, text: str) -> JSON:
    """Return the pod with ``text`` where its record is expected."""
    annotations = {**(pod["metadata"].get("annotations") or {}), APPLIED_ANNOTATION: text}
    return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}}


def annotation_of(pod: JSON) -> str:
    """Return the record as it is on the pod; empty where there is none."""
    return str((pod["metadata"].get("annotations") or {}).get(APPLIED_ANNOTATION, ""))


def claims_of(pod: JSON) -> JSON:
    """Return what the record on a pod claims, whoever wrote it."""
    text = annotation_of(pod)
    return {policy: claims for policy, claims in json.loads(text).items() if policy != "="} if text else {}


def without_record(pod: JSON) -> JSON:
    """Return the pod without its record, without annotations where that was the only one, and without who sent it."""
    kept = {k: v for k, v in (pod["metadata"].get("annotations") or {}).items() if k != APPLIED_ANNOTATION}
    metadata = {key: value for key, value in pod["metadata"].items() if key not in ("annotations", "managedFields")}
    return {**pod, "metadata": {**metadata, "annotations": kept} if kept else metadata}


def arrived(pod: JSON) -> JSON:
    """Return a new pod as the API server hands it to webhooks: with a note of the annotations that were sent."""
    sent: JSON = {f"f:{key}": {} for key in pod["metadata"].get("annotations") or {}}
    fields = {"f:metadata": {"f:annotations": {".": {}, **sent}} if sent else {}, "f:spec": {}}
    entry = {"manager": "kubectl-create", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**pod, "metadata": {**pod["metadata"], "managedFields": [{**entry, "fieldsV1": fields}]}}


def without_seals(document: T) -> T:
    """Return a patch or a pod in which records have no seal: it depends on the pod and on the key of the process."""
    found: T = json.loads(_SEAL.sub("", json.dumps(document)))
    return found
