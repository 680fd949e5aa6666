"""Converts a pod template in a document to a Pod, and a Pod back to a template.

A ``Form`` states, for each part of the Pod (such as metadata and spec), the path of that part in the document. ``read``
makes a Pod from these parts, and ``write`` puts the parts of a Pod back into the document. No function raises, whatever
the document contains: parts of a wrong type are passed on unchanged.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..kube.json_patch import ABSENT
from ..kube.paths import Path
from .name_sets import words
from .places import Form

# kubernetes/api core/v1 types.go PodSpec (1.36), without the fields that inline forms of operators use in another sense
POD_SPEC_FIELDS: Final = words(
    "activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy "
    "enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname "
    "hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy "
    "priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName "
    "schedulerName schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName "
    "setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations "
    "topologySpreadConstraints volumes workloadRef"
)

# kubernetes/api core/v1 types.go Container
_CONTAINER_FIELDS: Final = (
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
)
CONTAINER_FIELDS: Final[Mapping[str, str]] = {name: name for name in _CONTAINER_FIELDS}
"""The fields of a Container: a mapping from each field's name to the same name."""


def find(document: object, steps: Path) -> Any:
    """Return the value at a path of a document; ABSENT if there is no value."""
    for step in steps:
        if isinstance(document, Mapping):
            document = document.get(step, ABSENT)
        elif isinstance(document, list) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            return ABSENT
    return document


def put(document: Any, steps: Path, value: Any) -> Any:
    """Return a copy of a document with ``value`` at a path. The value ABSENT removes the present value at the path.

    ``document`` itself is unchanged. Missing parent objects are created. An index at which a list has no item changes
    nothing.
    """
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


def front_of(form: Form, place: object) -> Path | None:
    """Return the path, from the object ``place``, of a first container outside the list ``containers``; None if none.

    Some objects with a template have the fields of the first container elsewhere, such as in ``runner``
    (``Form.front``).
    """
    found = next((steps for steps in form.front if isinstance(find(place, steps), Mapping)), None)
    return form.front[0] if found is None and form.front_always else found


def read(document: object, path: Path, form: Form) -> dict[str, Any]:
    """Return the Pod that the template at a path describes; the Pod shares the document's objects and copies none."""
    place = find(document, path)
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    for target, source in form.seats:
        value = find(place, source)
        if target == ("spec",) and form.fields is not None and isinstance(value, Mapping):
            value = {key: item for key, item in value.items() if key in form.fields}
        if value is not ABSENT:
            pod = put(pod, target, value)
    for key in ("metadata", "spec"):
        pod.setdefault(key, _misfit(place, key, form))
    front = front_of(form, place)
    spec = {} if pod["spec"] is None and front is not None else pod["spec"]
    if front is not None and isinstance(spec, Mapping):
        inside = find(place, front)
        names = form.front_fields.items() if isinstance(inside, Mapping) else ()
        first = {key: inside[name] for key, name in names if name in inside}
        others = spec.get("containers")
        pod["spec"] = {**spec, "containers": [first, *(others if isinstance(others, list) else ())]}
    return pod


def _misfit(place: object, key: str, form: Form) -> Any:
    """Return the value of the template's field ``key`` (metadata or spec) if the value is of a wrong type.

    The value becomes a part of the Pod, so that the wrong type is reported. The result is None if the value is an
    object, if the template ``place`` lacks the field, or if ``form`` does not read the field.
    """
    if not any(target[0] == key and source[:1] == (key,) for target, source in form.seats):
        return None
    value = find(place, (key,))
    return None if value is ABSENT or isinstance(value, Mapping) else value


def write(document: Any, path: Path, form: Form, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """Return the document with the changes from the pod ``before`` to the pod ``after`` written into a template.

    ``path`` leads to the template from which the pod ``before`` was made. Parts that are equal in both pods are not
    written.
    """
    front = front_of(form, find(document, path))
    if front is not None:
        first, old, new = (*path, *front), find(before, _FIRST), find(after, _FIRST)
        for key, name in form.front_fields.items():
            if find(old, (key,)) is not find(new, (key,)):
                document = put(document, (*first, name), find(new, (key,)))
        before, after = _without_first(before), _without_first(after)
    for target, source in form.seats:
        old, new = find(before, target), find(after, target)
        if target == ("spec",) and isinstance(new, Mapping):
            apart = {seat[1] for seat, _ in form.seats if len(seat) > 1 and seat[0] == "spec"}
            document = _write_spec(document, (*path, *source), old, new, apart)
        elif old is not new:
            document = put(document, (*path, *source), new)
    return document


_FIRST: Final = ("spec", "containers", 0)


def _without_first(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = pod["spec"]
    rest = spec["containers"][1:]
    return {**pod, "spec": {key: rest if key == "containers" else spec[key] for key in spec}}


def _write_spec(document: Any, path: Path, old: Any, new: Mapping[str, Any], apart: Collection[object]) -> Any:
    before = old if isinstance(old, Mapping) else {}
    for key in (*before, *(key for key in new if key not in before)):
        was, value = before.get(key, ABSENT), new.get(key, ABSENT)
        if was is not value and was != value and key not in apart:
            document = put(document, (*path, key), value)
    return document


INLINE: Final = Form(seats=((("spec",), ()),), fields=POD_SPEC_FIELDS)
"""The ``Form`` of an object that has the fields of a PodSpec among other fields."""

COMPONENT: Final = Form(
    seats=((("metadata", "labels"), ("labels",)), (("metadata", "annotations"), ("annotations",)), (("spec",), ())),
    fields=POD_SPEC_FIELDS,
)
"""The ``Form`` of an object that has the fields of a PodSpec, and the labels and annotations of the object's pods."""
