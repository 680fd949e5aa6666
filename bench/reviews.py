"""The load: AdmissionReviews of GPU pods as an API server sends them, all different, always the same ones.

A review holds a marker wherever its workload's name goes; whoever sends it puts a number there, a new one for each
workload. So going through them again is not sending them again: names, owners' uids and gangs differ.

Each is the CREATE of a pod (`pods.py`) as it reaches a mutating webhook: defaulted, with what the built-in admission
plugins add (service account volume, default tolerations, priority) and with managedFields, which on a real cluster are
a third of the bytes. `python -m bench.reviews FILE PODS` writes them, one a line.
"""

import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from builders import review
from podberth.admission.review import AdmissionRequest
from podberth.kube.patch import Patch, apply

from .pods import SERIAL, pods, uid

JSON = dict[str, Any]

COUNT = 2000
"""Workloads."""

_SUFFIX = "x7k2p"
_TIME = "2026-01-01T00:00:00Z"


def distinct(count: int = COUNT, *, members: int = 1, seed: int = 1) -> Iterator[bytes]:
    """Yield reviews of the pods of ``count`` workloads, each of ``members`` pods one after another, with the marker."""
    chance = random.Random(seed)  # noqa: S311 - the same load in every run
    for _ in range(count):
        for pod in pods(chance, members):
            _default(pod)
            pod["metadata"]["managedFields"] = _managed_fields(pod)
            yield _encoded(pod, chance)


def numbered(review: bytes, serial: int) -> bytes:
    """Return the review of one pod: the marker replaced."""
    return review.replace(SERIAL, b"%0*d" % (len(SERIAL), serial))


def validated(request: AdmissionRequest, patch: Patch) -> AdmissionRequest:
    """Return the review that /validate gets of a pod after /mutate's patch, as the API server makes it."""
    pod = apply(request.object or {}, patch)
    metadata = pod["metadata"]
    if "name" not in metadata:
        pod = {**pod, "metadata": {**metadata, "name": f"{metadata['generateName']}{_SUFFIX}"}}
    return replace(request, object=pod)


def write(path: Path, reviews: Iterable[bytes]) -> Path:
    """Write reviews one a line, as the generator reads them."""
    path.write_bytes(b"".join(each + b"\n" for each in reviews))
    return path


def _encoded(document: JSON, chance: random.Random) -> bytes:
    user = {
        "username": "system:serviceaccount:kube-system:job-controller",
        "uid": "4d5f8e52-6a3f-4f0e-8e93-0d0f3c1f6a11",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }
    return orjson.dumps(review(document, namespace=document["metadata"]["namespace"], uid=uid(chance), userInfo=user))


_TOKEN_MOUNT = {
    "name": "kube-api-access-x2x4z",
    "readOnly": True,
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
}
_CONTAINER_DEFAULTS = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}


_TOKEN = {
    "defaultMode": 420,
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ],
}
_SPEC_DEFAULTS = {
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]


def _default(pod: JSON) -> None:
    """Add what the API server adds to a pod before it asks webhooks."""
    spec = pod["spec"]
    spec["containers"] = [
        {**each, "volumeMounts": [*each["volumeMounts"], _TOKEN_MOUNT], **_CONTAINER_DEFAULTS}
        for each in spec["containers"]
    ]
    spec["volumes"] = [*spec["volumes"], {"name": "kube-api-access-x2x4z", "projected": _TOKEN}]
    spec["tolerations"] = [*spec.get("tolerations", ()), *_TOLERATIONS]
    spec.update({key: value for key, value in _SPEC_DEFAULTS.items() if key not in spec})
    pod["status"] = {}


# Lists whose elements are owned one by one, with what an element is known by (kubernetes api/core/v1, listMapKey).
_KEYS = {
    "containers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "ownerReferences": ("uid",),
}
# Maps that have one owner as a whole, and what the API server itself adds after it has noted the owners.
_ATOMIC = frozenset({"nodeSelector", "secretKeyRef", "fieldRef"})
_NOT_OWNED = frozenset({"tolerations", "serviceAccount", "priority", "preemptionPolicy", "kube-api-access-x2x4z"})


def _managed_fields(pod: JSON) -> list[JSON]:
    """Return who owns what, as the API server notes it for the first write of an object."""
    metadata = {key: value for key, value in pod["metadata"].items() if key not in ("name", "namespace")}
    return [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": _TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": _owned({"metadata": metadata, "spec": pod["spec"]}),
        }
    ]


def _owned(value: JSON) -> JSON:
    return {f"f:{key}": _below(key, each) for key, each in value.items() if key not in _NOT_OWNED}


def _below(key: str, value: Any) -> JSON:
    if isinstance(value, dict) and key not in _ATOMIC:
        return {".": {}, **_owned(value)} if key not in ("metadata", "spec") else _owned(value)
    if key not in _KEYS:
        return {}
    elements = [each for each in value if each.get("name") not in _NOT_OWNED]
    named = {orjson.dumps({part: each[part] for part in _KEYS[key]}).decode(): each for each in elements}
    return {".": {}, **{f"k:{name}": {".": {}, **_owned(each)} for name, each in named.items()}}


if __name__ == "__main__":
    write(Path(sys.argv[1]), distinct(members=int(sys.argv[2])))
