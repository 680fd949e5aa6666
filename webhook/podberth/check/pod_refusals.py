"""Finds what the API server refuses in a pod, though all types and all fields are known, whoever makes the pod.

Source: kubernetes 1.36 pkg/apis/core/validation (ValidatePodTemplateSpec and the functions that it calls). What the API
server's defaults repair is no finding: a volume without a source is an emptyDir.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..kube.object_names import MAX_LABEL, MAX_SUBDOMAIN, is_label, is_label_value, is_qualified, is_subdomain
from ..kube.paths import Path
from ..kube.pod import Container, containers, metadata, repeated_names, spec
from ..kube.quantity import parse_count, parse_quantity
from ..kube.unchecked import mapping_at, text, text_at
from ..words import listed
from .numbers import holds_placeholder, is_filled_in_later, is_placeholder

Refusals = Iterator[tuple[Path, str]]

WANT_LABEL: Final = f"at most {MAX_LABEL} lower-case letters, digits and '-', with no '-' at an end"
WANT_SUBDOMAIN: Final = f"at most {MAX_SUBDOMAIN} lower-case letters, digits, '-' and '.', with neither at an end"
_WANT_VALUE: Final = f"at most {MAX_LABEL} letters, digits, '-', '_' and '.', with a letter or digit at both ends"
_WANT_KEY: Final = "a key such as app or example.com/app"

# validation.go, IsNativeResource: amounts of other resources are whole
_NATIVE_DOMAIN: Final = "kubernetes.io/"
# The native names, besides huge pages: validation.go, validateContainerResourceName; helpers.go,
# IsStandardContainerResourceName
_STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_OF_A_POD: Final = frozenset({"cpu", "memory"})
# validateVolumeSource, without the sources of drivers that Kubernetes no longer has
_SOURCES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "hostPath",
        "image",
        "nfs",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
# validateConfigMapVolumeSource and the like
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "configMap": ("name",),
    "csi": ("driver",),
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "secret": ("secretName",),
}
# validateEnvVarValueFrom, ValidateEnvFrom
_VALUE_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ENV_SOURCES: Final = ("configMapRef", "secretRef")
# IsRelaxedEnvVarName, since Kubernetes 1.32
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
# IsValidPortName, IsValidPortNum
_PORT_NAME: Final = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_LAST_PORT: Final = 65_535
# ValidatePodSpec
_NAMES: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    **dict.fromkeys(("hostname", "subdomain"), (is_label, WANT_LABEL)),
    **dict.fromkeys(
        ("nodeName", "priorityClassName", "runtimeClassName", "serviceAccountName"), (is_subdomain, WANT_SUBDOMAIN)
    ),
}
_LONGEST_DEADLINE: Final = 2**31 - 1


def refused(pod: dict[str, Any], own: dict[str, Any]) -> Refusals:
    """Yield (path, problem) for each value in a pod that the API server would refuse.

    Volumes, tolerations, labels and names are those of ``own``, the pod with only the fields that the document states.
    """
    for container in repeated_names(pod):
        got = container.name or "no name"
        yield (*container.path, "name"), f"got {got} for two containers, want a name for each"
    for container in containers(pod):
        for path, wrong in _in_container(container):
            yield (*container.path, *path), wrong
    yield from _below(("spec", "volumes"), spec(own), _in_volumes)
    yield from _below(("spec", "tolerations"), spec(own), _in_tolerations)
    yield from _labels(("spec", "nodeSelector"), spec(own).get("nodeSelector"))
    yield from wrong_metadata(metadata(own))
    for field, (is_right, want) in _NAMES.items():
        name = text_at(own, "spec", field)
        # The controller of a StatefulSet replaces the hostname and the subdomain
        if name and name == text_at(pod, "spec", field) and (wrong := wrong_name(name, is_right, want)):
            yield ("spec", field), wrong
    yield from _resources_of_pod(mapping_at(own, "spec", "resources"))
    deadline = spec(own).get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LONGEST_DEADLINE:
        yield ("spec", "activeDeadlineSeconds"), f"got {deadline}, want 1 to {_LONGEST_DEADLINE}"


def wrong_name(name: str, is_right: Callable[[str], bool], want: str) -> str:
    """Return the problem of a name; empty if ``is_right`` takes it, or if somebody fills it in later."""
    return "" if is_right(name) or is_filled_in_later(name) else f"got {name[:80]!r}, want {want}"


def wrong_metadata(found: Mapping[str, Any]) -> Refusals:
    """Yield (path, problem) for each key and value of labels and annotations that the API server refuses."""
    yield from _labels(("metadata", "labels"), found.get("labels"))
    annotations = found.get("annotations")
    for key in annotations if isinstance(annotations, Mapping) else ():
        if wrong := wrong_name(key, lambda name: is_qualified(name.lower()), _WANT_KEY):
            yield ("metadata", "annotations", key), wrong


def _labels(path: Path, labels: object) -> Refusals:
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        wrong = wrong_name(key, is_qualified, _WANT_KEY) or wrong_name(text(value), is_label_value, _WANT_VALUE)
        if wrong:
            yield (*path, key), wrong


def _below(path: Path, holder: Mapping[str, Any], find: Callable[[Sequence[Any]], Refusals]) -> Refusals:
    """Yield what ``find`` yields about the list at the last step of a path, with the path before it."""
    for steps, wrong in find(holder.get(str(path[-1])) or ()):
        yield (*path, *steps), wrong


# ---- containers ------------------------------------------------------------------------------------------------------


def _in_container(container: Container) -> Refusals:
    if container.name and (wrong := wrong_name(container.name, is_label, WANT_LABEL)):
        yield ("name",), wrong
    yield from _resources(container.body.get("resources") or {})
    for field, find in (("ports", _ports), ("env", _env), ("envFrom", _env_from), ("volumeMounts", _mounts)):
        yield from _below((field,), container.body, find)


def _resources(resources: Mapping[str, Any]) -> Refusals:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    # The API server sets an absent request to the limit, whose amount is checked already.
    asked = {resource: amount for resource, amount in requests.items() if amount != limits.get(resource)}
    for holder, amounts in (("limits", limits), ("requests", asked)):
        for resource, amount in amounts.items():
            is_whole = "/" in resource and _NATIVE_DOMAIN not in resource
            if wrong := _wrong_resource(resource) or wrong_amount(amount, is_whole=is_whole):
                yield ("resources", holder, resource), wrong
            elif amount is not None and holder == "requests" and _is_above(amount, limits.get(resource)):
                got = f"got {amount!s:.60}, above the limit of {limits[resource]!s:.60}"
                yield ("resources", holder, resource), f"{got}; want no more than the limit"


def _resources_of_pod(resources: Mapping[str, Any]) -> Refusals:
    """Yield the problems of the resources of the pod as a whole (helper/helpers.go, IsSupportedPodLevelResource)."""
    for holder in ("limits", "requests"):
        for resource in mapping_at(resources, holder):
            if not (resource in _OF_A_POD or resource.startswith("hugepages-") or holds_placeholder(resource)):
                message = f"got {resource:.80} for the pod as a whole, want it in the resources of a container"
                yield ("spec", "resources", holder, resource), message


def _is_above(amount: object, limit: object) -> bool:
    return limit is not None and not wrong_amount(limit) and parse_quantity(amount) > parse_quantity(limit)


def _wrong_resource(resource: str) -> str:
    """Return the problem of a resource's name, with a name to use instead; empty if the API server accepts the name."""
    if is_qualified(resource):
        is_known = "/" in resource or resource in _STANDARD or resource.startswith("hugepages-")
        if is_known or is_filled_in_later(resource):
            return ""
        want = "nvidia.com/gpu" if resource.lower() in ("gpu", "gpus") else "one with a domain, such as nvidia.com/gpu"
        return f"got the resource {resource:.80}, which is none of Kubernetes' own, want {want}"
    plain = resource.replace("+", ".")
    want = plain if is_qualified(plain) else "a name such as nvidia.com/gpu"
    return f"got the resource {resource:.80}, which is no name for the API server, want {want}"


def wrong_amount(amount: object, *, is_whole: bool = False) -> str:
    """Return the problem of a resource's quantity; empty if the quantity is valid. Null means zero."""
    try:
        if amount is None or (parse_count(amount) if is_whole else parse_quantity(amount)) >= 0:
            return ""
    except ValueError as error:
        return str(error)
    return f"got {amount!s:.60}, want 0 or more"


def _ports(ports: Sequence[Any]) -> Refusals:
    names: set[str] = set()
    for at, port in enumerate(ports):
        number, host, name = (port.get(field) for field in ("containerPort", "hostPort", "name"))
        if number is None:
            yield (at,), "got no containerPort, want one"
        for field, got in (("containerPort", number), ("hostPort", None if host in (0, number) else host)):
            if type(got) is int and not 1 <= got <= _LAST_PORT:
                yield (at, field), f"got {got}, want a port from 1 to {_LAST_PORT}"
        want = "at most 15 lower-case letters, digits and single hyphens, with a letter among them"
        if not text(name):
            continue
        if wrong := wrong_name(name, lambda text: _PORT_NAME.fullmatch(text) is not None, want):
            yield (at, "name"), wrong
        elif name in names and not is_filled_in_later(name):
            yield (at, "name"), f"got {name} for two ports of the container, want a name for each"
        names.add(name)


def _env(variables: Sequence[Any]) -> Refusals:
    for at, variable in enumerate(variables):
        name, source = text_at(variable, "name"), variable.get("valueFrom")
        if not name:
            yield (at,), "got no name, want one"
        elif not _ENV_NAME.fullmatch(name):
            yield (at, "name"), f"got {name[:80]!r}, want printable ASCII characters without '='"
        if source is None:
            continue
        if wrong := _wrong_sources(source, _VALUE_SOURCES):
            yield (at, "valueFrom"), wrong
        elif variable.get("value"):
            yield (at, "valueFrom"), "got valueFrom beside a value, want one of them"


def _env_from(sources: Sequence[Any]) -> Refusals:
    for at, source in enumerate(sources):
        if wrong := _wrong_sources({key: source[key] for key in source if key != "prefix"}, _ENV_SOURCES):
            yield (at,), wrong


def _wrong_sources(found: Mapping[str, Any], known: Sequence[str]) -> str:
    """Return the problem of an object that has one of the ``known`` fields; empty if the object has an unknown one."""
    given = [key for key, value in found.items() if value is not None]
    if len(given) == 1 or not known or not set(given) <= set(known):
        return ""
    return f"got {listed(given)}, want one of them" if given else f"got no source, want {listed(known, 'or')}"


def _mounts(mounts: Sequence[Any]) -> Refusals:
    """Yield the problems of mounts (ValidateVolumeMounts, validateLocalDescendingPath)."""
    paths: set[str] = set()
    for at, mount in enumerate(mounts):
        path, below, expanded = (text_at(mount, field) for field in ("mountPath", "subPath", "subPathExpr"))
        if mount.get("name") in (None, ""):
            yield (at,), "got no name, want that of a volume"
        for field, got in (("subPath", below), ("subPathExpr", expanded)):
            if got.startswith("/") or ".." in got.split("/"):
                yield (at, field), f"got {got:.80}, want a relative path without '..'"
        if below and expanded:
            yield (at, "subPathExpr"), f"got {expanded:.80} beside subPath {below:.80}, want one of them"
        if mount.get("mountPath") in (None, ""):
            yield (at,), "got no mountPath, want one"
        elif path in paths and not holds_placeholder(path):
            yield (at, "mountPath"), f"got {path:.80} for two volumeMounts of the container, want a path for each"
        paths.add(path)


# ---- the pod ---------------------------------------------------------------------------------------------------------


def _in_volumes(volumes: Sequence[Any]) -> Refusals:
    """Yield the problems of volumes (ValidateVolumes, validateVolumeSource)."""
    names: set[str] = set()
    for at, volume in enumerate(volumes):
        name = text_at(volume, "name")
        if name in names:
            yield (at, "name"), f"got {name:.63} for two volumes, want a name for each"
        elif name and (wrong := wrong_name(name, is_label, WANT_LABEL)):
            yield (at, "name"), wrong
        elif volume.get("name") in (None, ""):
            yield (at,), "got no name, want one"
        names |= {name} - {""}
        given = [key for key, value in volume.items() if key in _SOURCES and isinstance(value, Mapping)]
        if len(given) > 1:
            yield (at,), f"got {listed(given)}, want one of them: a volume has one source"
        for source in given:
            for field in _NEEDED.get(source, ()):
                if volume[source].get(field) in (None, ""):
                    yield (at, source), f"got no {field}, want one"
        if wrong := wrong_amount(mapping_at(volume, "emptyDir").get("sizeLimit")):
            yield (at, "emptyDir", "sizeLimit"), wrong


def _in_tolerations(tolerations: Sequence[Any]) -> Refusals:
    """Yield the problems of tolerations (ValidateTolerations)."""
    for at, toleration in enumerate(tolerations):
        key, operator, value, effect = (text_at(toleration, field) for field in ("key", "operator", "value", "effect"))
        if key and (wrong := wrong_name(key, is_qualified, _WANT_KEY)):
            yield (at, "key"), wrong
        if not key and operator != "Exists" and not is_placeholder(operator):
            yield (at, "operator"), f"got {operator or 'none'} without a key, want a key, or Exists for all taints"
        if operator == "Exists" and value:
            yield (at, "value"), f"got {value:.80} beside operator Exists, want no value, or operator Equal"
        elif operator in ("", "Equal") and (wrong := wrong_name(value, is_label_value, _WANT_VALUE)):
            yield (at, "value"), wrong
        seconds = toleration.get("tolerationSeconds")
        if seconds is not None and effect != "NoExecute" and not is_placeholder(effect):
            yield (at, "effect"), f"got {effect or 'none'} beside tolerationSeconds, want NoExecute"
