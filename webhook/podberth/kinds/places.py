"""The places of pod templates in a kind, and the way its operator makes pods from them: data and small functions."""

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
"""Stands for a value that only a controller knows: a hash, a random suffix, the number of one replica of many.

Kubernetes writes its hashes without vowels and without 0 (apimachinery pkg/util/rand SafeEncodeString), so no real hash
is equal to it.
"""

PLACEHOLDER_DIGEST: Final = PLACEHOLDER_HASH * 4
"""Stands for a SHA-1 that differs for every replica."""

PLACEHOLDER_MINUTES: Final = "00000000"
"""Stands for the time in the name of a CronJob's Job."""

PLACEHOLDERS: Final = (PLACEHOLDER_UID, PLACEHOLDER_HASH)
"""A value that contains one of these is never written: it differs for every pod, or for every creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A template with its place in a document: the input of a stamp. Nothing in it has been checked."""

    document: Found
    name: str
    uid: str
    """The workload's uid, or the placeholder if it has none."""
    namespace: str
    path: Steps
    """The path from the document to the template."""
    items: tuple[Any, ...] = ()
    """The values at each ``ELEMENT`` of the place's path, outermost first: a replicated job, a worker group."""
    keys: tuple[str | int, ...] = ()
    """The key or index of each of ``items``."""
    known: Sequence[Found] = ()
    """Other documents that a workload may refer to."""

    @property
    def spec(self) -> Found:
        """The workload's spec; empty if that is no object."""
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
"""Writes the fields that the operator adds to every pod into a copy of the pod; never raises for a checked pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The arrangement of a Pod's parts at a place."""

    seats: tuple[tuple[Steps, Steps], ...]
    """Pairs of a part's path in the Pod and its path below the place; a part comes before the parts inside it."""
    fields: frozenset[str] | None = None
    """The fields of a PodSpec that the place has among other fields; None if the place is a whole PodSpec."""
    others: frozenset[str] | None = None
    """These other fields, if all are known; None if not. Only with ``fields``."""
    adds: frozenset[str] = frozenset()
    """The fields that the kind's containers have besides those of a Container."""
    front: tuple[Steps, ...] = ()
    """The paths below the place at which the pod's first container may be, outside the list of containers."""
    front_name: str = ""
    """The operator's name for that container, if it has none."""
    front_fields: Mapping[str, str] = field(default_factory=dict)
    """The fields of that first container, each with its name at the place."""
    front_whole: bool = False
    """Whether it is a whole Container, with ``adds``, and not some of its fields among others."""
    front_always: bool = False
    """Whether the pod has that first container even if the place has none of its fields."""


_METADATA: Final = ("labels", "annotations", "finalizers")

TEMPLATE: Final = Form(
    # The metadata that a controller copies from a template (GetPodFromTemplate, kubernetes
    # pkg/controller/controller_utils.go).
    seats=(*((("metadata", key), ("metadata", key)) for key in _METADATA), (("spec",), ("spec",)))
)
"""A PodTemplateSpec."""

BARE: Final = Form(seats=((("spec",), ("spec",)), (("metadata",), ("metadata",))))
"""A Pod."""

POD_SPEC: Final = Form(seats=((("spec",), ()),))
"""A PodSpec; the pods get no metadata from the user."""


def no_stamp(_pod: dict[str, Any], _scene: Scene) -> None:
    """Write nothing: the stamp of a kind that adds no fields."""


def workload(scene: Scene) -> Found:
    """Return the workload itself."""
    return scene.document


def nothing(_scene: Scene) -> Iterator[tuple[Steps, str]]:
    """Yield nothing."""
    return iter(())


def always(_scene: Scene) -> bool:
    """Return True."""
    return True


def one(_scene: Scene) -> int:
    """Return 1, for a kind that makes one pod."""
    return 1


def unknown(_scene: Scene) -> int:
    """Return 0: only the cluster knows the number of pods."""
    return 0


def spec_replicas(scene: Scene) -> int:
    """Return ``spec.replicas``, one by default."""
    return count(scene.spec.get("replicas"), 1)


def item_replicas(scene: Scene) -> int:
    """Return the replicas of the innermost item, one by default."""
    return count(scene.item.get("replicas"), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a pod template in the objects of a kind."""

    path: tuple[str, ...]
    """The path from the object to the template; ``ELEMENT`` is each item of a list, or each entry of a map."""
    form: Form = TEMPLATE
    stamp: Stamp = no_stamp
    optional: bool = False
    """Whether an object is valid without this template."""
    role: str = ""
    """The role of these pods: leader, head; empty if it is the name of the innermost list item or map entry."""
    when: Callable[[Scene], bool] = always
    """Whether the controller makes pods from this template."""
    replicas: Callable[[Scene], int] = one
    """Returns the number of pods that one object makes from the template; 0 if only the cluster knows it."""
    owner: Callable[[Scene], Found] = workload
    """Returns the object that gangs are read from, if that is not the workload itself: the RayCluster of a RayJob."""
    lacks: frozenset[str] = frozenset()
    """Fields of a Pod that the kind's schema prunes: ``metadata``, or fields of the spec."""
    base: tuple[str, ...] = ()
    """The path from the object to fields of a PodSpec that are defaults for all templates."""
    inherited: frozenset[str] = frozenset()
    """The names of these default fields."""
    fixed: Callable[[Scene], Iterator[tuple[Steps, str]]] = nothing
    """Yields the parts of the pod that the operator takes from elsewhere in the object, each with that place."""


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
    """Whether it makes no pods by itself: other objects name it, or users make pods from it by hand."""
