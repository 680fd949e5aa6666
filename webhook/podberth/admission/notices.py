"""Makes the notices about a decision: the texts of Events, each with the object that the Event is about.

``cluster.events`` publishes the Events. The Events are for pods that a controller makes: the controller drops the
warnings of the API server, so nobody would read the warnings. A denial needs no notice: the controllers of ReplicaSets,
Jobs, StatefulSets and DaemonSets report denials as Events (FailedCreate).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ..kube import pod as pods
from ..kube.object_names import is_api_version, is_kind, is_label, is_subdomain, is_uid
from ..workload.owners import LOOKED_UP
from . import messages
from .outcome import Action, Decision, Outcome
from .review import AdmissionRequest
from .snapshot import Snapshot

# Bytes, because Go counts bytes: NoteLengthLimit in kubernetes pkg/apis/core/validation/events.go.
MAX_NOTE_BYTES = 1024
_REASONS: Mapping[Action, str] = {"warn": "PolicyWarning", "error": "PolicyError"}
"""The ``reason`` of the published Event, by the action of the decision; other actions are not published."""
_LEFT_OUT: Final = "the part about the pod is left out, because the caller is unknown (docs/operating.md, Events)"
_IN_OTHER_WORDS: Final[Mapping[Action, str]] = {
    "warn": f"it warns of a pod; {_LEFT_OUT}",
    "error": f"it has an error on a pod; {_LEFT_OUT}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object that an Event is about. ``namespace`` is empty for a cluster-scoped object."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def can_exist(self) -> bool:
        """Whether the API server would accept the namespace, apiVersion, kind, name and uid of the object.

        The fields are read from an ownerReference, which may contain any text of any length.
        """
        return (
            (not self.namespace or is_label(self.namespace))
            and is_api_version(self.api_version)
            and is_kind(self.kind)
            and is_subdomain(self.name)
            and is_uid(self.uid)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The content of one Event: the object, the reason and the text. Equal notices become one Event with a count."""

    regarding: Regarding
    type: Literal["Normal", "Warning"]
    reason: str
    """The reason of the Event: one word in CamelCase."""
    action: str
    """The value of the Event's ``action`` field."""
    note: str
    """The text of the Event: one line of at most MAX_NOTE_BYTES."""


def notices(request: AdmissionRequest, outcome: Outcome, distrust: Snapshot | None = None) -> tuple[Notice, ...]:
    """Return the notices about the ``outcome`` of /validate, each of which becomes an Event; empty for most reviews.

    There are no notices about a dry run, which must have no side effects; about a pod without a controller, because the
    pod's author sees the warnings; and about an update, because the creation had equal warnings.

    If the sender of the review is unknown, ``distrust`` is the snapshot: the notices then contain only fixed messages
    of the snapshot's policies, and no text from the pod. ``distrust`` is None if the sender is known.
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
    texts = {
        (_REASONS[each.action], note(messages.full_line(each.policy, _words(each, distrust)))): None
        for each in outcome.decisions
        if each.action in _REASONS
    }
    return tuple(
        Notice(regarding=regarding, type="Warning", reason=reason, action="Validate", note=text)
        for reason, text in texts
    )


def is_founded(regarding: Regarding, snapshot: Snapshot) -> bool:
    """Return whether an Event may be published about an object that an unauthenticated sender named.

    The namespace must be in the snapshot. If podberth watches objects of that apiVersion and kind, the object must be
    in the snapshot, too.
    """
    if regarding.namespace not in snapshot.facts.namespaces:
        return False
    kind = LOOKED_UP.get((regarding.api_version, regarding.kind))
    if kind is None or not kind.followed:
        return True
    reference = pods.OwnerReference(regarding.api_version, regarding.kind, regarding.name, regarding.uid)
    return pods.is_owner(snapshot.owners.get(regarding.uid), reference, regarding.namespace)


def _words(decision: Decision, distrust: Snapshot | None) -> str:
    """Return the decision's message, without text from the pod if ``distrust`` is given.

    A general text then replaces a message that is not fixed in the policy.
    """
    if distrust is None:
        return decision.message
    policies = (policy for policy in distrust.policies if policy.name == decision.policy)
    fixed = {each.fixed_message for policy in policies for each in policy.validations}
    return decision.message if decision.message in fixed else _IN_OTHER_WORDS[decision.action]


def note(text: str) -> str:
    """Return the text, cut to the maximum length of an Event's note."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_NOTE_BYTES:
        return data.decode()
    ellipsis = "…"
    room = MAX_NOTE_BYTES - len(ellipsis.encode())
    return data[:room].decode("utf-8", "ignore") + ellipsis
