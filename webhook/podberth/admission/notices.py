"""What is to be told in Events, and of which object. Sending them is ``cluster.events``'.

A controller throws away the warnings that the apiserver sends it, so a pod of its making is warned of to nobody. A
denial is not told here: the controller tells of it itself, in an Event of its own (ReplicaSet: FailedCreate), and so do
Job, StatefulSet and DaemonSet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..kube import pod as pods
from ..kube.names import is_api_version, is_kind, is_label, is_subdomain, is_uid
from ..workload.owners import LOOKED_UP
from . import messages
from .outcome import Action, Decision, Outcome
from .review import AdmissionRequest
from .snapshot import Snapshot

# Of bytes, for Go counts these: NoteLengthLimit in kubernetes pkg/apis/core/validation/events.go.
MAX_NOTE_BYTES = 1024
_REASONS: Mapping[Action, str] = {"warn": "PolicyWarning", "error": "PolicyError"}
"""Which decisions are told: those that a person at kubectl reads as warnings."""
_LEFT_OUT: Final = "what it says of the pod is left out, for anybody may call podberth (docs/operating.md, Events)"
_IN_OTHER_WORDS: Final[Mapping[Action, str]] = {
    "warn": f"it warns of a pod; {_LEFT_OUT}",
    "error": f"it has an error on a pod; {_LEFT_OUT}",
}

NoticeType: TypeAlias = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object that an Event is about. ``namespace`` is empty for one that belongs to none."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def can_exist(self) -> bool:
        """Whether an object can be called so: an ownerReference may hold anything, megabytes of it too."""
        return (
            (not self.namespace or is_label(self.namespace))
            and is_api_version(self.api_version)
            and is_kind(self.kind)
            and is_subdomain(self.name)
            and is_uid(self.uid)
        )


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


def notices(request: AdmissionRequest, outcome: Outcome, distrust: Snapshot | None = None) -> tuple[Notice, ...]:
    """Return what /validate's answer calls for, with ``outcome`` made of ``request``; nothing for most reviews.

    A dry run has no side effects, a pod without a controller is somebody's who reads the warnings, and an update's
    warnings were those of the creation.

    Where anybody may have sent the review, ``distrust`` is the snapshot: the notes then hold what its policies say by
    themselves, and nothing of the pod.
    """
    if not outcome.warnings or outcome.verdict == "denied" or request.operation != "CREATE" or request.dry_run:
        return ()
    owner = pods.controller(request.object or {})
    if owner is None:
        return ()
    regarding = Regarding(
        api_version=owner.api_version,
        kind=owner.kind,
        namespace=request.namespace,
        name=owner.name,
        uid=owner.uid,
    )
    told = {
        (_REASONS[each.action], note(messages.whole(each.policy, _words(each, distrust)))): None
        for each in outcome.decisions
        if each.action in _REASONS
    }
    return tuple(
        Notice(regarding=regarding, type="Warning", reason=reason, action="Validate", note=text)
        for reason, text in told
    )


def is_founded(regarding: Regarding, snapshot: Snapshot) -> bool:
    """Tell whether an object may be told of whose name somebody unknown has said.

    Its namespace is known to be there. So is the object itself, where objects of its kind are followed.
    """
    if regarding.namespace not in snapshot.facts.namespaces:
        return False
    kind = LOOKED_UP.get((regarding.api_version, regarding.kind))
    if kind is None or not kind.followed:
        return True
    reference = pods.OwnerReference(regarding.api_version, regarding.kind, regarding.name, regarding.uid)
    return pods.is_owner(snapshot.owners.get(regarding.uid), reference, regarding.namespace)


def _words(decision: Decision, distrust: Snapshot | None) -> str:
    """Return what a decision says; to nobody knows whom, only what the policy's author wrote word for word."""
    if distrust is None or decision.message in _own_words(decision.policy, distrust):
        return decision.message
    return _IN_OTHER_WORDS[decision.action]


def _own_words(name: str, snapshot: Snapshot) -> set[str]:
    """Return the messages of a policy's validations that no expression makes."""
    return {each.fixed_message for policy in snapshot.policies if policy.name == name for each in policy.validations}


def note(text: str) -> str:
    """Return a line cut to what an Event takes."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_NOTE_BYTES:
        return data.decode()
    ellipsis = "…"
    room = MAX_NOTE_BYTES - len(ellipsis.encode())
    return data[:room].decode("utf-8", "ignore") + ellipsis
