"""Finds whether a group or queue holds a pod: the group is missing, incomplete or has no room, or a queue waits."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..facts.cluster import collect
from ..group_checks.case import KnownCluster, Pods
from ..group_checks.checks import wrong_groups
from ..kinds.places import BARE
from ..kinds.queues import QueuedKind, QueueForm
from ..kube.amounts import is_device
from ..kube.pod import annotations, labels
from ..kube.unchecked import list_at, text_at
from ..topology.index import Need, TopologyIndex
from ..topology.queues import QUEUE_FORMS
from ..wellknown import GANG_LABEL
from ..words import named
from ..workload.gangs import gang_of
from ..workload.gpus import gpu_facts
from ..workload.templates import Template
from . import group_levels
from .diagnosis import Diagnosis
from .picture import ALL_PODS, Document, Picture, Ref, pods_in
from .pod_groups import Group, groups_of
from .queueing import QUEUED
from .room import near
from .steps import Step


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the PodGroup that a waiting pod names, and to queues and queued objects of the namespace."""
    if picture.pod is None or not picture.is_waiting:
        if picture.pod is None:
            yield from _queued_refs(picture)
        return
    for group in groups_of(picture):
        yield from group.refs
        if ALL_PODS not in picture.read:
            yield pods_in(picture.namespace)
    for form in _forms(picture.pod):
        yield _queues(form, picture.namespace)
        if form.parent is not None:
            yield _queues(QUEUE_FORMS[form.parent], picture.namespace)
    yield from _queued_refs(picture)


def not_admitted(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that a queue has not admitted the pod or the pod's controller; else None."""
    if picture.pod is not None and not picture.is_waiting:
        return None
    for system, form in QUEUED.items():
        if _is_queued(picture, form) and (found := _not_admitted(picture, system, form)):
            return found
    return None


def _not_admitted(picture: Picture, system: str, form: QueuedKind) -> Diagnosis | None:
    found = [(each, form.read(each)) for each in _own_objects(picture, form)]
    # Of several of one controller, the newest that has not ended.
    document, state = max(
        found,
        key=lambda each: (not each[1].has_ended, text_at(each[0], "metadata", "creationTimestamp")),
        default=(None, None),
    )
    if state is None or state.is_admitted:
        return None
    name, queue = text_at(document, "metadata", "name"), state.queue
    queues = QUEUE_FORMS[form.queues].plural
    return Diagnosis(
        cause="queue",
        title=f"{system} has not admitted it to queue {queue}{f': {state.message}' if state.message else ''}",
        evidence=(
            f"{form.kind[1]} {name}: {state.state}",
            *state.others,
            *(group_levels.of_pod_sets(picture, document) if document is not None else ()),
        ),
        do=(
            f"kubectl describe {form.resource} {name} -n {picture.namespace}",
            f"wait, ask for less, or name another queue than {queue}: kubectl get {queues} -n {picture.namespace}",
        ),
    )


def wrong_queue(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod's queue or group can never admit the pod; else None.

    The queue or group is checked as by ``podberth check``.
    """
    if picture.pod is None or not picture.is_waiting:
        return None
    forms = list(_forms(picture.pod))
    documents = [
        {"apiVersion": f"{one.kind[0]}/{one.versions[0]}", "kind": f"{one.kind[1]}List", "items": found}
        for form in forms
        for one in (form, *((QUEUE_FORMS[form.parent],) if form.parent else ()))
        if (found := picture.listed(_queues(one, picture.namespace)))
    ]
    for form in forms:
        queues, name = _queues(form, picture.namespace), _queue_name(form, picture.pod)
        if picture.one(queues) is not None and not picture.listed(queues):
            return _wrong(f"{form.title} {name} does not exist: the cluster has none here", form)
    if not documents:
        return None
    facts = replace(collect(documents, now=None), listed=True)
    known = KnownCluster(topology=TopologyIndex.build(()), facts=facts)
    pod: dict[str, Any] = dict(picture.pod)
    template = Template(pod=pod, path=(), kind="Pod", document=pod, own=pod, form=BARE)
    gang = gang_of(pod, picture.namespace, {}, size_of=facts.group_size)
    made = Pods(template=template, pod=pod, gang=gang, gpu=gpu_facts(pod), need=Need())
    wrong = wrong_groups({"apiVersion": "v1", "kind": "Pod", **pod}, picture.namespace, [made], known)
    return _wrong(f"its queue or group is wrong: {wrong[0].message}", forms[0], wrong[0].where) if wrong else None


def _wrong(title: str, form: QueueForm, where: str = "") -> Diagnosis:
    return Diagnosis(
        cause="queue",
        title=title,
        evidence=(f"the pod names it at {where}",) if where else (),
        do=(f"kubectl get {form.plural}.{form.kind[0]} -A, and name one of these, or fix it",),
    )


def group_missing(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the pod's PodGroup does not exist, or has too few pods to start; else None."""
    if picture.pod is None or not picture.is_waiting:
        return None
    for group in groups_of(picture):
        if group.document is None and all(map(picture.lacks, group.refs)):
            return _no_group(picture, group)
        least, members = group.least, group.members
        if least > len(members) and picture.pods(pods_in(picture.namespace)) is not None:
            return Diagnosis(
                cause="group",
                title=f"PodGroup {group.name} starts {least} pods together, and has {len(members)}",
                evidence=(f"pods of it: {named(sorted(text_at(each, 'metadata', 'name') for each in members))}",),
                do=(
                    f"create the other {least - len(members)}, or see why their controller does not:",
                    f"kubectl get events -n {picture.namespace} --field-selector reason=FailedCreate",
                    _lower(picture, group),
                ),
            )
    return None


def _lower(picture: Picture, group: Group) -> str:
    return f"or lower the minimum of the group: kubectl edit {group.kind.kinds[0]} {group.name} -n {picture.namespace}"


def _no_group(picture: Picture, group: Group) -> Diagnosis:
    kind, name = group.kind, group.name
    ours = labels(picture.pod or {}).get(GANG_LABEL) == name
    return Diagnosis(
        cause="group",
        title=f"PodGroup {name} does not exist",
        evidence=(f"the pod names it by {kind.named_by}, and waits for it",),
        do=(
            "podberth's controller makes groups of gangs: kubectl get deploy -n podberth-system podberth-controller"
            if ours
            else f"create PodGroup {name} ({kind.kinds[0]}) in namespace {picture.namespace}",
        ),
    )


def no_room_at_once(step: Step) -> Diagnosis | None:
    """Return the diagnosis that the pod fits some node, but the pods of its group do not fit at once; else None.

    The free resources are counted in pods with the requests of this pod, because the pods of a group are mostly equal.
    """
    for group in groups_of(step.picture):
        wanted = group.least - len(group.placed)
        room = sum(each.holds(step.wants, each.free) for each in step.nodes)
        short = next((r for r in sorted(step.wants) if is_device(r)), "cpu")
        if 0 < room < wanted:
            return Diagnosis(
                cause="group room",
                title=f"PodGroup {group.name} needs room for {wanted} such pods at once, and there is room for {room}",
                evidence=(*(near(step, each, short) for each in step.nodes[:3]), *step.by_reason),
                do=(
                    "wait until enough is free at once, or ask the owners of what holds it",
                    _lower(step.picture, group),
                ),
            )
    return None


def _queued_refs(picture: Picture) -> Iterator[Ref]:
    yield from (_objects(picture, form) for form in QUEUED.values() if _is_queued(picture, form))


def _is_queued(picture: Picture, form: QueuedKind) -> bool:
    """Return whether a queue may hold the pod.

    That is so if the pod or one of its controllers names a queue, or if the pod has a scheduling gate of the group
    system. ``form`` has the queues, whose label names a queue, the annotation for the object, and the gates' prefix.
    """
    objects = [*picture.controllers, *([picture.pod] if picture.pod else [])]
    label = QUEUE_FORMS[form.queues].label
    queued = any(label in labels(each) or form.named_by in annotations(each) for each in objects)
    gates = list_at(picture.spec, "schedulingGates")
    return queued or any(text_at(each, "name").startswith(form.gate) for each in gates)


def _own_objects(picture: Picture, form: QueuedKind) -> list[Document]:
    """Return the objects of the group system that belong to the pod, or to the pod's controllers.

    Without a pod, the result has the objects that belong to all controllers of the workload.
    """
    objects = list(picture.controllers) if picture.pod is None else [picture.pod]
    above = {text_at(each, "metadata", "uid"): each for each in picture.controllers}
    uids: set[str] = set()
    for each in objects:  # grows by the controllers above each
        uids.add(text_at(each, "metadata", "uid"))
        owners = {text_at(one, "uid") for one in list_at(each, "metadata", "ownerReferences")}
        objects += [above[uid] for uid in owners - uids if uid in above and above[uid] not in objects]
        uids |= owners
    named_ones = {annotations(each).get(form.named_by) for each in objects}
    return [
        each
        for each in picture.listed(_objects(picture, form))
        if text_at(each, "metadata", "name") in named_ones
        or (uids - {""}).intersection(text_at(one, "uid") for one in list_at(each, "metadata", "ownerReferences"))
    ]


def _objects(picture: Picture, form: QueuedKind) -> Ref:
    return Ref(form.kind[0], form.versions, form.plural, picture.namespace)


def _forms(pod: Document) -> Iterator[QueueForm]:
    for form in QUEUE_FORMS.values():
        if _queue_name(form, pod):
            yield form


def _queue_name(form: QueueForm, pod: Document) -> str:
    """Return the name of the queue that a pod names; empty if the pod names no queue of the kind in ``form``."""
    if form.annotation and form.scheduler in ("", text_at(pod, "spec", "schedulerName")):
        return annotations(pod).get(form.annotation) or labels(pod).get(form.label, "")
    return labels(pod).get(form.label, "") if form.label else ""


def _queues(form: QueueForm, namespace: str) -> Ref:
    return Ref(form.kind[0], form.versions, form.plural, "" if form.of_cluster else namespace)
