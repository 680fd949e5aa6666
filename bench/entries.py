"""One entry of each list of the table of bounds (``kube.pod_limits``), by the list's name, for ``bench.genome``."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

from podberth.kube.paths import FieldPath

from .clusters import CLAIM_TEMPLATES

Entry: TypeAlias = Callable[[int, int], Any]
"""Makes an entry from its number and its kind; of a map a pair."""

KINDS = 4
"""How many kinds of entries a list may have; who has fewer repeats them."""
_LARGEST_CLAIMS = 12  # of 32 classes; with eight of two they are as many devices as a pod may ask for
_KEYS = (
    "nvidia.com/gpu.product",
    "topology.kubernetes.io/zone",
    "network.topology.nvidia.com/leaf",
    "kubernetes.io/hostname",
    "nvidia.com/gpu.memory",
    "example.com/absent",
)
_OPERATORS = ("NotIn", "In", "Exists", "Gt")
_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu", "cpu")
_GANGS = ("podberth.io/gang", "kueue.x-k8s.io/pod-group-name", "scheduling.x-k8s.io/pod-group", "example.com/l")


def _named(prefix: str, **more: Any) -> Entry:
    return lambda number, _: {"name": f"{prefix}{number}", **more}


def _pair(prefix: str, value: str = "1") -> Entry:
    return lambda number, _: (f"{prefix}{number}", value)


def _text(prefix: str) -> Entry:
    return lambda number, _: f"{prefix}{number}"


def _toleration(number: int, kind: int) -> dict[str, Any]:
    if kind == 0:
        return {"key": f"k{number}", "operator": "Equal", "value": "v", "effect": "NoSchedule"}
    if kind == 1:
        return {"operator": "Equal", "value": f"v{number}"}
    if kind == 2:  # noqa: PLR2004 - the third kind
        return {"key": "nvidia.com/gpu", "operator": "Equal", "value": f"v{number}", "effect": "NoExecute"}
    return {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": number}


def _expression(number: int, kind: int) -> dict[str, Any]:
    operator = _OPERATORS[kind % len(_OPERATORS)]
    key = _KEYS[number % len(_KEYS)]
    return {"key": key, "operator": operator, "values": [] if operator == "Exists" else [str(number)]}


def _name_expression(number: int, kind: int) -> dict[str, Any]:
    operator = ("NotIn", "In")[kind % 2]
    return {"key": "metadata.name", "operator": operator, "values": [f"node-{number:05d}"]}


def _value(number: int, kind: int) -> str:
    return (f"v{number}", f"node-{number:05d}", f"leaf-{number % 1000:03d}", str(number))[kind]


def _resource(number: int, kind: int) -> tuple[str, str]:
    if kind == 0:
        return f"nvidia.com/mig-{number % 7 + 1}g.{number}gb", "1"
    if kind == 1:
        return f"example.com/r{number}", "unreadable"
    name = _RESOURCES[number % len(_RESOURCES)]
    return name if number < len(_RESOURCES) else f"{name}-{number}", "1"


def _pod_term(number: int, kind: int) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {_GANGS[kind]: "g"}}, "topologyKey": _KEYS[number % len(_KEYS)]}


def _spread(number: int, kind: int) -> dict[str, Any]:
    return {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **_pod_term(number, kind)}


def _owner(number: int, kind: int) -> dict[str, Any]:
    who = {"apiVersion": "batch/v1", "kind": "Job", "name": f"o{number}", "uid": f"u{number}"}
    return {**who, "controller": kind % 2 == 1}


def _claim(number: int, kind: int) -> dict[str, Any]:
    """Return a claim from a template of the cluster: of 32 classes, of two, of both sorts, or one that nobody knows."""
    largest, small = CLAIM_TEMPLATES
    template = (largest, small, largest if number < _LARGEST_CLAIMS else small, "unknown")[kind]
    return {"name": f"claim{number}", "resourceClaimTemplateName": template}


def _label(number: int, kind: int) -> tuple[str, str]:
    return (_GANGS[kind], "g") if number == 0 else (f"l{number}", "v")


NODE_TERM: dict[str, Any] = {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
_ENTRIES: Mapping[str, Entry] = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers"), _named("c", image="i")),
    "env": _named("V", value="v"),
    "envFrom": lambda number, _: {"configMapRef": {"name": f"c{number}"}},
    "args": _text("a"),
    "command": _text("a"),
    "ports": lambda number, _: {"containerPort": number},
    "volumeMounts": _named("v", mountPath="/m"),
    "volumeDevices": _named("v", devicePath="/d"),
    "resizePolicy": lambda number, _: {"resourceName": f"r{number}", "restartPolicy": "NotRequired"},
    "limits": _resource,
    "requests": _resource,
    "claims": _named("claim"),
    "labels": _label,
    "annotations": _pair("a"),
    "finalizers": _text("example.com/f"),
    "ownerReferences": _owner,
    "managedFields": lambda number, _: {"manager": f"m{number}", "fieldsV1": {"f:metadata": {"f:annotations": {}}}},
    "nodeSelector": lambda number, kind: (_KEYS[number] if number < kind else f"s{number}", "v"),
    "overhead": _resource,
    "tolerations": _toleration,
    "volumes": _named("v", emptyDir={}),
    "imagePullSecrets": _named("s"),
    "resourceClaims": _claim,
    "schedulingGates": _named("example.com/g"),
    "hostAliases": lambda number, _: {"ip": "10.0.0.1", "hostnames": [f"h{number}"]},
    "readinessGates": lambda number, _: {"conditionType": f"example.com/c{number}"},
    "topologySpreadConstraints": _spread,
    "matchLabels": _pair("l"),
    "matchExpressions": _expression,
    "matchFields": _name_expression,
    "values": _value,
    "nodeSelectorTerms": lambda *_: _copied(NODE_TERM),
    "requiredDuringSchedulingIgnoredDuringExecution": _pod_term,
    "preferredDuringSchedulingIgnoredDuringExecution": lambda number, kind: {
        "weight": 1,
        "preference": _copied(NODE_TERM),
        "podAffinityTerm": _pod_term(number, kind),
    },
    "namespaces": _text("n"),
    "matchLabelKeys": _text("l"),
    "mismatchLabelKeys": _text("l"),
}


def _copied(document: Any) -> Any:
    return orjson.loads(orjson.dumps(document))


def entry_of(path: FieldPath) -> Entry:
    """Return what makes the entries of the list or map at a path of the table.

    Raises:
        KeyError: nobody has said what an entry of that list is like.
    """
    return _ENTRIES[path[-1]]
