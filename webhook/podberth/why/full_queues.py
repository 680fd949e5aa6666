"""Finds whether a queue of a pod's scheduler has no room for the pod, by the scheduler's own message.

Kueue's queues are in ``grouped``: Kueue says it in its Workloads. KAI says it in the condition of the pod, and Volcano
in an Event about the PodGroup.
"""

import re
from collections.abc import Iterator

from ..kinds.queues import FullQueue, QueueForm
from ..kube.unchecked import text_at
from ..topology.queues import QUEUE_FORMS
from .diagnosis import Diagnosis
from .picture import Picture, Ref, is_about, last_seen
from .pod_groups import Group, groups_of


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the Events about the waiting pod's PodGroups that a queue may hold."""
    if picture.is_waiting:
        yield from (_events(picture, group) for _, _, group in _held_groups(picture))


def full_queue(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod's queue has no room for the pod, as the pod's scheduler says; else None."""
    if not picture.is_waiting:
        return None
    message = " ".join(text_at(picture.scheduled, "message").split())
    for form in QUEUE_FORMS.values():
        for each in form.full:
            if not each.in_events and (match := each.message.search(message)):
                return _full(form, each, match["queue"], match)
    for form, each, group in _held_groups(picture):
        if match := _said(picture, each, group):
            return _full(form, each, text_at(group.document, "spec", "queue"), match, group)
    return None


def _full(form: QueueForm, full: FullQueue, queue: str, match: re.Match[str], group: Group | None = None) -> Diagnosis:
    name = f"{form.title} {queue}" if queue else f"the {form.title}"
    beside = (f"PodGroup {group.name}: {full.phase}",) if group is not None else ()
    return Diagnosis(
        cause="queue",
        title=f"{name} has not admitted it: {full.title}",
        evidence=(*beside, *((match["said"],) if match["said"] else ())),
        do=full.do,
    )


def _held_groups(picture: Picture) -> Iterator[tuple[QueueForm, FullQueue, Group]]:
    """Yield the pod's PodGroups in the phase in which an Event may say that the queue is full."""
    rows = [(form, each) for form in QUEUE_FORMS.values() for each in form.full if each.in_events]
    for group in groups_of(picture):
        for form, each in rows:
            if form.kind[0] in group.kind.api_groups and text_at(group.document, "status", "phase") == each.phase:
                yield form, each, group


def _said(picture: Picture, full: FullQueue, group: Group) -> re.Match[str] | None:
    """Return the newest message in the Events about a PodGroup that says that the group's queue is full."""
    uids = (text_at(group.document, "metadata", "uid"),)
    events = [each for each in picture.listed(_events(picture, group)) if is_about(each, uids)]
    texts = (text_at(each, "message") for each in sorted(events, key=last_seen, reverse=True))
    return next((match for each in texts if (match := full.message.search(each))), None)


def _events(picture: Picture, group: Group) -> Ref:
    fields = f"involvedObject.kind=PodGroup,involvedObject.name={group.name}"
    return Ref("", ("v1",), "events", picture.namespace, fields=fields)
