"""Finds why a workload lacks pods: the API server refuses the pods, or the workload is suspended or wants none."""

import re
from collections.abc import Iterator
from typing import Final

from ..kube.object_names import is_subdomain
from ..kube.unchecked import LARGEST_SIZE, at, count, list_at, mapping_at, text_at
from ..words import counted, lasting
from .diagnosis import Diagnosis
from .picture import Document, NotRead, Picture, Ref, is_about, last_seen, pods_in

# Two lines of a terminal.
_LONGEST: Final = 120
_NAMESPACED: Final = re.compile(r"kubectl (describe|create)")
# apiserver pkg/admission/plugin/webhook/errors and pkg/util/webhook; plugin resourcequota (pkg/admission), limitranger
# and priority (kubernetes plugin/pkg/admission); pod-security-admission; serviceaccount.
_WORDS: Final[tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...]] = (
    (
        re.compile(r'admission webhook "(?P<who>[^"]+)" denied the request: ?(?P<said>.*)', re.DOTALL),
        "admission webhook {who} refuses its pods: {said}",
        ("change the pod template as the message says",),
    ),
    (
        re.compile(r"ValidatingAdmissionPolicy '(?P<who>[^']+)' .*?denied request: (?P<said>.*)", re.DOTALL),
        "ValidatingAdmissionPolicy {who} refuses its pods: {said}",
        ("change the pod template as the message says",),
    ),
    (
        re.compile(r'failed calling webhook "(?P<who>[^"]+)"'),
        "webhook {who} cannot be called, so its pods are refused",
        ("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations", "make its Service answer again"),
    ),
    (
        re.compile(r"exceeded quota: (?P<name>[^,\s]+)"),
        "ResourceQuota {name} is used up",
        ("ask for less, or delete pods of the namespace, or have the quota raised", "kubectl describe quota {name}"),
    ),
    (
        re.compile(r"(?P<limit>(?:maximum|minimum|max limit to request ratio) [^\[\]]*? is [^\[\]]*)"),
        "a LimitRange of the namespace refuses its pods: {limit}",
        ("change the requests and limits of the pod template: kubectl describe limitrange",),
    ),
    (
        re.compile(r"no PriorityClass with name (?P<name>\S+) was found"),
        "PriorityClass {name} does not exist",
        ("change priorityClassName of the pod template: kubectl get priorityclasses",),
    ),
    (
        re.compile(r'serviceaccount "(?P<name>[^"]+)" not found'),
        "ServiceAccount {name} does not exist",
        ("create it, or change serviceAccountName of the pod template", "kubectl create serviceaccount {name}"),
    ),
    (
        re.compile(r"violates PodSecurity \"(?P<level>[^\"]+)\""),
        "Pod Security of the namespace refuses its pods: they violate {level}",
        ("change the securityContext of the pod template as the message says",),
    ),
)
"""(pattern of the API server's message, title of the diagnosis, the user's options).

The texts have the pattern's groups. An option with a name is left out if the name in the message is not valid.
"""


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the Events of refused pods, if the user asked about a workload.

    An operator has its own reasons for them. A field selector takes one reason only, so all Events of the operator's
    workload are read.
    """
    if picture.kind != "pod":
        yield picture.refusals
        if _is_of_an_operator(picture):
            yield picture.workload_events


def refused(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the workload's controller cannot create pods, and no pod waits; else None."""
    if picture.is_waiting:
        return None
    latest = max(_refusals(picture), key=last_seen, default=None)
    if latest is None or _is_over(picture, latest):
        return None
    message = " ".join(text_at(latest, "message").split())
    who = f"{text_at(latest, 'involvedObject', 'kind')} {text_at(latest, 'involvedObject', 'name')}"
    title, do = _read(message)
    return Diagnosis(
        cause="refused",
        title=title,
        evidence=(
            f"{who} cannot create pods; the last try was {lasting(picture.age(last_seen(latest)))} ago",
            message,
        ),
        do=tuple(f"{each} -n {picture.namespace}" if _NAMESPACED.search(each) else each for each in do),
    )


def _read(message: str) -> tuple[str, tuple[str, ...]]:
    """Return the title of the diagnosis, and the user's options, for an Event's message about a refused pod."""
    for pattern, title, do in _WORDS:
        if match := pattern.search(message):
            parts = match.groupdict()
            said = parts.get("said", "")
            # The diagnosis has the whole message as evidence.
            parts["said"] = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
            valid = is_subdomain(parts.get("name", ""))
            return title.format(**parts), tuple(each.format(**parts) for each in do if valid or "{name}" not in each)
    return "the API server refuses its pods", ("change what the message names",)


def without_pods(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the workload has no pods because it is suspended or wants no pods; else None."""
    if picture.pod is not None:
        return None
    for each in _current(picture):
        if found := _podless(picture, each):
            return found
    if isinstance(picture.read.get(pods_in(picture.namespace)), NotRead):
        return Diagnosis(
            cause="unknown",
            title="its pods were not read, so nothing is known of what holds them",
            do=(f"kubectl auth can-i list pods -n {picture.namespace}",),
            waits=False,
        )
    return Diagnosis(
        cause="no pods",
        title="it has no pods, and no refusal of one is recorded",
        evidence=("the API server keeps Events for an hour",),
        do=(f"kubectl describe {picture.kind} {picture.name} -n {picture.namespace}",),
        waits=False,
    )


def _podless(picture: Picture, controller: Document) -> Diagnosis | None:
    """Return the diagnosis that a controller has no pods by its own fields; None if the fields do not say why."""
    kind, name = text_at(controller, "kind"), text_at(controller, "metadata", "name")
    spec = mapping_at(controller, "spec")
    if ended := next((text_at(one, "type") for one in _ended(controller)), ""):
        return Diagnosis(cause="ended", title=f"{kind} {name} has ended: {ended}", waits=False)
    if spec.get("suspend") is True:
        return _suspended(kind, name)
    if spec.get("replicas") == 0 and kind != "ReplicaSet":
        return Diagnosis(
            cause="suspended",
            title=f"{kind} {name} wants no pods: spec.replicas is 0",
            do=(f"kubectl scale {kind.lower()} {name} --replicas=1 -n {picture.namespace}",),
            waits=False,
        )
    return _without_pods_now(picture, name, controller) if kind == "Job" else None


def _suspended(kind: str, name: str) -> Diagnosis:
    evidence = (f"spec.suspend of {kind} {name} is true",)
    if kind == "CronJob":  # a queue starts Jobs
        return Diagnosis(
            cause="suspended",
            title=f"{kind} {name} is suspended, so it makes no Jobs",
            evidence=evidence,
            do=("set spec.suspend to false: it makes its next Job at the time of its schedule",),
        )
    from . import queueing  # noqa: PLC0415 - see the module's docstring

    queues = [
        f"a queue ({system}) starts it when it is admitted: kubectl get {each.resource}"
        for system, each in queueing.QUEUED.items()
    ]
    return Diagnosis(
        cause="suspended",
        title=f"{kind} {name} is suspended, so it makes no pods",
        evidence=evidence,
        do=(*queues, "without a queue, set spec.suspend to false"),
    )


def _without_pods_now(picture: Picture, name: str, job: Document) -> Diagnosis | None:
    """Return the diagnosis that a Job wants no pods at once, or has not replaced those that have failed; else None."""
    spec, failed = mapping_at(job, "spec"), count(at(job, "status", "failed"))
    if spec.get("parallelism") == 0:
        more = f'kubectl patch job {name} -n {picture.namespace} --type merge -p \'{{"spec": {{"parallelism": 1}}}}\''
        return Diagnosis(
            cause="suspended",
            title=f"Job {name} wants no pods: spec.parallelism is 0",
            do=(more,),
            waits=False,
        )
    if not failed:
        return None
    limit = at(spec, "backoffLimit")
    return Diagnosis(
        cause="crash",
        title=f"{counted(failed, 'pod')} of Job {name} failed, and the next is not made yet",
        evidence=(
            *([f"the Job ends after {limit} retries (spec.backoffLimit)"] if count(limit) < LARGEST_SIZE else []),
            "the Job controller waits longer after each failure",
        ),
        do=(f"kubectl logs job/{name} -n {picture.namespace}",),
        waits=False,
    )


def _current(picture: Picture) -> list[Document]:
    """Return the controllers that show why the workload has no pods.

    If a Job has not ended, the result is the newest such Job. Otherwise the result has all controllers that are no
    Jobs, and the newest Job.
    """
    jobs = [each for each in picture.controllers if text_at(each, "kind") == "Job"]
    newest = max(
        jobs, key=lambda each: (not any(_ended(each)), text_at(each, "metadata", "creationTimestamp")), default={}
    )
    if newest and not any(_ended(newest)):
        return [newest]
    return [*(each for each in picture.controllers if each not in jobs), *([newest] if newest else [])]


def _ended(controller: Document) -> Iterator[Document]:
    """Yield the conditions with which a Job makes no more pods (kubernetes/api batch/v1 JobConditionType)."""
    for each in list_at(controller, "status", "conditions"):
        if text_at(each, "type") in {"Complete", "Failed"} and text_at(each, "status") == "True":
            yield each


def _refusals(picture: Picture) -> list[Document]:
    """Return the Events about refused pods of the workload or of a controller below the workload."""
    found = []
    for each in (*picture.listed(picture.refusals), *of_operators(picture)):
        own, kind = _controller(picture, each), text_at(each, "involvedObject", "kind").lower()
        named = text_at(each, "involvedObject", "name") == picture.name and picture.kind in {"workload", kind}
        if own or (own is None and named and is_about(each, _uids(picture))):
            found.append(each)
    return found


def of_operators(picture: Picture) -> list[Document]:
    """Return the Events with which an operator says that a pod of the workload was refused."""
    events = picture.listed(picture.workload_events)
    if not events:
        return []
    from . import operators  # noqa: PLC0415 - see the module's docstring

    return [each for each in events if text_at(each, "reason") in operators.REFUSALS]


def _is_of_an_operator(picture: Picture) -> bool:
    """Return whether the workload that the user named is no workload of Kubernetes, so that it was not read."""
    return not any(text_at(each, "metadata", "name") == picture.name for each in picture.controllers)


def _uids(picture: Picture) -> set[str]:
    """Return the uids of the workload that the user named, from the owners of its pods; empty without such pods."""
    owners = (one for each in picture.siblings for one in list_at(each, "metadata", "ownerReferences"))
    return {text_at(each, "uid") for each in owners if text_at(each, "name") == picture.name}


def _controller(picture: Picture, event: Document) -> Document | None:
    """Return the controller that an Event is about; None if unknown.

    The result is an empty object if the Event is about a deleted object whose name the controller has now.
    """
    key = text_at(event, "involvedObject", "kind"), text_at(event, "involvedObject", "name")
    for each in picture.controllers:
        if (text_at(each, "kind"), text_at(each, "metadata", "name")) == key:
            return each if is_about(event, (text_at(each, "metadata", "uid"),)) else {}
    return None


def _is_over(picture: Picture, event: Document) -> bool:
    """Return whether a refusal is over: a pod of the workload was created later, or the controller has all its pods."""
    if any(text_at(each, "metadata", "creationTimestamp") > last_seen(event) for each in picture.siblings):
        return True
    controller = _controller(picture, event)
    return bool(controller) and _is_complete(controller or {})


def _is_complete(controller: Document) -> bool:
    """Return whether a controller has all pods that it wants, or wants no pods any more."""
    spec, status = mapping_at(controller, "spec"), mapping_at(controller, "status")
    match text_at(controller, "kind"):
        case "Job":
            wanted = min(count(spec.get("parallelism"), 1), _left(spec, status))
            return any(_ended(controller)) or count(status.get("active")) >= wanted
        case "DaemonSet":
            return count(status.get("currentNumberScheduled")) >= count(status.get("desiredNumberScheduled"))
        case "CronJob":
            return False
        case _:
            return count(status.get("replicas")) >= count(spec.get("replicas"), 1)


def _left(spec: Document, status: Document) -> int:
    """Return the number of a Job's pods that still have to succeed."""
    completions = count(spec.get("completions"), count(spec.get("parallelism"), 1))
    return max(0, completions - count(status.get("succeeded")))
