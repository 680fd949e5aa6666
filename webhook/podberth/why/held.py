"""The causes that hold a pod before a scheduler looks for a node: scheduling gates, and a scheduler that is absent."""

from typing import Final

from ..kube.unchecked import list_at, text_at
from .finding import Finding, counted, lasting, listed, named
from .picture import DEFAULT_SCHEDULER, NotRead, Picture

# The owner of a gate is the domain of its name (KEP-3521); these are the domains that users know by another name.
_OWNERS: Final = {"kueue.x-k8s.io": "Kueue", "grove.io": "Grove", "jobset.sigs.k8s.io": "JobSet"}
# A busy scheduler looks at a new pod within seconds.
_PATIENCE_SECONDS: Final = 15.0


def gated(picture: Picture) -> Finding | None:
    """Return the finding if scheduling gates hold the pod."""
    gates = [text_at(each, "name") for each in list_at(picture.spec, "schedulingGates")]
    if not gates or not picture.is_waiting:
        return None
    owners = listed([_owner(each) for each in gates])
    return Finding(
        cause="gate",
        title=f"scheduling gate {listed(gates)} of {owners} holds it",
        evidence=("no scheduler looks at the pod while spec.schedulingGates has an entry",),
        do=(
            "is there a Workload for it? kubectl get workloads.kueue.x-k8s.io -n " + picture.namespace
            if owners == "Kueue"
            else f"find out why {owners} does not remove the gate: its controller does that, not the scheduler",
        ),
    )


def _owner(gate: str) -> str:
    domain, slash, _ = gate.partition("/")
    return _OWNERS.get(domain, domain) if slash else "an unknown controller"


def unserved(picture: Picture) -> Finding | None:
    """Return the finding if the pod names a scheduler that has not looked at any pod."""
    if not picture.is_waiting or picture.scheduled or list_at(picture.spec, "schedulingGates"):
        return None
    name = picture.scheduler
    if _is_seen(picture, name):
        return None
    others = _schedulers(picture)
    evidence = ["the pod has no condition PodScheduled: no scheduler has looked at it"]
    if others:
        evidence.append(f"schedulers that have placed pods here: {named(others)}")
    return Finding(
        cause="scheduler",
        title=f"no scheduler named {name} is seen in this cluster",
        evidence=(*evidence, "spec.schedulerName cannot be changed on a pod"),
        do=(
            f"install {name}, or leave spec.schedulerName out of the template and create the pod again"
            if name != DEFAULT_SCHEDULER
            else "kubectl get pods -n kube-system: does kube-scheduler run?",
        ),
    )


def unseen(picture: Picture) -> Finding | None:
    """Return the finding if the pod's scheduler is there and has not looked at the pod, which may be new."""
    if not picture.is_waiting or picture.scheduled or list_at(picture.spec, "schedulingGates"):
        return None
    waited = picture.age(text_at(picture.pod, "metadata", "creationTimestamp"))
    if waited > _PATIENCE_SECONDS:
        return Finding(
            cause="scheduler",
            title=f"scheduler {picture.scheduler} has not looked at it for {lasting(waited)}",
            evidence=("the pod has no condition PodScheduled, though that scheduler has looked at other pods",),
            do=("look into the scheduler's log; a pod that its plugins hold back has no condition either",),
        )
    return Finding(
        cause="new",
        title=f"it is {counted(round(waited), 'second')} old, and {picture.scheduler} has not looked at it yet",
        do=("ask again in a few seconds",),
    )


def _is_seen(picture: Picture, scheduler: str) -> bool:
    # Every cluster has kube-scheduler; a new cluster may have no pod that it has placed.
    return isinstance(picture.pods, NotRead) or scheduler in _schedulers(picture)


def _schedulers(picture: Picture) -> set[str]:
    """Return the names of the schedulers that have looked at some pod."""
    if isinstance(picture.pods, NotRead):
        return set()
    return {
        text_at(each, "spec", "schedulerName")
        for each in picture.pods
        if any(text_at(one, "type") == "PodScheduled" for one in list_at(each, "status", "conditions"))
        and not list_at(each, "spec", "schedulingGates")
    }
