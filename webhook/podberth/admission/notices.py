"""What is to be told in Events, and of which object. Sending them is ``cluster.events``'.

A controller throws away the warnings that the apiserver sends it, so a pod of its making is warned of to nobody. A
denial is not told here: the controller tells of it itself, in an Event of its own (ReplicaSet: FailedCreate), and so do
Job, StatefulSet and DaemonSet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..kube import pod as pods
from . import messages
from .outcome import Action, Outcome
from .review import AdmissionRequest

# Of bytes, for Go counts these: NoteLengthLimit in kubernetes pkg/apis/core/validation/events.go.
MAX_NOTE_BYTES = 1024
# No object has a longer name, and no apiVersion is longer: a group and a name are DNS subdomains of 253 characters at
# most, a version a label of 63. An ownerReference may hold megabytes, and what is to be told is remembered.
_LONGEST_FIELD = 253 + 1 + 63
_REASONS: Mapping[Action, str] = {"warn": "PolicyWarning", "error": "PolicyError"}
"""Which decisions are told: those that a person at kubectl reads as warnings."""

NoticeType: TypeAlias = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object that an Event is about. ``namespace`` is empty for one that belongs to none."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell. Equal ones are one series: they make one Event, which counts them."""

    regarding: Regarding
    type: NoticeType
    reason: str
    """One word in CamelCase."""
    action: str
    """What was being done."""
    note: str
    """One line, of at most MAX_NOTE_BYTES."""


def notices(request: AdmissionRequest, outcome: Outcome) -> tuple[Notice, ...]:
    """Return what /validate's answer calls for, with ``outcome`` made of ``request``; nothing for most reviews.

    A dry run has no side effects, a pod without a controller is somebody's who reads the warnings, and an update's
    warnings were those of the creation.
    """
    if not outcome.warnings or outcome.verdict == "denied" or request.operation != "CREATE" or request.dry_run:
        return ()
    owner = pods.controller(request.object or {})
    if owner is None or max(map(len, (owner.api_version, owner.kind, owner.name, owner.uid))) > _LONGEST_FIELD:
        return ()
    regarding = Regarding(
        api_version=owner.api_version,
        kind=owner.kind,
        namespace=request.namespace,
        name=owner.name,
        uid=owner.uid,
    )
    told = {
        (_REASONS[each.action], note(messages.whole(each.policy, each.message))): None
        for each in outcome.decisions
        if each.action in _REASONS
    }
    return tuple(
        Notice(regarding=regarding, type="Warning", reason=reason, action="Validate", note=text)
        for reason, text in told
    )


def note(text: str) -> str:
    """Return a line cut to what an Event takes."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_NOTE_BYTES:
        return data.decode()
    ellipsis = "…"
    room = MAX_NOTE_BYTES - len(ellipsis.encode())
    return data[:room].decode("utf-8", "ignore") + ellipsis
