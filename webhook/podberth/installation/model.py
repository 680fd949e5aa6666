"""The observed state of a cluster, and the lines about it. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, TypeVar

Document: TypeAlias = Mapping[str, Any]
T = TypeVar("T")

State: TypeAlias = Literal["ok", "note", "attention", "unread"]
"""The state of a line: healthy; information without need to act; a problem to fix; unreadable, so that nothing is
known."""

Fact: TypeAlias = str | int | bool | tuple[str, ...] | None

MOST_NAMED: Final = 3
"""The most names in a line: the whole report fits one screen, and JSON has the rest."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that could not be read."""

    why: str
    """The error, in one line."""
    want: str
    """The right that reading needs: ``get deployments.apps in podberth-system``."""
    refused: bool = True
    """Whether it was refused; otherwise there was no answer."""


Read: TypeAlias = T | Unread
"""A value that was read, or the reason why it could not be."""
Found: TypeAlias = Document | Unread | None
"""An object; None: it does not exist."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A running pod of the webhook, and its metrics by name and labels."""

    name: str
    metrics: Read[Mapping[tuple[str, frozenset[tuple[str, str]]], float]]

    def value(self, name: str) -> float | None:
        """Return a metric without labels; None where it is not known."""
        return None if isinstance(self.metrics, Unread) else self.metrics.get((name, frozenset()))

    def labelled(self, name: str) -> Mapping[frozenset[tuple[str, str]], float]:
        """Return a metric's values by their labels."""
        if isinstance(self.metrics, Unread):
            return {}
        return {labels: value for (known, labels), value in self.metrics.items() if known == name}


@dataclass(frozen=True, slots=True)
class ClusterWarnings:
    """Warnings of the whole cluster. ``truncated``: there are more than were read."""

    documents: tuple[Document, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationState:
    """All that was read, at one time."""

    now: datetime
    kubernetes: str
    """The API server's version."""
    deployment: Found
    agents: Found
    """The agents' DaemonSet."""
    controller: Found = None
    """The controller's Deployment."""
    policies_served: Read[bool]
    configurations: Mapping[str, Found]
    """By kind: ``MutatingWebhookConfiguration``."""
    guards: Mapping[str, Found]
    """By ``KIND/NAME``: admission policies, and the bindings that activate them."""
    policies: Read[tuple[Document, ...]]
    """GPUPolicies; none where the kind is not served."""
    nodes: Read[tuple[Document, ...]]
    topologies: Read[tuple[Document, ...]]
    heartbeats: Read[tuple[Document, ...]]
    replicas: Read[tuple[Replica, ...]]
    events: Read[ClusterWarnings]


def spoken(replicas: Read[tuple[Replica, ...]]) -> tuple[Replica, ...]:
    """Return the replicas with metrics."""
    known = () if isinstance(replicas, Unread) else replicas
    return tuple(each for each in known if not isinstance(each.metrics, Unread))


@dataclass(frozen=True, slots=True)
class Row:
    """One line. ``facts`` are the values in its text, for programs."""

    name: str
    state: State
    text: str
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of one subject."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The whole report."""

    now: datetime
    kubernetes: str
    sections: tuple[Section, ...]

    @property
    def troubles(self) -> int:
        """The number of lines that need attention, including unreadable ones, whose state is unknown."""
        return sum(row.state in {"attention", "unread"} for section in self.sections for row in section.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the report in the format of docs/schema/status-v1.json."""
        return {
            "version": 1,
            "time": self.now.isoformat(timespec="seconds"),
            "kubernetes": self.kubernetes,
            "healthy": not self.troubles,
            "sections": [
                {
                    "name": section.name,
                    "rows": [
                        {"name": row.name, "state": row.state, "text": row.text, "facts": dict(row.facts)}
                        for row in section.rows
                    ],
                }
                for section in self.sections
            ],
        }


def unread(name: str, what: Unread) -> Row:
    """Return the line for an unreadable object."""
    want = f"; want {what.want}" if what.refused else ""
    return Row(name, "unread", f"could not be read: {what.why}{want}", {"want": what.want})


def named(names: tuple[str, ...]) -> str:
    """Return the first names, and the number of the others."""
    left = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {left} more" if left > 0 else "")


def counted(number: int, what: str) -> str:
    """Return ``1 node``, ``2 nodes``."""
    several = f"{what.removesuffix('y')}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else several}"


def lasting(seconds: float) -> str:
    """Return a duration in the largest unit of which it has at least two: ``90 s``, ``3 min``, ``22 h``, ``364 d``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def option(deployment: Found, name: str) -> str:
    """Return the value of an option of ``podberth serve``, as ``client-ca``; empty where it is unknown."""
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
