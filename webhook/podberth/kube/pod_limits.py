"""The limits of a pod's size, as one table, and the check of a pod against the limits.

Every part of a pod that podberth reads has a row in the table (``tests/unit/kube/test_pod_limits.py`` checks this). The
check runs before any other code reads the pod: before the pod's shape is checked, before a field is parsed, and before
a policy is evaluated. A pod above a limit is an error of every policy that would be evaluated. The maximum cost of an
expression (``cel.cost``) is computed for a pod at these limits, and ``bench.hostile`` makes its pods from the table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Literal

import orjson

from ..wellknown import APPLIED_ANNOTATION
from .paths import ELEMENT, FieldPath
from .shape import CONTAINER_LISTS

MAX_BYTES: Final = 1_572_864
"""The limit for a pod's size in bytes: 1.5 MiB, etcd's default for a request (etcd --max-request-bytes). A larger
object cannot be stored."""

MAX_NAME_BYTES: Final = 253
"""The API server's limit for a name's length (DNS1123SubdomainMaxLength). The API server checks it after mutating
webhooks.
"""
NAMES: Final = frozenset({("metadata", "name"), ("metadata", "generateName"), ("metadata", "namespace")})
"""The paths of the pod's names that have the limit MAX_NAME_BYTES."""

CONTAINERS: Final = 200
"""The limit for the number of containers in each of a pod's lists of containers. A kubelet runs 110 pods on a node
(kubelet --max-pods); no real pod has more containers than that."""
ENTRIES: Final = 1_000
"""The limit for the number of entries of any list or map without a limit of its own."""
GPU_REQUESTS: Final = 200
"""The limit for the number of accelerator resources that all containers together request: one for each of 200
containers."""
GPU_CLAIMS: Final = 400
"""The limit for the number of devices that a pod's claims request: two for each entry of resourceClaims. One claim may
ask for 32 classes."""
TERMS: Final = 50
"""The limit for the number of terms in one list of affinity. 1,025 published GPU pods have one required node affinity
term each at most; an infrastructure DaemonSet with three has the most."""
VALUES: Final = 5_000
"""The limit for the number of values in all node affinity terms of one kind together: a pod may name once each node
of the largest cluster that Kubernetes is made for (kubernetes.io, "Considerations for large clusters")."""
ALL_ENTRIES: Final = 8_000
"""The limit for the number of entries of all lists and maps of the table together. Each list may be at its own limit,
but not all lists at the same time.
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit of a pod at a path: the largest permitted number of items, map entries or characters."""

    path: FieldPath
    """The path in the pod; if a step is ELEMENT, the limit is for all elements together."""
    most: int
    why: str
    unit: Literal["entries", "characters"] = "entries"


_NOBODY = "far beyond what is published: a few of each"
_ENV = "the largest pod has room for so many of 220 bytes each, a name and a value of usual length"
_THREE = "published pods have three at most"
_NODES = "enough to name every node of a cluster of 5,000, the most that Kubernetes is made for"
_LARGEST_ANNOTATIONS = "the API server's own bound (TotalAnnotationSizeLimitB, apimachinery pkg/api/validation)"
_RESOURCES: Final = (("limits",), ("requests",), ("claims",))
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITY: Final = ("spec", "affinity")


def _of_containers(kind: str) -> Iterator[Bound]:
    yield Bound(("spec", kind), CONTAINERS, "a kubelet runs 110 pods on a node (--max-pods)")
    below = ("spec", kind, ELEMENT)
    yield Bound((*below, "env"), 7_000, _ENV)
    for name in ("envFrom", "args", "command", "ports", "volumeMounts", "volumeDevices", "resizePolicy"):
        yield Bound((*below, name), ENTRIES, _NOBODY)
    for path in _RESOURCES:
        yield Bound((*below, "resources", *path), ENTRIES, "five for each container")


def _of_expressions(place: FieldPath, name: str, values: int = ENTRIES) -> Iterator[Bound]:
    """Yield the limits for a list of requirements, and for the values of the requirements.

    ``place`` is the path of the object that has the list, and ``name`` is the list's field: matchExpressions or
    matchFields.
    """
    yield Bound((*place, name), ENTRIES, "five for each term")
    yield Bound((*place, name, ELEMENT, "values"), values, _NODES if values == VALUES else "five for each term")


def _of_selector(place: FieldPath) -> Iterator[Bound]:
    """Yield the limits for the LabelSelector at a path of the pod."""
    yield Bound((*place, "matchLabels"), ENTRIES, "five for each term")
    yield from _of_expressions(place, "matchExpressions")


def _of_node_terms(place: FieldPath, below: FieldPath = ()) -> Iterator[Bound]:
    yield Bound(place, TERMS, _THREE)
    for name in ("matchExpressions", "matchFields"):
        yield from _of_expressions((*place, ELEMENT, *below), name, VALUES)


def _of_pod_terms(place: FieldPath, below: FieldPath = ()) -> Iterator[Bound]:
    yield Bound(place, TERMS, _THREE)
    term = (*place, ELEMENT, *below)
    for selector in ("labelSelector", "namespaceSelector"):
        yield from _of_selector((*term, selector))
    for name in ("namespaces", "matchLabelKeys", "mismatchLabelKeys"):
        yield Bound((*term, name), ENTRIES, "five for each term")


def _of_affinity() -> Iterator[Bound]:
    yield from _of_node_terms((*_AFFINITY, "nodeAffinity", _REQUIRED, "nodeSelectorTerms"))
    yield from _of_node_terms((*_AFFINITY, "nodeAffinity", _PREFERRED), ("preference",))
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _of_pod_terms((*_AFFINITY, kind, _REQUIRED))
        yield from _of_pod_terms((*_AFFINITY, kind, _PREFERRED), ("podAffinityTerm",))


def _of_the_pod() -> Iterator[Bound]:
    yield ANNOTATION_ENTRIES
    for name in ("labels", "finalizers", "ownerReferences", "managedFields"):
        yield Bound(("metadata", name), ENTRIES, _NOBODY)
    for name in ("tolerations", "nodeSelector", "overhead", "volumes", "imagePullSecrets", "hostAliases"):
        yield Bound(("spec", name), ENTRIES, _NOBODY)
    for name in ("schedulingGates", "readinessGates"):
        yield Bound(("spec", name), ENTRIES, _NOBODY)
    yield Bound(("spec", "resourceClaims"), CONTAINERS, "one for each container")
    yield Bound(("spec", "topologySpreadConstraints"), TERMS, _THREE)
    yield from _of_selector(("spec", "topologySpreadConstraints", ELEMENT, "labelSelector"))
    for path in _RESOURCES:
        yield Bound(("spec", "resources", *path), ENTRIES, _NOBODY)


ANNOTATION_ENTRIES: Final = Bound(("metadata", "annotations"), ENTRIES, _NOBODY)
ANNOTATIONS: Final = Bound(("metadata", "annotations"), 262_144, _LARGEST_ANNOTATIONS, "characters")
"""The limit for the characters of all annotation keys and values together."""
ALL: Final = Bound((ELEMENT,), ALL_ENTRIES, "eighty times what published pods have, the environment included")
"""The limit for the number of entries of all lists and maps together."""
GPUS: Final = Bound(("gpu", "requests"), GPU_REQUESTS, "one for each container")
"""The limit for accelerator resources. ``workload.gpus`` counts the resources, because that module knows which
resources are accelerators.
"""
DEVICES: Final = Bound(("gpu", "claims"), GPU_CLAIMS, "two for each claim; one alone may ask for devices of 32 classes")
"""The limit for devices of claims.

``workload.gpus`` counts the devices, because a claim's devices are known from the cluster.
"""
RECORD: Final = Bound(
    ("metadata", "annotations", APPLIED_ANNOTATION),
    16_384,
    "a record of the shipped policies is some hundred bytes; a longer one is not podberth's, and is not read",
    "characters",
)
RECORD_CHANGES: Final = Bound(
    ("record",), 32, "the shipped policies write less than 20; a record of more is not podberth's, and is not read"
)
"""The limit for the number of changes in a pod's record (annotation ``podberth.io/applied``), for all policies
together."""

BOUNDS: Final[tuple[Bound, ...]] = (
    *chain.from_iterable(map(_of_containers, CONTAINER_LISTS)),
    *_of_the_pod(),
    *_of_affinity(),
    ALL,
    ANNOTATIONS,
    GPUS,
    DEVICES,
    RECORD,
    RECORD_CHANGES,
)
"""All limits of the table.

The table lacks the limits of a pod's size in bytes, of the length of names, and of annotations that a dossier parses
(``admission.checked.PARSED``).
"""

_LISTED: Final = tuple(each for each in BOUNDS if each.unit == "entries" and each.path[0] in ("metadata", "spec"))
LARGEST: Final[Mapping[FieldPath, int]] = {each.path: each.most for each in _LISTED}
"""The largest permitted number of entries of a list or map, by its path in the pod. If a path leads through lists, the
limit is for all elements of the lists together.
"""


# ---- the walk -------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Place:
    """A step in the tree of the limits' paths: the limit of the path that ends here, and the steps below this step."""

    path: FieldPath
    most: int | None = None
    below: "dict[str, _Place]" = field(default_factory=dict)


def _tree(bounds: Iterable[Bound]) -> _Place:
    root = _Place(())
    for bound in bounds:
        place = root
        for step in bound.path:
            place = place.below.setdefault(step, _Place((*place.path, step)))
        place.most = bound.most
    return root


_TREE: Final = _tree(_LISTED)
_SPEC: Final = _TREE.below["spec"].below
_NAMED: Final = sorted(name for _, name in NAMES)
# Lists and maps of at most _SMALL entries, in at most _FEW containers, are within all limits. Deeper ones are counted,
# up to what these leave of ``ALL_ENTRIES``.
_SMALL: Final = 64
_FEW: Final = 6
_COLLECTIONS: Final = frozenset({list, dict})
# The fields of the spec below which the table has lists that are too deep for the quick check.
_DEEP: Final = {name: place for name, place in _SPEC.items() if place.below and name not in CONTAINER_LISTS}
_OF_A_CONTAINER: Final = len(_SPEC[CONTAINER_LISTS[0]].below[ELEMENT].below) - 1 + len(_RESOURCES)
_BESIDE: Final = sum(path[1] not in (*CONTAINER_LISTS, *_DEEP) for path in LARGEST)
_SHALLOW: Final = _SMALL * (_FEW * _OF_A_CONTAINER + _BESIDE) + _FEW
"""The most entries of a pod's lists and maps that the quick check (``_is_small``) does not count."""


def excess(pod: object, at_most_bytes: int | None = None) -> str:
    """Return the message for the first limit that a pod exceeds; empty if the pod exceeds no limit.

    The pod may have any shape. A pod that is no object exceeds no limit, because another check refuses such a pod. A
    pod that cannot be written as JSON gets a message. The time depends on the limits and not on the pod's size, because
    the check never iterates over a list above its limit.

    Args:
        pod: the pod.
        at_most_bytes: the size of the pod's JSON, or a larger number. If None, the function measures the pod.
    """
    if not isinstance(pod, dict):
        return ""  # refused by the shape check
    metadata = pod.get("metadata")
    if isinstance(metadata, dict):
        for name in _NAMED:
            value = metadata.get(name)
            if isinstance(value, str) and len(value) > MAX_NAME_BYTES:
                got = f"got {len(value):,} characters, want {MAX_NAME_BYTES} at most"
                return f"{TOO_LARGE}: metadata.{name}: {got}"
    if not _is_small(pod) and (wrong := _Tally().beyond([pod], _TREE)):
        return wrong
    if (at_most_bytes is None or at_most_bytes > ANNOTATIONS.most) and (wrong := _too_long_annotations(metadata)):
        return wrong
    return _too_many_bytes(pod) if at_most_bytes is None or at_most_bytes > MAX_BYTES else ""


def entries_in(pod: object) -> int:
    """Return the number of entries in a pod's lists and maps that have limits; 0 if a limit is exceeded."""
    tally = _Tally()
    return 0 if tally.beyond([pod], _TREE) else tally.total


MOST_VALUES: Final = 31_000
"""The limit for the entries of all lists and maps of a pod template, unknown fields included.

A list of 8,000 objects with two fields has 24,000 entries. The API server drops unknown fields of a Pod, but not of
every custom resource: a template with 180,000 entries took 170 ms to copy.
"""


def values_up_to(most: int, document: object) -> int:
    """Return the number of entries of all lists and maps of a document of any shape, counted up to ``most`` + 1."""
    pending: list[Any] = [document] if type(document) in _COLLECTIONS else []
    found = 0
    while pending:
        value = pending.pop()
        found += len(value)
        if found > most:
            return most + 1
        below = value.values() if type(value) is dict else value
        # Only lists and maps with entries, because the walk takes most of the time of the largest template.
        pending += [each for each in below if each and type(each) in _COLLECTIONS]
    return found


def excess_of_template(template: object) -> str:
    """Return the message for the first limit that a pod template exceeds; empty if it exceeds no limit.

    The limits for the template's bytes and for the characters of its annotations are not checked.
    """
    found = excess(template, at_most_bytes=0)
    if not found and values_up_to(MOST_VALUES, template) > MOST_VALUES:
        return f"{TOO_LARGE}: got more than {MOST_VALUES:,} values, want so many at most"
    return found


def is_within(pod: object, most: int) -> bool:
    """Return whether a pod is within the limits of its lists and maps, with at most ``most`` entries in all of them.

    The pod may have any shape, and the time depends on ``most`` and the limits alone.
    """
    return not _Tally(most).beyond([pod], _TREE)


TOO_LARGE: Final = "the pod is too large to be decided on"


def beyond(bound: Bound, got: int, what: str = TOO_LARGE) -> str:
    """Return a message if the number ``got`` of entries or characters is above the limit ``bound``; else empty.

    ``what`` is the start of the message, such as ``TOO_LARGE``.
    """
    return _said(bound.path, got, bound.most, bound.unit, what) if got > bound.most else ""


def _too_many_bytes(pod: Mapping[str, Any]) -> str:
    try:
        size = len(orjson.dumps(pod))
    except TypeError as error:  # a number beyond 64 bits, or nested more deeply than orjson writes: from a file
        return f"no API server sends such a pod: {error}"
    return f"{TOO_LARGE}: got {size:,} bytes, want {MAX_BYTES:,} at most" if size > MAX_BYTES else ""


def _too_long_annotations(metadata: object) -> str:
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return ""
    got = sum([len(key) + (len(value) if type(value) is str else 0) for key, value in annotations.items()])
    return beyond(ANNOTATIONS, got)


def _is_small(pod: Mapping[str, Any]) -> bool:
    """Return whether a quick check proves that a pod is within all limits; the check runs on every review."""
    try:
        spec = pod.get("spec") or {}
        containers: list[dict[str, Any]] = []
        for name in CONTAINER_LISTS:
            if spec.get(name):
                containers += spec[name][: _FEW + 1]
        if len(containers) > _FEW:
            return False
        resources = [each["resources"] for each in containers if each.get("resources")]
        for holder in (spec, pod.get("metadata") or {}, *containers, *resources):
            for value in holder.values():
                if type(value) in _COLLECTIONS and len(value) > _SMALL:
                    return False
    except (AttributeError, TypeError, KeyError):  # not the shape of a pod
        return False
    deep = _Tally(ALL_ENTRIES - _SHALLOW)
    return not any(name in spec and deep.beyond([spec[name]], place) for name, place in _DEEP.items())


class _Tally:
    """Counts the entries of those lists and maps of a pod that have limits."""

    __slots__ = ("_most", "total")

    def __init__(self, most: int = ALL_ENTRIES) -> None:
        self._most = most
        self.total = 0

    def beyond(self, found: Sequence[object], place: _Place) -> str:
        """Return the message for the first list or map at or below ``place`` that is above its limit; else empty.

        ``place`` is a step in the tree of limits, and ``found`` has all values of the pod at this step.
        """
        if place.most is not None:
            got = sum([len(each) for each in found if isinstance(each, list | dict)])
            self.total += got
            if got > place.most:
                return _said(place.path, got, place.most)
            if self.total > self._most:
                return f"{TOO_LARGE}: all lists together: got more than {self._most:,} entries, want so many at most"
        for step, child in place.below.items():
            if step == ELEMENT:
                below = [item for each in found if type(each) is list for item in each]
            else:
                below = [each[step] for each in found if type(each) is dict and step in each]
            if below and (wrong := self.beyond(below, child)):
                return wrong
        return ""


def _said(path: FieldPath, got: int, most: int, unit: str = "entries", what: str = TOO_LARGE) -> str:
    where = ".".join(path).replace(f".{ELEMENT}", "[*]")
    return f"{what}: {where}: got {got:,} {unit}, want {most:,} at most"
