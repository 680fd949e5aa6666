"""The JSON types of the Pod's fields that podberth reads, as one table, and the check of a Pod against the table.

Only types are checked: the API server decides whether a value is legal. Every review from a real API server passes,
because the API server decodes a Pod before sending it. A file, or a request of an unknown client, may contain anything.

A field that is absent or null passes. An item of a list or a value of a map may not be null, except in a container's
command and args.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

# A check returns the faults below a value: the path from there in reverse, and the message. Nothing is built for a
# value that passes: this runs on every review.
_Faults = list[tuple[list[str], str]]
_Check = Callable[[Any], "_Faults | None"]

CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
"""The lists of containers in a Pod's spec."""
RESOURCED_LISTS: Final = ("containers", "initContainers")
"""The lists whose containers have resources (docs/rules.md, rule 15)."""

_MOST_PROBLEMS: Final = 20  # a person fixes a few at a time, and a hostile document may have millions of wrong fields

_NAMES: Final[dict[type, str]] = {
    dict: "object",
    list: "list",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def shape_problems(pod: object) -> list[str]:
    """Return a message, ``path: got X, want Y``, for each field of a Pod with another JSON type than podberth expects.

    If there are more than twenty, the last message says so. If the result is empty, no function that reads or writes
    the Pod raises. Fields that podberth does not read (environment, ports, volumes, probes) are not checked, because
    they are most of a Pod, and the check runs on every review.
    """
    return _messages(_POD(pod))


def template_problems(pod: object) -> list[str]:
    """Return a message for each field with a wrong JSON type in a Pod made from a template, before defaults are added.

    More fields are checked than in a Pod from the API server, because the code that adds the defaults reads them:
    volumes and environment, for example.
    """
    return _messages(_TEMPLATE(pod))


def envelope_problems(request: object) -> list[str]:
    """Return a message for each field of an AdmissionReview's ``request`` with a wrong JSON type.

    The objects in the request are not checked.
    """
    return _messages(_REQUEST(request))


def registration_problems(document: object) -> list[str]:
    """Return a message for each field of a webhook configuration that podberth reads and that has a wrong JSON type."""
    return _messages(_REGISTRATION(document))


def metadata_problems(document: object) -> list[str]:
    """Return a message for each field with a wrong JSON type in the metadata of an object of any kind."""
    return _messages(_ANY_KIND(document))


def _messages(faults: "_Faults | None") -> list[str]:
    if not faults:
        return []
    found = [f"{_path(where)}: {what}" for where, what in faults[:_MOST_PROBLEMS]]
    if len(faults) > _MOST_PROBLEMS:
        found.append("pod: more fields have a wrong type; fix these first")
    return found


def _path(reversed_steps: list[str]) -> str:
    text = ""
    for step in reversed(reversed_steps):
        text += step if not text or step.startswith("[") else f".{step}"
    return text or "pod"


def type_name(value: object) -> str:
    """Return the JSON type of a value, as messages name it: ``string``, ``object``."""
    return _NAMES.get(type(value), type(value).__name__)


def kind_of(value: object) -> str:
    """Return the name of a decoded value's type, as text for a message, such as ``a list``."""
    names = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "null")


def shown(value: object, most: int = 80) -> str:
    """Return a value as text for a message, without Python's words.

    A number or boolean is written as in JSON, and a string in quotes with ``most`` characters at most. Any other value
    is represented by the name of its type.
    """
    if isinstance(value, bool | int | float):
        return repr(value).lower()[:most]
    return repr(value)[:most] if isinstance(value, str) else kind_of(value)


def _fault(value: object, want: str) -> _Faults:
    return [([], f"got {type_name(value)}, want {want}")]


def _a(kind: type) -> _Check:
    name = _NAMES[kind]

    def check(value: Any) -> _Faults | None:
        return None if type(value) is kind else _fault(value, name)

    return check


def _scalar(value: Any) -> _Faults | None:
    """Return a fault if a value is neither a string, a number nor null, as a quantity may be; else None."""
    return None if type(value) in _SCALARS else _fault(value, "string or number")


def _word(value: Any) -> _Faults | None:
    """Return a fault if a value is neither a string nor null; else None.

    The API server decodes null in a list of strings to "".
    """
    return None if value is None or type(value) is str else _fault(value, "string")


_SCALARS: Final = frozenset({str, int, float, type(None)})


def _object(fields: Mapping[str, _Check]) -> _Check:
    """Return the check of an object with known fields. The check accepts any value of an unknown field."""

    def check(value: Any) -> _Faults | None:
        if type(value) is not dict:
            return _fault(value, "object")
        faults: _Faults | None = None
        for key, child in value.items():
            if child is not None and key in fields and (below := fields[key](child)):
                faults = _gathered(faults, key, below)
        return faults

    return check


def _of_parts(holder: type, parts: Callable[[Any], Iterable[tuple[Any, Any]]], element: _Check) -> _Check:
    """Return the check of a ``holder`` (a list or a map) that checks each item or value with the check ``element``."""

    def check(value: Any) -> _Faults | None:
        if type(value) is not holder:
            return _fault(value, _NAMES[holder])
        faults: _Faults | None = None
        for key, child in parts(value):
            if below := element(child):
                faults = _gathered(faults, f"[{key}]", below)
                if len(faults) > _MOST_PROBLEMS:
                    break
        return faults

    return check


_list: Final = partial(_of_parts, list, enumerate)
_map: Final = partial(_of_parts, dict, dict.items)


def _gathered(faults: _Faults | None, step: str, below: _Faults) -> _Faults:
    """Return ``faults``, with the faults ``below`` added; the path of each added fault starts with ``step``."""
    for where, _ in below:
        where.append(step)
    return [*faults, *below] if faults else below


# ---- the table: kubernetes/api core/v1 types.go and apimachinery meta/v1 types.go, as far as podberth reads ----------
_STRING: Final = _a(str)
_INTEGER: Final = _a(int)
_BOOLEAN: Final = _a(bool)
_OBJECT: Final = _a(dict)
_STRINGS: Final = _list(_STRING)
_STRING_MAP: Final = _map(_STRING)
_QUANTITIES: Final = _map(_scalar)

_REQUIREMENTS: Final = _list(_object({"key": _STRING, "operator": _STRING, "values": _STRINGS}))
_LABEL_SELECTOR: Final = _object({"matchLabels": _STRING_MAP, "matchExpressions": _REQUIREMENTS})
_NODE_TERM: Final = _object({"matchExpressions": _REQUIREMENTS, "matchFields": _REQUIREMENTS})
_POD_TERM: Final = _object(
    {
        "labelSelector": _LABEL_SELECTOR,
        "namespaceSelector": _LABEL_SELECTOR,
        "namespaces": _STRINGS,
        "topologyKey": _STRING,
        "matchLabelKeys": _STRINGS,
        "mismatchLabelKeys": _STRINGS,
    }
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_POD_AFFINITY: Final = _object(
    {_REQUIRED: _list(_POD_TERM), _PREFERRED: _list(_object({"weight": _INTEGER, "podAffinityTerm": _POD_TERM}))}
)
_AFFINITY: Final = _object(
    {
        "nodeAffinity": _object(
            {
                _REQUIRED: _object({"nodeSelectorTerms": _list(_NODE_TERM)}),
                _PREFERRED: _list(_object({"weight": _INTEGER, "preference": _NODE_TERM})),
            }
        ),
        "podAffinity": _POD_AFFINITY,
        "podAntiAffinity": _POD_AFFINITY,
    }
)

_NAMED: Final = _object({"name": _STRING})
_RESOURCES: Final = _object(
    {
        "limits": _QUANTITIES,
        "requests": _QUANTITIES,
        "claims": _list(_object({"name": _STRING, "request": _STRING})),
    }
)
_CONTAINER_FIELDS: Final[Mapping[str, _Check]] = {
    "name": _STRING,
    "image": _STRING,
    "restartPolicy": _STRING,
    "resources": _RESOURCES,
}
_TEMPLATE_CONTAINER: Final = _object(
    {
        **_CONTAINER_FIELDS,
        "command": _list(_word),
        "args": _list(_word),
        "env": _list(_object({"name": _STRING, "value": _STRING, "valueFrom": _OBJECT})),
        "envFrom": _list(_OBJECT),
        "ports": _list(_OBJECT),
        "volumeMounts": _list(_NAMED),
        "securityContext": _OBJECT,
        "livenessProbe": _OBJECT,
        "readinessProbe": _OBJECT,
        "startupProbe": _OBJECT,
    }
)

_METADATA: Final = _object(
    {
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "uid": _STRING,
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "finalizers": _STRINGS,
        "ownerReferences": _list(
            _object({"apiVersion": _STRING, "kind": _STRING, "name": _STRING, "uid": _STRING, "controller": _BOOLEAN})
        ),
    }
)
_ANY_KIND: Final = _object({"metadata": _METADATA})
# kubernetes/api admissionregistration/v1 types.go
_RULES: Final = _list(_object({"operations": _STRINGS, "apiGroups": _STRINGS, "resources": _STRINGS}))
_REGISTRATION: Final = _object({"webhooks": _list(_object({"namespaceSelector": _LABEL_SELECTOR, "rules": _RULES}))})
_SPEC_FIELDS: Final[Mapping[str, _Check]] = {
    **dict.fromkeys(CONTAINER_LISTS, _list(_object(_CONTAINER_FIELDS))),
    "nodeName": _STRING,
    "nodeSelector": _STRING_MAP,
    "affinity": _AFFINITY,
    "tolerations": _list(
        _object(
            {
                "key": _STRING,
                "operator": _STRING,
                "value": _STRING,
                "effect": _STRING,
                "tolerationSeconds": _INTEGER,
            }
        )
    ),
    "topologySpreadConstraints": _list(_object({"topologyKey": _STRING, "labelSelector": _LABEL_SELECTOR})),
    "schedulerName": _STRING,
    "runtimeClassName": _STRING,
    "priorityClassName": _STRING,
    "preemptionPolicy": _STRING,
    "priority": _INTEGER,
    "restartPolicy": _STRING,
    "serviceAccountName": _STRING,
    "hostname": _STRING,
    "schedulingGates": _list(_NAMED),
    "schedulingGroup": _object({"podGroupName": _STRING}),
    "resources": _RESOURCES,
    "resourceClaims": _list(
        _object({"name": _STRING, "resourceClaimName": _STRING, "resourceClaimTemplateName": _STRING})
    ),
    "overhead": _QUANTITIES,
}
_TEMPLATE_FIELDS: Final[Mapping[str, _Check]] = {
    **_SPEC_FIELDS,
    **dict.fromkeys(CONTAINER_LISTS, _list(_TEMPLATE_CONTAINER)),
    "volumes": _list(_NAMED),
    "securityContext": _OBJECT,
    "hostNetwork": _BOOLEAN,
    "hostIPC": _BOOLEAN,
    "terminationGracePeriodSeconds": _INTEGER,
    "activeDeadlineSeconds": _INTEGER,
}


def _pod(spec: Mapping[str, _Check]) -> _Check:
    fields = {"apiVersion": _STRING, "kind": _STRING, "metadata": _METADATA, "status": _OBJECT}
    return _object({**fields, "spec": _object(spec)})


_POD: Final = _pod(_SPEC_FIELDS)
_TEMPLATE: Final = _pod(_TEMPLATE_FIELDS)

# ---- kubernetes/api admission/v1 types.go, AdmissionRequest, and authentication/v1 types.go, UserInfo ---------------
_GROUP_KIND: Final = _object({"group": _STRING, "version": _STRING, "kind": _STRING})
_GROUP_RESOURCE: Final = _object({"group": _STRING, "version": _STRING, "resource": _STRING})
_REQUEST: Final = _object(
    {
        "uid": _STRING,
        "kind": _GROUP_KIND,
        "resource": _GROUP_RESOURCE,
        "subResource": _STRING,
        "requestKind": _GROUP_KIND,
        "requestResource": _GROUP_RESOURCE,
        "requestSubResource": _STRING,
        "name": _STRING,
        "namespace": _STRING,
        "operation": _STRING,
        "userInfo": _object(
            {"username": _STRING, "uid": _STRING, "groups": _STRINGS, "extra": _map(_STRINGS)},
        ),
        "object": _OBJECT,
        "oldObject": _OBJECT,
        "dryRun": _BOOLEAN,
        "options": _OBJECT,
    }
)
