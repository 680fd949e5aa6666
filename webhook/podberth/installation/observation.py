"""The observed state of an installation, and the parts of a status report: values only, no logic of the report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar

from ..topology.holdings import BoundPod

Document: TypeAlias = Mapping[str, Any]
T = TypeVar("T")

State: TypeAlias = Literal["ok", "note", "attention", "unread"]
"""The state of a line of the report. ok: healthy. note: information that needs no action. attention: a problem to fix.
unread: an object could not be read, so the state is unknown.
"""

Fact: TypeAlias = str | int | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Unread:
    """An object or a metric that could not be read, with the reason."""

    why: str
    """The error, in one line."""
    want: str
    """The right that is needed to read the object: ``get deployments.apps in podberth-system``."""
    refused: bool = True
    """Whether the API server refused the request; False if the API server did not answer."""


Read: TypeAlias = T | Unread
"""A value that was read, or the reason why it could not be read."""
ObservedObject: TypeAlias = Document | Unread | None
"""An object of the API server; None if the object does not exist; Unread if the object could not be read."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A running pod of the webhook, and the pod's metrics by name and labels."""

    name: str
    metrics: Read[Mapping[tuple[str, frozenset[tuple[str, str]]], float]]

    def value(self, name: str) -> float | None:
        """Return the value of a metric that has no labels; None if the value is unknown."""
        return None if isinstance(self.metrics, Unread) else self.metrics.get((name, frozenset()))

    def labelled(self, name: str) -> Mapping[frozenset[tuple[str, str]], float]:
        """Return a mapping from the labels of each value of the metric ``name`` to the value."""
        if isinstance(self.metrics, Unread):
            return {}
        return {labels: value for (known, labels), value in self.metrics.items() if known == name}


@dataclass(frozen=True, slots=True)
class ObservedList:
    """Objects of the whole cluster; ``truncated`` is True if the cluster has more of them than were read."""

    documents: tuple[Document, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LetThrough:
    """The pods without podberth's record that policies would change or deny if the pods were created now.

    A pod is ``NAMESPACE/NAME``.
    """

    since: datetime
    """The time at which the webhook configuration was created; pods created before it are left out."""
    changed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    """The names of the policies that would change or deny at least one of the pods."""
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationState:
    """Everything that was read about an installation, at one time."""

    now: datetime
    kubernetes: str
    """The API server's version."""
    deployment: ObservedObject
    agents: ObservedObject
    """The agents' DaemonSet."""
    controller: ObservedObject = None
    """The controller's Deployment; None if the controller is not installed."""
    policies_served: Read[bool]
    configurations: Mapping[str, ObservedObject]
    """The webhook configurations by kind, such as ``MutatingWebhookConfiguration``."""
    guards: Mapping[str, ObservedObject]
    """The ValidatingAdmissionPolicies that guard podberth's objects, and the policies' bindings, by ``KIND/NAME``."""
    floor: Mapping[str, ObservedObject] = field(default_factory=dict)
    """The native policies of the floor, and their bindings, by ``KIND/NAME``."""
    policies: Read[tuple[Document, ...]]
    """The GPUPolicies; empty if the API server does not serve the kind."""
    exceptions: Read[tuple[Document, ...]] = ()
    """The GPUPolicyExceptions; empty if the API server does not serve the kind."""
    namespaced: Read[tuple[Document, ...]] = ()
    """The NamespacedGPUPolicies of all namespaces; empty if the API server does not serve the kind."""
    nodes: Read[tuple[Document, ...]]
    topologies: Read[tuple[Document, ...]]
    heartbeats: Read[tuple[Document, ...]]
    replicas: Read[tuple[Replica, ...]]
    events: Read[ObservedList]
    """The warning Events."""
    namespaces: Read[tuple[Document, ...]]
    params: Read[tuple[Document, ...]]
    """The ConfigMaps in podberth's namespace except topology documents: params, and the platform team's own policies.
    """
    unrecorded: Read[ObservedList]
    """The pods that ask for accelerators, have not ended, and have no annotation ``podberth.io/applied``."""
    bound: tuple[BoundPod, ...] | None = None
    """The pods that hold accelerators of nodes; None: not all pods were read."""
    slices: Read[tuple[Document, ...]] = ()
    """The ResourceSlices; empty if the API server does not serve the kind in v1."""
    claims: Read[tuple[Document, ...]] = ()
    """The ResourceClaims; empty if the API server does not serve the kind in v1."""
    let_through: Read[LetThrough] | None = None
    """The result of ``checking.let_through`` for the unrecorded pods; None if the pods were not checked."""


def readable(replicas: Read[tuple[Replica, ...]]) -> tuple[Replica, ...]:
    """Return the replicas whose metrics could be read; empty if the replicas could not be listed."""
    known = () if isinstance(replicas, Unread) else replicas
    return tuple(each for each in known if not isinstance(each.metrics, Unread))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the status report; ``facts`` are the values in the line's text, for programs."""

    name: str
    state: State
    text: str
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The whole status report."""

    now: datetime
    kubernetes: str
    sections: Mapping[str, tuple[Row, ...]]
    """The lines by the subject of their section, in reading order."""

    @property
    def troubles(self) -> int:
        """The number of lines of the report that need attention, or whose state could not be read."""
        return sum(row.state in {"attention", "unread"} for rows in self.sections.values() for row in rows)

    def as_json(self) -> dict[str, Any]:
        """Return the status report in the format of docs/schema/status-v1.json."""
        return {
            "version": 1,
            "time": self.now.isoformat(timespec="seconds"),
            "kubernetes": self.kubernetes,
            "healthy": not self.troubles,
            "sections": [
                {
                    "name": name,
                    "rows": [
                        {"name": row.name, "state": row.state, "text": row.text, "facts": dict(row.facts)}
                        for row in rows
                    ],
                }
                for name, rows in self.sections.items()
            ],
        }


def as_list(found: Read[tuple[Document, ...]], version: str, kind: str) -> Iterator[dict[str, Any]]:
    """Yield a List of the objects, such as a NodeList, as the API server returns it; nothing if ``found`` is unread.

    ``version`` and ``kind`` are the apiVersion and the kind of each object. The API server writes neither of the two on
    the objects in a list.
    """
    if not isinstance(found, Unread):
        yield {"apiVersion": version, "kind": f"{kind}List", "items": list(found)}


def unread(name: str, what: Unread) -> Row:
    """Return the report's line about an object that could not be read."""
    want = f"; want {what.want}" if what.refused else ""
    return Row(name, "unread", f"could not be read: {what.why}{want}", {"want": what.want})


def option(deployment: ObservedObject, name: str) -> str:
    """Return the value of an option of ``podberth serve``, such as ``client-ca``, in a Deployment; empty if unknown."""
    if deployment is None or isinstance(deployment, Unread):
        return ""
    [container, *_] = deployment["spec"]["template"]["spec"]["containers"]
    arguments = [str(each) for each in container.get("args") or ()]
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if before == f"--{name}":
            return argument
        if argument.startswith(f"--{name}="):
            return argument.partition("=")[2]
    variable = f"PODBERTH_{name.replace('-', '_').upper()}"
    return next((str(each.get("value", "")) for each in container.get("env") or () if each["name"] == variable), "")
