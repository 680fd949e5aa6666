"""What an autoscaler says about a waiting pod: that it adds a node for the pod, or why it adds none."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ..kube.unchecked import text_at
from .diagnosis import Diagnosis, Said
from .picture import Picture, Ref, is_about, last_seen


class _Word(NamedTuple):
    """The prefix of an Event's message, and whether the autoscaler adds a node."""

    prefix: str
    adds: bool


# kubernetes/autoscaler cluster-autoscaler/processors/status/eventing_scale_up_processor.go, which GKE's autoscaler has
# too; kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/events.go.
_WORDS: Final = {
    ("cluster-autoscaler", "NotTriggerScaleUp"): _Word("pod didn't trigger scale-up: ", adds=False),
    ("cluster-autoscaler", "TriggeredScaleUp"): _Word("pod triggered scale-up: ", adds=True),
    ("karpenter", "FailedScheduling"): _Word("Failed to schedule pod, ", adds=False),
    ("karpenter", "Nominated"): _Word("Pod should schedule on: ", adds=True),
}


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield a reference to the Events of a pod for which the scheduler found no node."""
    if picture.is_waiting and text_at(picture.scheduled, "reason") == "Unschedulable":
        yield picture.events


def said(picture: Picture) -> Said:
    """Return the newest Event of an autoscaler about the waiting pod; empty texts if there is none."""
    uids = (text_at(picture.pod, "metadata", "uid"),)
    found = [
        each
        for each in (picture.listed(picture.events) if any(needs(picture)) else ())
        if (_source(each), text_at(each, "reason")) in _WORDS and is_about(each, uids)
    ]
    latest = max(found, key=last_seen, default=None)
    if latest is None:
        return Said(scheduler="")
    message = " ".join(text_at(latest, "message").split())
    return Said(scheduler=_source(latest), reason=text_at(latest, "reason"), message=message)


def adds_no_node(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that an autoscaler adds no node for the pod; None if the autoscaler does not say so."""
    found = said(picture)
    word = _WORDS.get((found.scheduler, found.reason))
    if word is None or word.adds:
        return None
    return Diagnosis(
        cause="autoscaler",
        title=f"{found.scheduler} adds no node for it: {found.message.removeprefix(word.prefix)}",
        do=("raise the limit that the autoscaler names, or add a node group that the pod fits on",),
    )


def _source(event: object) -> str:
    return text_at(event, "source", "component") or text_at(event, "reportingComponent")
