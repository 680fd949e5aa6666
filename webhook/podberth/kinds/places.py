"""The places of pod templates in a kind, and how its operator makes pods of them: data and a few small functions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..kube.unchecked import count, mapping_at, text

Steps: TypeAlias = tuple[str | int, ...]
"""Keys and list indexes."""

Found: TypeAlias = Mapping[str, Any]

PLACEHOLDER_UID: Final = "00000000-0000-0000-0000-000000000000"
"""Stands for the uid of an object that does not exist yet; the nil UUID is never a real one (RFC 9562, 5.9)."""

PLACEHOLDER_HASH: Final = "0000000000"
"""Stands for what only a controller knows: a hash, a random suffix, the number of one replica of many.

Kubernetes' hashes are written without vowels and without 0 (apimachinery pkg/util/rand SafeEncodeString), so that no
real one is met.
"""

PLACEHOLDER_DIGEST: Final = PLACEHOLDER_HASH * 4
"""Stands for a SHA-1 that is another for every replica."""

PLACEHOLDER_MINUTES: Final = "00000000"
"""Stands for the time in the name of a CronJob's Job."""

PLACEHOLDERS: Final = (PLACEHOLDER_UID, PLACEHOLDER_HASH)
"""A value with one of these in it is never written down: it is another for every pod, or for every creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A template where it stands, for whoever stamps its pod. Nothing in it has been checked."""

    document: Found
    name: str
    uid: str
    """The workload's, the placeholder where it has none."""
    namespace: str
    path: Steps
    """From the document to the place."""
    items: tuple[Any, ...] = ()
    """The values at each ``ELEMENT`` of the place's path, outermost first: a replicated job, a worker group."""
    keys: tuple[str | int, ...] = ()
    """The key or index of each of them."""
    known: Sequence[Found] = ()
    """Other documents that a workload may refer to."""

    @property
    def spec(self) -> Found:
        """The workload's spec, empty where it is none."""
        return mapping_at(self.document, "spec")

    @property
    def item(self) -> Found:
        """The value at the innermost ``ELEMENT``, empty if that is no object."""
        return mapping_at(self.items[-1] if self.items else {})

    @property
    def key(self) -> str:
        """The item's name: its key in a map, its ``name`` in a list, or ``groupName`` as Ray has it."""
        key = self.keys[-1] if self.keys else ""
        return key if isinstance(key, str) else text(self.item.get("name", self.item.get("groupName")))


Stamp: TypeAlias = Callable[[dict[str, Any], Scene], None]
"""Writes on a pod of its own what the operator writes on every pod; never raises on a pod whose shape was checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the parts of a Pod stand at a place."""

    seats: tuple[tuple[Steps, Steps], ...]
    """From parts of the Pod to where they stand below the place; a part of a part comes behind it."""
    fields: frozenset[str] | None = None
    """The fields of a PodSpec that stand there beside others; None where a whole PodSpec stands alone."""
    front: tuple[Steps, ...] = ()
    """Below the place, where the pod's first container may stand, outside the list of containers."""
    front_name: str = ""
    """The operator's name for that container, if it has none."""
    front_fields: Mapping[str, str] = field(default_factory=dict)
    """The fields of a container that stand there, and as what."""
    front_always: bool = False
    """Whether there is such a container even where nothing is said of it."""


_METADATA: Final = ("labels", "annotations", "finalizers")

TEMPLATE: Final = Form(
    # What a controller takes over of a template's metadata (GetPodFromTemplate, kubernetes
    # pkg/controller/controller_utils.go).
    seats=(*((("metadata", key), ("metadata", key)) for key in _METADATA), (("spec",), ("spec",)))
)
"""A PodTemplateSpec."""

BARE: Final = Form(seats=((("spec",), ("spec",)), (("metadata",), ("metadata",))))
"""A Pod."""

POD_SPEC: Final = Form(seats=((("spec",), ()),))
"""A PodSpec, whose pods have no metadata of the user's."""


def no_stamp(_pod: dict[str, Any], _scene: Scene) -> None:
    """Stamp nothing."""


def _workload(scene: Scene) -> Found:
    return scene.document


def nothing(_scene: Scene) -> Iterator[tuple[Steps, str]]:
    """Yield nothing."""
    return iter(())


def always(_scene: Scene) -> bool:
    """Say yes."""
    return True


def one(_scene: Scene) -> int:
    """Return the replicas of what makes one pod."""
    return 1


def unknown(_scene: Scene) -> int:
    """Return the replicas of what only the cluster knows."""
    return 0


def spec_replicas(scene: Scene) -> int:
    """Return ``spec.replicas``, one by default."""
    return count(scene.spec.get("replicas"), 1)


def item_replicas(scene: Scene) -> int:
    """Return the replicas of the innermost item, one by default."""
    return count(scene.item.get("replicas"), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place in a kind where a pod template stands."""

    path: tuple[str, ...]
    """From the object to the place; ``ELEMENT`` is each item of a list, or each entry of a map."""
    form: Form = TEMPLATE
    stamp: Stamp = no_stamp
    optional: bool = False
    """Whether an object without it is whole."""
    role: str = ""
    """The name of these pods: leader, head; empty if the innermost ``ELEMENT`` says it."""
    when: Callable[[Scene], bool] = always
    """Whether pods are made of what stands there."""
    replicas: Callable[[Scene], int] = one
    """How many pods one object makes of the template; 0 where only the cluster knows."""
    owner: Callable[[Scene], Found] = _workload
    """The object that gangs are read from, where it is not the workload itself: the RayCluster of a RayJob."""
    lacks: frozenset[str] = frozenset()
    """Fields of a Pod that the kind's schema prunes: ``metadata``, or fields of the spec."""
    base: tuple[str, ...] = ()
    """From the object to fields of a PodSpec that hold for every template that does not say otherwise."""
    inherited: frozenset[str] = frozenset()
    """Which fields these are."""
    fixed: Callable[[Scene], Iterator[tuple[Steps, str]]] = nothing
    """Parts of the pod that the operator takes from elsewhere in the object, and from where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """One kind of workload."""

    api_versions: frozenset[str]
    kind: str
    source: str
    """The source of the places and the stamps."""
    places: tuple[Place, ...] = ()
    nested: tuple[tuple[str, ...], ...] = ()
    """Paths to whole objects that may be workloads themselves."""
    only_template: bool = False
    """Whether others use it by name, or somebody makes pods of it by hand: it is no workload by itself."""
