"""The paths of pod templates in workloads, and the fields that the workloads' operators add to the pods."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from ..kube.paths import Path
from ..kube.unchecked import count, mapping_at, text

Found: TypeAlias = Mapping[str, Any]

PLACEHOLDER_UID: Final = "00000000-0000-0000-0000-000000000000"
"""The text in place of the uid of an object that does not exist yet; no real uid is the nil UUID (RFC 9562, 5.9)."""

PLACEHOLDER_HASH: Final = "0000000000"
"""The text in place of a value that only a controller knows: a hash, a random suffix, the index of a replica.

Kubernetes writes its hashes without vowels and without 0 (apimachinery pkg/util/rand SafeEncodeString), so no real hash
is equal to the placeholder.
"""

PLACEHOLDER_DIGEST: Final = PLACEHOLDER_HASH * 4
"""The text in place of a SHA-1 digest that differs for every replica."""

PLACEHOLDER_MINUTES: Final = "00000000"
"""The text in place of the time in the name of a CronJob's Job."""

PLACEHOLDERS: Final = (PLACEHOLDER_UID, PLACEHOLDER_HASH)
"""The placeholders of values that differ for each pod or each creation; a value with one is never written to a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A pod template in an unchecked document: the input of functions that write an operator's fields on the pod."""

    document: Found
    name: str
    uid: str
    """The workload's uid; a placeholder if the workload has no uid."""
    namespace: str
    path: Path
    """The path from the document to the template."""
    items: tuple[Any, ...] = ()
    """The values at each ``ELEMENT`` of the path, outermost first, such as a replicated job or a worker group."""
    keys: tuple[str | int, ...] = ()
    """The key or the index of each value in ``items``."""
    known: Sequence[Found] = ()
    """Other documents to which the workload may refer."""

    @property
    def spec(self) -> Found:
        """The field ``spec`` of the document; empty if it is no object."""
        return mapping_at(self.document, "spec")

    @property
    def item(self) -> Found:
        """The innermost list item or map entry around the template, such as a worker group.

        Empty if there is no such item.
        """
        return mapping_at(self.items[-1] if self.items else {})

    @property
    def key(self) -> str:
        """The name of the innermost list item or map entry around the template.

        The name is the key in a map. In a list, the name is the item's field ``name``, or for Ray ``groupName``.
        """
        key = self.keys[-1] if self.keys else ""
        return key if isinstance(key, str) else text(self.item.get("name", self.item.get("groupName")))


Stamp: TypeAlias = Callable[[dict[str, Any], Scene], None]
"""A function that writes into a copy of a pod the fields that the operator adds to every pod.

The function never raises if the pod's shape has been checked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The paths, in an object with a pod template, of the parts of a Pod, such as metadata and spec."""

    seats: tuple[tuple[Path, Path], ...]
    """The paths of the parts: (path in the Pod, path in the object) for each part; outer parts come first."""
    fields: frozenset[str] | None = None
    """The fields of a PodSpec that the object has among other fields; None: the object is a whole PodSpec."""
    others: frozenset[str] | None = None
    """The names of the object's fields besides ``fields``; None if not all are known, or if ``fields`` is None."""
    beside: frozenset[str] = frozenset()
    """The names of the object's fields beside ``metadata`` and ``spec``, which have nothing of the Pod."""
    adds: frozenset[str] = frozenset()
    """The fields that the kind's containers have in addition to the fields of a Container."""
    front: tuple[Path, ...] = ()
    """The paths in the object at which the pod's first container may be, outside the list of containers."""
    front_name: str = ""
    """The name that the operator gives the first container if the object names none."""
    front_fields: Mapping[str, str] = field(default_factory=dict)
    """The fields of the first container: a mapping from each field's name in a Container to its path in the object."""
    front_whole: bool = False
    """Whether the first container is a whole Container, with ``adds``; if False, its fields are among the object's
    fields.
    """
    front_always: bool = False
    """Whether the pod has the first container even if the object has none of the container's fields."""


_METADATA: Final = ("labels", "annotations", "finalizers")

TEMPLATE: Final = Form(
    # The metadata that a controller copies from a template (GetPodFromTemplate, kubernetes
    # pkg/controller/controller_utils.go).
    seats=(*((("metadata", key), ("metadata", key)) for key in _METADATA), (("spec",), ("spec",)))
)
"""The ``Form`` of a PodTemplateSpec."""

LABELLED: Final = Form(seats=tuple(each for each in TEMPLATE.seats if each[0] != ("metadata", "finalizers")))
"""The ``Form`` of a template with labels and annotations, and no other metadata of the pod."""

BARE: Final = Form(seats=((("spec",), ("spec",)), (("metadata",), ("metadata",))))
"""The ``Form`` of a Pod."""


def workload(scene: Scene) -> Found:
    """Return the workload's own document: the gangs are read from the workload itself."""
    return scene.document


def always(_scene: Scene) -> bool:
    """Return True: the controller always makes pods from the template."""
    return True


def unknown(_scene: Scene) -> int:
    """Return 0, for a template whose number of pods is known only in the cluster."""
    return 0


def spec_replicas(scene: Scene) -> int:
    """Return the number in ``spec.replicas``; 1 if the field is absent."""
    return count(scene.spec.get("replicas"), 1)


def item_replicas(scene: Scene) -> int:
    """Return the field ``replicas`` of the innermost list item or map entry around the template; 1 if absent."""
    return count(scene.item.get("replicas"), 1)


class Elsewhere(NamedTuple):
    """A path in the object, outside the pod template, at which users can write fields of the pod's spec."""

    path: str
    """The path of the pod template at that place, for messages."""
    fields: frozenset[str]
    """The fields of a PodSpec that users can write at the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatePlace:
    """A path at which objects of a Kubernetes kind have a pod template, with functions about the pods."""

    path: tuple[str, ...]
    """The path from the object to the template; ``ELEMENT`` is each item of a list, or each entry of a map."""
    form: Form = TEMPLATE
    stamp: Stamp = lambda _pod, _scene: None
    optional: bool = False
    """Whether an object is valid without the template."""
    role: str = ""
    """The role of the pods, such as leader or head; empty: the name of the innermost list item or map entry."""
    when: Callable[[Scene], bool] = always
    """The function that returns whether the controller makes pods from the template."""
    replicas: Callable[[Scene], int] = lambda _scene: 1
    """The function that returns the number of pods that one object makes from the template; 0: unknown."""
    owner: Callable[[Scene], Found] = workload
    """The function that returns the object from which gangs are read, such as the RayCluster of a RayJob."""
    lacks: frozenset[str] = frozenset()
    """The fields of a Pod that the kind's schema removes: ``metadata``, or fields of the spec."""
    elsewhere: Elsewhere | None = None
    """The place for fields of the spec that the form lacks; None: the object has none."""
    base: tuple[str, ...] = ()
    """The path from the object to fields of a PodSpec that are defaults for all templates of the object."""
    inherited: frozenset[str] = frozenset()
    """The names of the fields that are defaults at ``base``."""
    below: Callable[[Scene], Found] = lambda _scene: {}
    """The function that returns the template over which the operator lays the template at ``path``; empty if the latter
    is no patch.
    """
    fixed: Callable[[Scene], Iterator[tuple[Path, str]]] = lambda _scene: iter(())
    """The function that yields the parts of the pod that the operator takes from elsewhere in the object.

    Each part is yielded with a text that names that place.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """A Kubernetes kind of workload, such as JobSet, with the paths of the pod templates in its objects."""

    api_versions: frozenset[str]
    kind: str
    source: str
    """The source of the places and of the fields that the operator writes."""
    places: tuple[TemplatePlace, ...] = ()
    nested: tuple[tuple[str, ...], ...] = ()
    """The paths to objects that the workload wraps and that may be workloads themselves."""
    filled_by: str = ""
    """The command that prints the objects with the workload's own parameters filled in; empty: it has no parameters."""
    only_template: bool = False
    """Whether the kind makes no pods by itself: other objects refer to objects of the kind, or users make pods from
    them.
    """
    of_cluster: bool = False
    """Whether the kind is cluster-scoped."""
    names: tuple[tuple[str, ...], ...] = ()
    """The paths of further fields that users write. Misspelt names of fields are reported there, as they are in
    ``places``.
    """
    lost: tuple[tuple[tuple[str, ...], str], ...] = ()
    """(path, message) for each field that users write and the operator never reads; the message says so."""
