"""Finds what holds a pod before a scheduler looks for a node: scheduling gates, or an absent or slow scheduler."""

from collections.abc import Iterator
from typing import Final

from ..kube.object_names import is_subdomain
from ..kube.unchecked import list_at, text_at
from ..words import counted, lasting, listed
from .diagnosis import Diagnosis
from .picture import ALL_PODS, DEFAULT_SCHEDULER, Picture, Ref, pods_by

PATIENCE_SECONDS: Final = 15.0
"""The age from which it matters that nobody has looked at a pod: busy schedulers and controllers do within seconds."""


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield a reference to the pods with a waiting pod's schedulerName, if no scheduler has tried to place the pod."""
    unseen = picture.is_waiting and not picture.scheduled
    named = picture.scheduler != DEFAULT_SCHEDULER and is_subdomain(picture.scheduler)
    if unseen and named and ALL_PODS not in picture.read:
        yield pods_by(picture.scheduler)


def gated(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that scheduling gates hold the pod; None if the pod has no gates."""
    gates = [text_at(each, "name") for each in list_at(picture.spec, "schedulingGates")]
    if not gates or not picture.is_waiting:
        return None
    from . import queueing  # noqa: PLC0415 - see the module's docstring

    owners = listed([queueing.owner_of(each) for each in gates])
    queued = queueing.QUEUED.get(owners)
    return Diagnosis(
        cause="gate",
        title=f"scheduling gate {listed(gates)} of {owners} holds it",
        evidence=("no scheduler looks at the pod while spec.schedulingGates has an entry",),
        do=(
            f"is there a {queued.kind[1]} for it? kubectl get {queued.resource} -n {picture.namespace}"
            if queued is not None
            else f"find out why {owners} does not remove the gate: its controller does that, not the scheduler",
        ),
    )


def unserved(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod names a scheduler that has not tried to schedule any pod; else None."""
    if not picture.is_waiting or picture.scheduled or list_at(picture.spec, "schedulingGates"):
        return None
    name = picture.scheduler
    if _is_seen(picture) is not False or picture.waited <= PATIENCE_SECONDS:
        return None
    return Diagnosis(
        cause="scheduler",
        title=f"no scheduler named {name} is seen in this cluster",
        evidence=(
            "the pod has no condition PodScheduled: no scheduler has looked at it",
            f"no other pod of {name} has such a condition either",
        ),
        do=(
            f"install {name}, or leave spec.schedulerName out of the template and create the pod again",
            "spec.schedulerName cannot be changed on a pod",
        ),
    )


def unseen(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod's scheduler may run, but has not tried to schedule the pod yet; else None."""
    if not picture.is_waiting or picture.scheduled or list_at(picture.spec, "schedulingGates"):
        return None
    waited = picture.waited
    others = ", though that scheduler has looked at other pods" if _is_seen(picture) else ""
    if waited > PATIENCE_SECONDS:
        return Diagnosis(
            cause="scheduler",
            title=f"scheduler {picture.scheduler} has not looked at it for {lasting(waited)}",
            evidence=(f"the pod has no condition PodScheduled{others}",),
            do=("look into the scheduler's log; a pod that its plugins hold back has no condition either",),
        )
    return Diagnosis(
        cause="new",
        title=f"it is {counted(round(waited), 'second')} old, and {picture.scheduler} has not looked at it yet",
        do=("ask again in a few seconds",),
    )


def _is_seen(picture: Picture) -> bool | None:
    """Return whether the pod's scheduler has tried to schedule any pod: a pod has the condition PodScheduled.

    None if that is unknown: the pods with this schedulerName were not read, or the scheduler is the default scheduler
    and no pod has the condition.
    """
    pods = picture.pods(pods_by(picture.scheduler))
    found = pods is not None and any(
        text_at(one, "type") == "PodScheduled" and text_at(one, "reason") != "SchedulingGated"
        for each in pods
        for one in list_at(each, "status", "conditions")
    )
    # Kubernetes' own scheduler runs even if no pod shows it.
    return found or (None if pods is None or picture.scheduler == DEFAULT_SCHEDULER else False)
