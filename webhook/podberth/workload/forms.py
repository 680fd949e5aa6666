"""The pod that stands at a place, in the form of a Pod; and the way back.

``read`` puts the parts that a form names together; ``write`` returns the document with the parts put where they stand.
Whatever the document holds, nothing raises here: parts of a wrong type are handed on as they are.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kube.carry import ABSENT
from .places import Form, Steps

# kubernetes/api core/v1 types.go PodSpec (1.36), without what an operator's inline form uses in another sense
POD_SPEC_FIELDS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "schedulingGroup",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
        "workloadRef",
    }
)

# kubernetes/api core/v1 types.go Container
CONTAINER_FIELDS: Final = frozenset(
    {
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    }
)


def find(document: object, steps: Steps) -> Any:
    """Return what stands at a path, ABSENT where it does not go on."""
    for step in steps:
        known = step in document if isinstance(document, Mapping) else _is_index(document, step)
        if not known:
            return ABSENT
        document = document[step]  # type: ignore[index]  # a Mapping or a list, by what was just asked
    return document


def _is_index(document: object, step: object) -> bool:
    return isinstance(document, list) and isinstance(step, int) and 0 <= step < len(document)


def put(document: Any, steps: Steps, value: Any) -> Any:
    """Return ``document`` with ``value`` at a path, which ABSENT takes away; parents that are not there are made."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(document, list) and isinstance(step, int):
        return [put(item, rest, value) if index == step else item for index, item in enumerate(document)]
    before = document if isinstance(document, Mapping) else {}
    below = put(before.get(step, ABSENT if not rest else {}), rest, value)
    if below is ABSENT:
        return {key: item for key, item in before.items() if key != step}
    return {**before, step: below}


def front_of(form: Form, place: object) -> str:
    """Return the field that holds the pod's first container; the form's first where none is there."""
    if not form.front:
        return ""
    return next((key for key in form.front if isinstance(find(place, (key,)), Mapping)), form.front[0])


def read(document: object, path: Steps, form: Form) -> dict[str, Any]:
    """Return the pod that stands at a place, as it is written there; the parts are the document's own."""
    place = find(document, path)
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    for target, source in form.seats:
        value = find(place, source)
        if value is not ABSENT:
            pod = put(pod, target, value)
    for key in ("metadata", "spec"):
        pod.setdefault(key, _misfit(place, key, form))
    spec = pod["spec"]
    if form.inline and isinstance(spec, Mapping):
        pod["spec"] = spec = {key: value for key, value in spec.items() if key in POD_SPEC_FIELDS}
    if form.front and isinstance(spec, Mapping):
        inside = find(place, (front_of(form, place),))
        first = {} if inside is ABSENT or inside is None else inside
        if isinstance(first, Mapping):
            first = {key: value for key, value in first.items() if key in CONTAINER_FIELDS}
        others = spec.get("containers")
        pod["spec"] = {**spec, "containers": [first, *(others if isinstance(others, list) else ())]}
    return pod


def _misfit(place: object, key: str, form: Form) -> Any:
    """Return what stands in a part's place and is no object, so that it is reported; else None."""
    if not any(target[0] == key and source[:1] == (key,) for target, source in form.seats):
        return None
    value = find(place, (key,))
    return None if value is ABSENT or isinstance(value, Mapping) else value


def write(document: Any, path: Steps, form: Form, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """Return ``document`` with the pod ``after`` at a place where ``before`` was read; equal parts are not touched."""
    place = find(document, path)
    front = front_of(form, place)
    for target, source in form.seats:
        old, new = find(before, target), find(after, target)
        if target == ("spec",) and isinstance(new, Mapping) and isinstance(old, Mapping):
            document = _write_spec(document, (*path, *source), old, new, (*path, front) if front else ())
        elif old is not new:
            document = put(document, (*path, *source), new)
    return document


def _write_spec(document: Any, path: Steps, old: Mapping[str, Any], new: Mapping[str, Any], front: Steps) -> Any:
    for key in (*old, *(key for key in new if key not in old)):
        was, value = old.get(key, ABSENT), new.get(key, ABSENT)
        if was is value:
            continue
        if key == "containers" and front:
            first = find(document, front)
            fields = {**first} if isinstance(first, Mapping) else {}
            for each in (*value[0], *(each for each in was[0] if each not in value[0])):
                fields = put(fields, (each,), value[0].get(each, ABSENT))
            if value[0] is not was[0]:
                document = put(document, front, fields)
            if was[1:] != value[1:]:
                document = put(document, (*path, key), value[1:])
            continue
        document = put(document, (*path, key), value)
    return document
