"""Finds the field of a pod that a decision is about: the field in the message, or else a field that the policy reads.

Paths lead into the pod that is predicted from a template; ``place_in`` translates a path to the document.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..admission.judging import OF_AUDIT
from ..kinds.forms import POD_SPEC_FIELDS, find
from ..kube.json_patch import ABSENT
from ..kube.paths import ELEMENT, Path
from ..kube.pod import annotations, containers, labels, metadata, spec
from ..kube.positions import render_path
from ..kube.shape import CONTAINER_LISTS
from ..policy.compile import CompiledPolicy
from ..wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.gpus import GpuFacts
from ..workload.projection import place_of
from ..workload.templates import Template

# ``spec.nodeSelector``, ``resources.limits[nvidia.com/gpu]``: the format of paths in messages (rule 14).
_STEP: Final = r"(?:\.[A-Za-z][A-Za-z0-9]*|\[[^\]\s]+\])"
_PATH: Final = re.compile(rf"\b(?:spec|metadata){_STEP}+")
_RESOURCES: Final = re.compile(rf"\bresources{_STEP}+")
_STEPS: Final = re.compile(r"([A-Za-z][A-Za-z0-9]*)|\[([^\]\s]+)\]")
_CONTAINER: Final = re.compile(r"\bcontainers? ([a-z0-9][-a-z0-9]*)\b")
_BEGINNING: Final = re.compile(r"(container [a-z0-9][-a-z0-9]*): ")
_FIELD: Final = re.compile(r"^([a-z][A-Za-z]+)(?=[.:\[ ])")
# A field of a group's object, as kinds.systems writes it in messages
_OF_GROUP: Final = "places this pod's group"
_LISTS: Final = frozenset((each,) for each in CONTAINER_LISTS)
_KEYED: Final[tuple[Path, ...]] = (("metadata", "annotations"), ("metadata", "labels"), ("spec", "nodeSelector"))


def field_of(
    message: str, reads: Iterable[tuple[str, ...]], pod: dict[str, Any], own: Mapping[str, Any], gpu: GpuFacts
) -> Path:
    """Return the path of the field in ``pod`` that a decision with this message is about; empty if unknown.

    A field that the message names comes first, then a field at one of the paths ``reads``: the paths that the policy
    reads (``cel.reads``), empty for podberth's own decisions. ``own`` is the pod with only the fields that the document
    has, and ``gpu`` has the pod's requests for devices.
    """
    named = _named(message, pod)
    if named is not None:
        return named
    return (_gang(pod) if _OF_GROUP in message else ()) or _read(reads, pod, own, gpu)


def named_path(text: str) -> Path:
    """Return the path of the pod's field that a message names at the beginning, before a colon; else an empty path."""
    where = text.partition(": ")[0]
    return steps_of(where) if _PATH.fullmatch(where) else ()


def reads_of(policy: CompiledPolicy, phase: str, message: str) -> frozenset[tuple[str, ...]]:
    """Return the paths of the pod that a policy read for the decision with the message ``message``.

    If ``phase`` is "mutate", the policy's mutations read the paths. If ``phase`` is "validate", the policy's
    validations read the paths, or the policy's audit annotations if ``message`` is about an audit annotation. If there
    are no such paths, the result has the paths that the policy's matchConditions read.
    """
    if phase == "mutate":
        read = [entry.reads for entry in policy.mutations]
    elif message.startswith(OF_AUDIT):
        read = [each.reads for _, each in policy.audit_annotations]
    else:
        read = [entry.reads for entry in policy.validations]
    return frozenset().union(*read) or policy.conditions_read


def without_field(message: str, path: Path, pod: dict[str, Any]) -> str:
    """Return a message without the field, key or container at the beginning, if ``path`` leads to that field."""
    said = message.removeprefix(f"{render_path(path)}: ")
    if path and "/" in str(path[-1]):  # a label or annotation, which the finding names
        said = said.removeprefix(f"{path[-1]}: ")
    found = _BEGINNING.match(said)
    if found is None or (container := _container(found[1], pod)) is None or path[: len(container)] != container:
        return said
    rest = said[found.end() :]
    resources = _RESOURCES.match(rest)
    if resources is not None and rest[resources.end() :].startswith(": "):
        return rest[resources.end() + 2 :]
    return rest


def place_in(template: Template, path: Path) -> Path:
    """Return the path in the document that corresponds to a path in the pod of a template.

    If the document has no such field, the result is the field from which the operator derives the pod's field, or else
    the nearest parent that the document has.
    """
    for steps, elsewhere in template.fixed:
        if path[: len(steps)] == steps and (found := _PATH.search(elsewhere)):
            return _existing(template.document, steps_of(found[0]))
    return place_of(template, path)


# ---- the field that the message names --------------------------------------------------------------------------------


def _named(message: str, pod: dict[str, Any]) -> Path | None:
    found = _PATH.search(message)
    path = steps_of(found[0]) if found is not None else ()
    # A path that no pod has is a path in another object
    if path and (path[0] == "metadata" or path[1] in POD_SPEC_FIELDS):
        return _existing(pod, path)
    container = _container(message, pod)
    if container is not None:
        resources = _RESOURCES.search(message)
        return _existing(pod, (*container, *(steps_of(resources[0]) if resources else ())))
    field = _FIELD.match(message)
    if field is not None and field[1] in spec(pod):
        return ("spec", field[1])
    return next(_keys_named(message, pod), None)


def steps_of(text: str) -> Path:
    """Return the path that a text such as "spec.containers[0].resources" describes."""
    return tuple(
        int(key) if key.isascii() and key.isdecimal() else key
        for key in (word or bracket for word, bracket in _STEPS.findall(text))
    )


def _container(message: str, pod: dict[str, Any]) -> Path | None:
    names = {match[1] for match in _CONTAINER.finditer(message)}
    return next((each.path for each in containers(pod) if each.name in names), None)


def _keys_named(message: str, pod: dict[str, Any]) -> Iterator[Path]:
    """Yield the paths of the pod's annotations, labels and nodeSelector fields whose key is in a message.

    Only keys with a domain, such as "nvidia.com/gpu", count.
    """
    for holder, keys in zip(_KEYED, (annotations(pod), labels(pod), spec(pod).get("nodeSelector") or {}), strict=True):
        for key in keys:
            if "/" in key and key in message:
                yield (*holder, key)


def _existing(document: object, path: Path) -> Path:
    """Return ``path`` up to and including the first step that the document does not have."""
    absent = (length for length in range(1, len(path) + 1) if find(document, path[:length]) is ABSENT)
    return path[: next(absent, len(path))]


# ---- the fields that the policy reads --------------------------------------------------------------------------------


def _read(reads: Iterable[tuple[str, ...]], pod: dict[str, Any], own: Mapping[str, Any], gpu: GpuFacts) -> Path:
    """Return the deepest path that a policy reads and that the document has.

    Without such a path, return the path of the accelerator request or of the gang, if the policy reads facts about
    requests or gangs. Paths through lists come last, because it is unknown which element the decision is about.
    """
    paths = list(reads)
    read = [path[1:] for path in paths if path[0] == "object"]
    if found := _deepest(own, (path for path in read if ELEMENT not in path and path[-1:] not in _LISTS)):
        return found
    named = {path[0] for path in paths}
    if named & {"gpu", "topology", "mig"} and (asking := _asking(pod, gpu)):
        return asking
    if "gang" in named and (gang := _gang(pod)):
        return gang
    return _deepest(own, read)


def _deepest(own: Mapping[str, Any], paths: Iterable[tuple[str, ...]]) -> Path:
    """Return the deepest of the paths that ``own`` has, the first by name among equals; empty if there is none."""
    places = [found for path in paths if (found := _resolve(own, path)) is not None]
    places = [path for path in places if path not in _KEYED and len(path) > 1]
    return min(places, key=lambda path: (-len(path), tuple(map(str, path))), default=())


def _resolve(document: object, path: tuple[str, ...]) -> Path | None:
    """Return the first path in the document that matches ``path``; None if no path matches.

    ELEMENT in ``path`` matches any element of a list.
    """
    if not path:
        return ()
    step, rest = path[0], path[1:]
    if isinstance(document, Mapping):
        steps: Iterable[str | int] = document if step == ELEMENT else (step,) if step in document else ()
    elif isinstance(document, list) and step == ELEMENT:
        steps = range(len(document))
    else:
        return None
    for each in steps:
        below = _resolve(document[each], rest)  # type: ignore[index]  # its own key
        if below is not None:
            return (each, *below)
    return None


def _asking(pod: dict[str, Any], gpu: GpuFacts) -> Path:
    """Return the path of a pod's first accelerator request, or of the pod's resourceClaims; empty if there is none."""
    for request in gpu.requests:
        for each in containers(pod):
            held = (each.body.get("resources") or {}).get("limits") or {}
            if each.name == request.container:
                field = "limits" if request.resource in held else "requests"
                return (*each.path, "resources", field, request.resource)
    return ("spec", "resourceClaims") if gpu.claims and spec(pod).get("resourceClaims") else ()


def _gang(pod: dict[str, Any]) -> Path:
    """Return the path of the field, label or annotation that names the pod's gang; empty if there is none."""
    if spec(pod).get("schedulingGroup"):
        return ("spec", "schedulingGroup")
    held = metadata(pod)
    for field, key in (("labels", GANG_LABEL), ("annotations", GANG_SIZE_ANNOTATION)):
        if key in (held.get(field) or {}):
            return ("metadata", field, key)
    return ()
