"""The objects that were read for one answer why a pod waits: the pod, its workload, the nodes, and other objects.

A cause names the objects that it needs by ``Ref``. The reader in ``cluster.why`` reads the objects and makes the next
``Picture``, until no cause needs more objects.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, TypeAlias

from ..kube.unchecked import list_at, mapping_at, text_at

Document: TypeAlias = Mapping[str, Any]

DEFAULT_SCHEDULER: Final = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Ref:
    """The address of an object, or of all objects of a Kubernetes kind in a namespace, to read from the API server."""

    group: str
    """The API group; empty: the core group."""
    versions: tuple[str, ...]
    """The versions that a cause can read, the newest first; the first that is served is read."""
    plural: str
    namespace: str = ""
    """The namespace; empty: the kind is cluster-scoped."""
    name: str = ""
    """The name of the object; empty: all objects are listed."""
    fields: str = ""
    """A field selector of a list; empty selects all objects."""
    labels: str = ""
    """A label selector of a list; empty selects all objects."""

    @property
    def right(self) -> str:
        """The right that is needed to read the objects of the reference, as text: ``get pods in team-a``."""
        resource = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{'get' if self.name else 'list'} {resource}{f' in {self.namespace}' if self.namespace else ''}"


_LIVING: Final = "status.phase!=Succeeded,status.phase!=Failed"
ALL_PODS: Final = Ref("", ("v1",), "pods", fields=_LIVING)
"""All pods of the cluster that have not ended: at 10,000 pods of 8 KiB, 69 MB of protobuf.

The pods have the fields in ``kube.protobuf_pods.TABLE``, and so have those of ``pods_on`` and ``pods_by``.
"""


def pods_on(node: str) -> Ref:
    """Return the reference to the pods of a node that have not ended, which the API server finds by an index."""
    return Ref("", ("v1",), "pods", fields=f"spec.nodeName={node},{_LIVING}")


def pods_in(namespace: str) -> Ref:
    """Return the reference to the pods of a namespace that have not ended."""
    return Ref("", ("v1",), "pods", namespace, fields=_LIVING)


def pods_by(scheduler: str) -> Ref:
    """Return the reference to the pods that have the schedulerName ``scheduler`` and have not ended."""
    return Ref("", ("v1",), "pods", fields=f"spec.schedulerName={scheduler},{_LIVING}")


@dataclass(frozen=True, slots=True)
class NotRead:
    """An object, or a list of objects, that the API server did not return."""

    want: str
    """The right that is needed to read the object."""
    why: str


# asyncio.run writes the text of its task, and the task's result in it: four seconds for 10,000 pods.
@dataclass(frozen=True, kw_only=True, repr=False)
class Picture:
    """The objects of a cluster at one moment, as far as an answer about one pod or workload needs them."""

    now: datetime
    namespace: str
    kind: str
    """The kind that the user asked about, as users of kubectl write it: ``pod``, ``job``; ``workload`` if the user
    named no kind.
    """
    name: str
    pod: Document | None
    """The pod that the answer is about; None: the workload has no pod."""
    controllers: tuple[Document, ...] = ()
    """The workload itself, if the workload was read, and the controllers below it; the nearest to the pods is last."""
    siblings: tuple[Document, ...] = ()
    """All pods of the workload; empty if the user asked about a pod."""
    nodes: tuple[Document, ...] | NotRead = ()
    read: Mapping[Ref, Document | NotRead | None] = field(default_factory=dict)
    """The further objects that causes need, by reference; the result of a list has ``items``.

    None: the object does not exist, or the API server does not serve the kind.
    """

    def one(self, ref: Ref) -> Document | None:
        """Return the object that ``ref`` refers to; None if the object does not exist or was not read.

        ``lacks`` says which of the two.
        """
        found = self.read.get(ref)
        return None if isinstance(found, NotRead) else found

    def lacks(self, ref: Ref) -> bool:
        """Return whether the object that ``ref`` refers to certainly does not exist."""
        return ref in self.read and self.read[ref] is None

    def listed(self, ref: Ref) -> list[Any]:
        """Return the objects of the list that ``ref`` refers to; empty if the list is empty or was not read."""
        return list_at(self.one(ref), "items")

    @property
    def unread(self) -> tuple[NotRead, ...]:
        """The objects that the API server did not return, in a stable order."""
        found = (self.nodes, *self.read.values())
        return tuple(dict.fromkeys(each for each in found if isinstance(each, NotRead)))

    def pods(self, ref: Ref) -> tuple[Document, ...] | None:
        """Return the pods to which ``ref`` refers; None if the pods were not read.

        The pods come from the list of all pods, if that list was read. Pods that have ended are left out.
        """
        known = ref if ref in self.read else ALL_PODS
        found = self.read.get(known)
        if found is None or isinstance(found, NotRead):
            return None
        if known == ref:
            return tuple(list_at(found, "items"))
        if ref.namespace:
            pods = list_at(found, "items")
            return tuple(each for each in pods if text_at(each, "metadata", "namespace") == ref.namespace)
        place, _, value = ref.fields.partition(",")[0].removeprefix("spec.").partition("=")
        return tuple(self._by_field(place).get(value, ()))

    def _by_field(self, place: str) -> Mapping[str, list[Document]]:
        """Return a mapping from each value of the pods' field ``spec.<place>`` to the pods; all read pods are in it."""
        if place not in self._grouped:
            groups = self._grouped[place] = {}
            for pod in list_at(self.read[ALL_PODS], "items"):
                groups.setdefault(text_at(pod, "spec", place), []).append(pod)
        return self._grouped[place]

    @cached_property
    def _grouped(self) -> dict[str, dict[str, list[Document]]]:
        return {}

    @cached_property
    def spec(self) -> Document:
        """The pod's spec; empty without a pod."""
        return mapping_at(self.pod, "spec")

    @cached_property
    def status(self) -> Document:
        """The pod's status; empty without a pod."""
        return mapping_at(self.pod, "status")

    @cached_property
    def scheduled(self) -> Document:
        """The pod's condition PodScheduled; empty if the pod has no such condition yet."""
        conditions = list_at(self.status, "conditions")
        return next((each for each in conditions if text_at(each, "type") == "PodScheduled"), {})

    @property
    def scheduler(self) -> str:
        """The name of the scheduler that has to place the pod."""
        return text_at(self.spec, "schedulerName") or DEFAULT_SCHEDULER

    @property
    def is_placed(self) -> bool:
        """Whether the pod has a node."""
        return bool(text_at(self.spec, "nodeName"))

    @property
    def is_waiting(self) -> bool:
        """Whether there is a pod that no scheduler has placed, and that has not ended or been deleted."""
        ended = text_at(self.status, "phase") in {"Succeeded", "Failed"}
        return self.pod is not None and not (self.is_placed or ended or self.pod["metadata"].get("deletionTimestamp"))

    def age(self, since: object) -> float:
        """Return the seconds since a time in the API's format; 0 if the text is no time, or a time in the future."""
        return max(0.0, -self.left(since))

    @property
    def waited(self) -> float:
        """The seconds since the pod was created; 0 without a pod."""
        return self.age(text_at(self.pod, "metadata", "creationTimestamp"))

    def left(self, until: object) -> float:
        """Return the seconds until a time in the API's format, negative if it has passed; 0 if the text is no time."""
        try:
            then = datetime.fromisoformat(until) if isinstance(until, str) else self.now
        except ValueError:
            return 0.0
        return ((then if then.tzinfo else then.replace(tzinfo=UTC)) - self.now).total_seconds()

    @property
    def events(self) -> Ref:
        """The reference to the Events about the pod."""
        fields = f"involvedObject.kind=Pod,involvedObject.name={text_at(self.pod, 'metadata', 'name')}"
        return Ref("", ("v1",), "events", self.namespace, fields=fields)

    @property
    def refusals(self) -> Ref:
        """The reference to the Events about pods that controllers of the namespace could not create."""
        return Ref("", ("v1",), "events", self.namespace, fields="reason=FailedCreate")

    @property
    def workload_events(self) -> Ref:
        """The reference to the Events about the workload that the user named, for a workload that was not read."""
        return Ref("", ("v1",), "events", self.namespace, fields=f"involvedObject.name={self.name}")


def last_seen(event: Document) -> str:
    """Return the time when an Event was seen last, to the second, in the API's format; empty if the Event has none."""
    found = (
        text_at(event, "series", "lastObservedTime")
        or text_at(event, "lastTimestamp")
        or text_at(event, "eventTime")
        or text_at(event, "metadata", "creationTimestamp")
    )
    return f"{found[:19]}Z" if found else ""


def is_about(event: Document, uids: Collection[str]) -> bool:
    """Return whether an Event is about an object with one of the uids; True if the Event or all objects have no uid.

    The uid is compared because an object that was deleted and created again has the name of the deleted object, and
    Events live for an hour.
    """
    own = text_at(event, "involvedObject", "uid")
    return not own or own in uids or not any(uids)


def place_of(pod: Document) -> str:
    """Return NAMESPACE/NAME of a pod."""
    return f"{text_at(pod, 'metadata', 'namespace')}/{text_at(pod, 'metadata', 'name')}"


def holds_since(pod: Document) -> str:
    """Return the time since which a pod holds its resources, in the API's format; empty if unknown."""
    return text_at(pod, "status", "startTime") or text_at(pod, "metadata", "creationTimestamp")
