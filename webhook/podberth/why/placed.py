"""Finds the state of a pod that does not wait for a node: placed and not running, running, or ended."""

from collections.abc import Iterator
from typing import Any, Final

from ..kube.unchecked import at, count, list_at, mapping_at, text_at
from ..words import counted, lasting
from .architecture import is_foreign, not_runnable
from .diagnosis import Diagnosis
from .picture import Document, Picture, Ref, is_about, last_seen
from .rejected import rejected

# kubernetes pkg/kubelet/images/types.go
_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
_CRASHED: Final = frozenset({"CrashLoopBackOff", "RunContainerError", "CreateContainerError", "StartError"})
_STATUSES: Final = (("initContainerStatuses", "init container"), ("containerStatuses", "container"))
_CONFIGURED: Final = "CreateContainerConfigError"
# The Warnings that say why a container cannot be created; others are about something else, or about no fault.
# kubernetes pkg/kubelet/events/event.go, and the attach/detach controller.
_UNSTARTED: Final = frozenset(
    {
        "FailedAttachVolume",
        "FailedCreatePodContainer",
        "FailedCreatePodSandBox",
        "FailedMapVolume",
        "FailedMount",
        "FailedPrepareDynamicResources",
        "NetworkNotReady",
    }
)


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield a reference to the Events of a placed pod."""
    if picture.is_placed and text_at(picture.status, "phase") == "Pending":
        yield picture.events


def not_pending(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis about a pod that waits for no node; None if a scheduler has to place the pod."""
    if picture.pod is None or picture.is_waiting:
        return None
    if deleted := text_at(picture.pod, "metadata", "deletionTimestamp"):
        return _deleted(picture, deleted)
    phase = text_at(picture.status, "phase")
    statuses = [(each, what) for key, what in _STATUSES for each in list_at(picture.status, key)]
    for each, what in statuses:
        if is_foreign(each):
            return not_runnable(picture, each, what)
    if phase in {"Succeeded", "Failed"}:
        return _ended(picture, phase)
    for each, what in statuses:
        if found := _troubled(picture, each, what):
            return found
    return _starting(picture) if phase == "Pending" else _running(picture)


def _troubled(picture: Picture, status: Document, what: str) -> Diagnosis | None:
    name, waiting = text_at(status, "name"), mapping_at(status, "state", "waiting")
    reason, message = text_at(waiting, "reason"), " ".join(text_at(waiting, "message").split())
    evidence = (f"{reason}: {message}",) if message else (reason,)
    if reason in _IMAGE:
        return _not_pending(
            picture,
            "image",
            f"the image of {what} {name} cannot be pulled: {text_at(status, 'image')}",
            evidence,
            "check the image's name and tag, and the pull secret of the pod's ServiceAccount",
        )
    if reason in _CRASHED:
        return _crashed(picture, status, what, evidence)
    ended = mapping_at(status, "state", "terminated")
    if what == "init container" and ended.get("exitCode"):
        return _not_pending(
            picture,
            "crash",
            f"{what} {name} has failed, and is started again: restarted {_often(status)}",
            (f"the last time it ended with code {ended['exitCode']} {text_at(ended, 'reason')}".strip(),),
            f"kubectl logs {_name(picture)} -n {picture.namespace} -c {name}",
        )
    if reason == _CONFIGURED:
        return _not_pending(
            picture,
            "configuration",
            f"{what} {name} cannot be configured: {message}",
            evidence,
            "make the ConfigMap or Secret that the message names, or change the name in the pod",
        )
    if what == "init container" and "running" in mapping_at(status, "state") and not _is_sidecar(picture, name):
        since = text_at(status, "state", "running", "startedAt")
        return _not_pending(
            picture,
            "init",
            f"init container {name} still runs, since {lasting(picture.age(since))}",
            (f"it is placed on node {text_at(picture.spec, 'nodeName')}",),
            f"kubectl logs {_name(picture)} -n {picture.namespace} -c {name}",
        )
    return None


def _crashed(picture: Picture, status: Document, what: str, evidence: tuple[str, ...]) -> Diagnosis:
    """Return the diagnosis about a container that does not stay up, or that the kubelet cannot start.

    A container that never ran has no logs: ``kubectl logs --previous`` fails.
    """
    name, reason = text_at(status, "name"), text_at(status, "state", "waiting", "reason")
    last = mapping_at(status, "lastState", "terminated")
    if not last:
        return _not_pending(
            picture,
            "crash",
            f"{what} {name} cannot be started: {reason}",
            evidence,
            f"kubectl describe pod {_name(picture)} -n {picture.namespace}",
        )
    before = f"the last time it ended with code {last.get('exitCode')}"
    return _not_pending(
        picture,
        "crash",
        f"{what} {name} does not stay up: {reason}, restarted {_often(status)}",
        (*evidence, f"{before} {text_at(last, 'reason')}".strip()),
        f"kubectl logs {_name(picture)} -n {picture.namespace} -c {name} --previous",
    )


def _often(status: Document) -> str:
    return counted(count(at(status, "restartCount")), "time")


def _starting(picture: Picture) -> Diagnosis:
    """Return the diagnosis about a placed pod whose containers are not created yet."""
    latest = _warning(picture)
    node = text_at(picture.spec, "nodeName")
    if latest is None:
        return _not_pending(
            picture,
            "starting",
            f"it is placed on node {node}, and its containers are being created",
            (),
            f"kubectl describe pod {_name(picture)} -n {picture.namespace}",
        )
    message = " ".join(text_at(latest, "message").split())
    return _not_pending(
        picture,
        "starting",
        f"it is placed on node {node}, which cannot start it: {text_at(latest, 'reason')}",
        (message,),
        "fix what the message names; the kubelet tries again by itself",
    )


def _warning(picture: Picture) -> Document | None:
    """Return the newest Event that says why the pod cannot start; None if a later Event says that the start goes on."""
    uids = (text_at(picture.pod, "metadata", "uid"),)
    events = [each for each in picture.listed(picture.events) if is_about(each, uids)]
    normal = max((last_seen(each) for each in events if text_at(each, "type") == "Normal"), default="")
    warnings = [
        each
        for each in events
        if text_at(each, "type") == "Warning" and text_at(each, "reason") in _UNSTARTED and last_seen(each) >= normal
    ]
    return max(warnings, key=last_seen, default=None)


def _running(picture: Picture) -> Diagnosis:
    node = text_at(picture.spec, "nodeName")
    conditions = list_at(picture.status, "conditions")
    ready: Document = next((each for each in conditions if each.get("type") == "Ready"), {})
    since = lasting(picture.age(text_at(picture.status, "startTime")))
    if ready.get("status") == "False":
        return _not_pending(
            picture,
            "not ready",
            f"it runs on node {node}, but is not ready",
            (text_at(ready, "message") or text_at(ready, "reason"),),
            f"kubectl describe pod {_name(picture)} -n {picture.namespace}",
        )
    return Diagnosis(cause="running", title=f"it runs on node {node}, since {since}", waits=False)


def _ended(picture: Picture, phase: str) -> Diagnosis:
    if phase == "Failed" and (found := rejected(picture)):
        return found
    why = ": ".join(filter(None, (text_at(picture.status, "reason"), text_at(picture.status, "message"))))
    do = (f"kubectl logs {_name(picture)} -n {picture.namespace}",) if phase == "Failed" else ()
    return Diagnosis(cause="ended", title=f"it has ended: {phase}", evidence=(why,) if why else (), do=do, waits=False)


def _deleted(picture: Picture, ends: str) -> Diagnosis:
    """Return the diagnosis about a pod that is being deleted, whose grace period ends at the time ``ends``.

    The API server writes the end of the grace period as ``deletionTimestamp`` (apimachinery meta/v1 ObjectMeta).
    """
    found = at(picture.pod, "metadata", "deletionGracePeriodSeconds")
    grace, left = float(found if type(found) is int else 0), picture.left(ends)
    finalizers = [str(each) for each in list_at(picture.pod, "metadata", "finalizers")]
    statuses = [each for key, _ in _STATUSES for each in list_at(picture.status, key)]
    runs = any("running" in mapping_at(each, "state") for each in statuses)
    if runs and left > 0:
        holds = f"its containers still run: the kubelet kills them in {lasting(left)}, after {lasting(grace)} of grace"
    elif finalizers and not runs:
        holds = f"finalizers hold it: {', '.join(finalizers)}"
    else:
        over = f", {lasting(-left)} after its grace period of {lasting(grace)}" if runs else ""
        holds = f"the kubelet has not ended it yet{over}"
    return Diagnosis(
        cause="deleted",
        title=f"it is being deleted, since {lasting(grace - left)}",
        evidence=(holds,),
        do=(f"kubectl get pod {_name(picture)} -n {picture.namespace} -o yaml",),
        waits=False,
    )


def _not_pending(picture: Picture, cause: str, title: str, evidence: tuple[str, ...], *do: str) -> Diagnosis:
    placed = f"it is placed on node {text_at(picture.spec, 'nodeName')}"
    texts = evidence if any("placed" in each for each in (title, *evidence)) else (*evidence, placed)
    return Diagnosis(cause=cause, title=title, evidence=tuple(filter(None, texts)), do=do, waits=False)


def _is_sidecar(picture: Picture, name: str) -> bool:
    found: list[Any] = list_at(picture.spec, "initContainers")
    return any(each.get("name") == name and each.get("restartPolicy") == "Always" for each in found)


def _name(picture: Picture) -> str:
    return text_at(picture.pod, "metadata", "name")
