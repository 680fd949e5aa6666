"""The tables of the causes that hold a pod, and the function that answers why a pod waits.

The functions of each cause are in a small module, and each cause has a row in one of the tables. A row of ``BEFORE``
finds a cause that does not depend on nodes. A row of ``AMONG`` is a step that keeps the nodes that fit the pod in one
respect; if no node fits, the step explains why.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ..kube.amounts import POD_SLOTS
from ..kube.unchecked import text_at
from ..words import counted, lasting
from . import (
    autoscaled,
    capacity,
    claims,
    groups,
    held,
    neighbours,
    placed,
    refusals,
    room,
    running,
    selection,
    volumes,
)
from .diagnosis import Answer, Diagnosis, Said
from .machines import Machine, machines
from .picture import ALL_PODS, NotRead, Picture, Ref, pods_on
from .steps import Step

Confirmable: TypeAlias = tuple[Diagnosis, tuple[str, ...]]
"""(diagnosis, words): one of the words in the scheduler's message confirms the diagnosis."""

# The most nodes whose pods are read with one request for each node: an API server answers so many at once.
_FEW_NODES: Final = 24
# The steps that exclude nodes which a change of the pod makes usable: the answer says what is free on them.
_OPENABLE: Final = ("tainted or closed", "not selected")
_OF_CAPACITY: Final = frozenset({"resource", "size"})
_NO_WORDS: Final[tuple[str, ...]] = ()
# No word of the scheduler's is about an autoscaler, so that what it says is never first.
_NO_NODE_FITS: Final = ("autoscaler",)
# A message with one of these says why no node is available: that of Kubernetes' own scheduler and those made from it,
# of Volcano, of a scheduler of PodGroups, or of KAI (pkg/scheduler/api/common_info/{pod,job}_errors.go). KAI writes
# the colon only if reasons follow.
_RULES: Final = (
    "nodes are available",
    "nodes are unavailable",
    "pod group is unschedulable",
    "no nodes with enough resources were found:",
    "node-group(s) didn't have enough",
)
# KAI's names of resources, where they are not those of Kubernetes (common_info.NewFitErrorInsufficientResource).
_KAI_NAMES: Final = {"nvidia.com/gpu": "GPUs", "cpu": "CPU cores"}
# The keys of taints and the names of objects in a message: a word in them is no reason.
_NAMES: Final = re.compile(r'\{[^{}]*\}|"[^"]*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A cause that holds a pod and does not depend on the nodes. The causes are checked in the order of ``BEFORE``."""

    find: Callable[[Picture], Diagnosis | None]
    said: tuple[str, ...] = _NO_WORDS
    """The words that confirm the cause if one is in the scheduler's message. Empty: any message confirms the cause."""
    is_foreign: bool = False
    """Whether a system other than the scheduler, such as a queue, holds the pod.

    If the scheduler's message says why no node is available, and has none of the words in ``said``, the cause is left
    out: the other system does not manage the pod.
    """
    is_last_word: bool = False
    """Whether the cause is left out after an earlier cause was found, because it is only an effect of that cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """A step that keeps the nodes that fit the pod in one respect.

    The steps are taken in the order of ``AMONG``. ``explain`` returns the diagnosis if no node fits.
    """

    needs_pods: bool = False
    """Whether the step depends on the pods on the nodes."""
    words: str
    """The reason why the step excludes nodes, printed after the number of excluded nodes: ``tainted or closed``."""
    fits: Callable[[Step, Machine], bool]
    explain: Callable[[Step], Diagnosis]
    said: tuple[str, ...]


_TOO_MANY_PODS: Final = ("Too many pods", "pod number exceeded")
_INSUFFICIENT: Final = ("Insufficient ", "didn't have enough", *_TOO_MANY_PODS)
_OF_GROUP: Final = (*_INSUFFICIENT, "group", "gang")

BEFORE: Final[tuple[Before, ...]] = (
    Before(find=refusals.refused),
    Before(find=groups.not_admitted, said=("queue", "Queue", "quota", "Quota"), is_foreign=True),
    Before(find=groups.full_queue),
    Before(find=refusals.without_pods),
    Before(find=running.not_pending),
    Before(find=held.gated, is_last_word=True),
    Before(find=claims.missing, said=("resourceclaim", "cannot allocate", "device class")),
    Before(find=claims.refused, said=("resourceclaim", "cannot allocate")),
    Before(find=groups.group_missing, said=("group", "gang", "Group")),
    Before(find=claims.awaited, said=("resourceclaim", "cannot allocate"), is_last_word=True),
    Before(find=held.unserved),
    Before(find=volumes.unbound, said=("persistentvolumeclaim", "PersistentVolumeClaim", "StorageClass")),
    Before(find=held.unseen, is_last_word=True),
)
"""The causes that do not depend on nodes, in the order in which they hold a pod."""

AMONG: Final[tuple[Among, ...]] = (
    Among(
        words="without the device",
        fits=capacity.offers,
        explain=capacity.absent,
        said=_INSUFFICIENT,
    ),
    Among(words="too small", fits=capacity.is_large_enough, explain=capacity.too_large, said=_INSUFFICIENT),
    Among(
        words="not selected",
        fits=selection.selects,
        explain=selection.unselected,
        said=("node affinity/selector", "NodeAffinity"),
    ),
    Among(
        words="tainted or closed",
        fits=selection.accepts,
        explain=selection.tainted,
        said=("taint", "were unschedulable", "not ready", "unreachable"),
    ),
    Among(
        words="without its volumes",
        fits=volumes.reaches,
        explain=volumes.apart,
        said=("volume", "PersistentVolume"),
    ),
    Among(
        words="without the devices of its claims",
        fits=claims.allocated_here,
        explain=claims.elsewhere,
        said=("resourceclaim", "claim"),
    ),
    Among(
        words="in domains too small for its group",
        fits=groups.in_large_domain,
        explain=groups.too_large_for_level,
        said=_OF_GROUP,
    ),
    Among(
        words="with too little free",
        fits=room.has_room,
        explain=room.full,
        said=_INSUFFICIENT,
        needs_pods=True,
    ),
    Among(
        words="in domains with too little free for its group",
        fits=groups.in_free_domain,
        explain=groups.no_room_in_level,
        said=_OF_GROUP,
        needs_pods=True,
    ),
)
"""The steps, in the order in which a person would check the nodes: the reason that is hardest to change comes first."""

NEEDS: Final[tuple[Callable[[Picture], Iterator[Ref]], ...]] = (
    refusals.needs,
    placed.needs,
    running.needs,
    held.needs,
    groups.needs,
    claims.needs,
    volumes.needs,
    capacity.needs,
    selection.needs,
    autoscaled.needs,
)
"""The functions that yield references to the objects that causes need besides the pod and the nodes."""

_BESIDE: Final = ("affinity rules", "topology spread", "free ports", "anti-affinity")


def wanted(picture: Picture) -> set[Ref]:
    """Return the references to objects that causes need and that were not read yet.

    Pods on nodes, which are many, are included only if everything else was read.
    """
    refs = {ref for each in NEEDS for ref in each(picture) if ref not in picture.read}
    return refs or {ref for ref in _pods(picture) if ref not in picture.read}


def _pods(picture: Picture) -> Iterator[Ref]:
    """Yield references to the pods by which the last steps of ``AMONG`` narrow the nodes that earlier steps left.

    If few nodes are left, these are the pods on the nodes. Otherwise they are all pods, if no cause was found yet.
    """
    diagnoses = list(_early(picture))
    if ALL_PODS in picture.read or not picture.is_waiting or isinstance(picture.nodes, NotRead):
        return
    later, step = _walk(picture)
    first = _first([*diagnoses, *later], picture)
    left = step.nodes
    near = (*left, *(each for words, nodes in step.gone.items() if words in _OPENABLE for each in nodes))
    if first is None and neighbours.Around(step).is_asked:
        yield ALL_PODS
    elif min(len(near), len(left)) <= _FEW_NODES:
        yield from (pods_on(each.name) for each in (near if len(near) <= _FEW_NODES else left))
    elif first is None:
        yield ALL_PODS


def answer(picture: Picture) -> Answer:
    """Return the answer why a pod waits: the first cause that holds the pod, and the causes that would hold it next.

    The answer never contradicts the scheduler. If the scheduler's message says why no node is available, the first
    cause is a cause that the message confirms. If the message confirms no cause, the answer is the message itself.
    """
    found, said = list(_found(picture)), _said(picture)
    first = _first(found, picture)
    diagnoses = [first, *(each for each, _ in found if each is not first)] if first else [_of_scheduler(picture, said)]
    return Answer(
        subject=_subject(picture),
        among=_among(picture),
        waits_seconds=picture.waited,
        diagnosis=diagnoses[0],
        then=tuple(each for each in diagnoses[1:] if each.waits) if diagnoses[0].waits else (),
        said=said,
        autoscaler=autoscaled.said(picture),
        unread=picture.unread,
    )


def _first(found: Sequence[Confirmable], picture: Picture) -> Diagnosis | None:
    """Return the first diagnosis that the scheduler's message confirms; None if the message confirms none."""
    return next((diagnosis for diagnosis, words in found if _confirms(picture, words)), None)


def _confirms(picture: Picture, words: tuple[str, ...]) -> bool:
    """Return whether the scheduler's message has one of ``words``, which confirm a diagnosis.

    True as well if ``words`` is empty, or if the message does not say why no node is available.
    """
    message = text_at(picture.scheduled, "message")
    if not (words and picture.is_waiting and any(each in message for each in _RULES)):
        return True
    spoken = _NAMES.sub("", message.partition("preemption:")[0])
    return any(word in spoken for word in words)


def _found(picture: Picture) -> Iterator[Confirmable]:
    """Yield (diagnosis, words), in the order of causes.

    One of the words in the scheduler's message confirms the diagnosis.
    """
    early = list(_early(picture))
    yield from early
    if any(not each.waits for each, _ in early) or not picture.is_waiting or isinstance(picture.nodes, NotRead):
        return
    if not picture.nodes:
        yield Diagnosis(cause="nodes", title="the cluster has no node", do=("add nodes",)), ("no nodes available",)
        return
    diagnoses, step = _walk(picture)
    yield from diagnoses
    if all(each.pods is not None for each in step.nodes):
        yield from _beside(step)
    if diagnosis := autoscaled.adds_no_node(picture):
        yield diagnosis, _NO_NODE_FITS


def _early(picture: Picture) -> Iterator[Confirmable]:
    """Yield the diagnoses that do not depend on nodes; the last may say that the pod is not waiting at all."""
    found = False
    for cause in BEFORE:
        if (found and cause.is_last_word) or (cause.is_foreign and not _confirms(picture, cause.said)):
            continue
        if diagnosis := cause.find(picture):
            found = True
            yield diagnosis, cause.said
            if not diagnosis.waits:
                return


def _walk(picture: Picture) -> tuple[list[Confirmable], Step]:
    """Return (diagnoses about nodes, the last step).

    A step that no node passes gives a diagnosis and excludes no node. So the nodes of the last step pass every other
    step that was taken. A step that depends on pods is left out if the pods on its nodes were not read.
    """
    every = machines(picture)
    step = Step(picture=picture, every=every, nodes=every, gone={})
    diagnoses: list[Confirmable] = []
    for row in AMONG if every else ():
        if row.needs_pods and any(each.pods is None for each in step.nodes):
            continue
        kept = tuple(each for each in step.nodes if row.fits(step, each))
        if not kept:
            diagnoses.append((row.explain(step), _precise(row.said, step)))
            step = step.waiving()
            if diagnoses[-1][0].cause in _OF_CAPACITY and not step.waived:
                break  # no single node has all the resources: the later steps have no nodes to narrow
        elif len(kept) < len(step.nodes):
            left = set(kept)
            taken = tuple(each for each in step.nodes if each not in left)
            step = replace(step, nodes=kept, gone={**step.gone, row.words: taken})
    return diagnoses, step


def _beside(step: Step) -> Iterator[tuple[Diagnosis, tuple[str, ...]]]:
    """Yield (diagnosis, words) about other pods, room for the pod's whole group, and claims without devices.

    One of the words in the scheduler's message confirms the diagnosis.
    """
    around = neighbours.Around(step)
    # A rule of affinity or spread may be about a pod on a node whose pods were not read.
    known = not around.is_asked or all(each.pods is not None for each in step.every)
    kept = tuple(each for each in step.nodes if not (known and around.against(each)))
    if not kept:
        yield neighbours.crowded(step, around), _BESIDE
    else:
        step = replace(step, nodes=kept)
    if diagnosis := groups.no_room_at_once(step):
        yield diagnosis, _OF_GROUP
    if diagnosis := claims.unallocated(step):
        yield diagnosis, ("cannot allocate",)


def _precise(said: tuple[str, ...], step: Step) -> tuple[str, ...]:
    """Return the words in the scheduler's message that confirm a step's diagnosis: ``said``, with names of resources.

    Words that stand for any lacking resource are replaced by the words of Kubernetes' scheduler and of KAI about each
    resource that the pod requests.
    """
    if said is not _INSUFFICIENT:
        return said
    names = [name for name in step.wants if name != POD_SLOTS]
    return (
        *(f"Insufficient {name}" for name in names),
        *(f"didn't have enough resources: {_KAI_NAMES.get(name, name)}" for name in names),
        *(f"didn't have enough of mig profile: {name}" for name in names),
        *_TOO_MANY_PODS,
    )


def _said(picture: Picture) -> Said:
    condition = picture.scheduled
    if text_at(condition, "status") == "True" or picture.pod is None:
        return Said(scheduler=picture.scheduler if picture.pod is not None else "")
    return Said(
        scheduler=picture.scheduler,
        reason=text_at(condition, "reason"),
        message=" ".join(text_at(condition, "message").split()),
    )


def _of_scheduler(picture: Picture, said: Said) -> Diagnosis:
    """Return the diagnosis if podberth finds no cause: the scheduler's message, or that no message exists."""
    if said.message:
        return Diagnosis(
            cause="scheduler's word",
            title="the scheduler finds no node for it, and podberth finds no cause of its own",
            evidence=(f"{said.scheduler}: {said.message}",),
            do=(
                "ask again in a minute: the cluster may have changed since the scheduler looked",
                f"kubectl describe pod {text_at(picture.pod, 'metadata', 'name')} -n {picture.namespace}",
            ),
        )
    waited = lasting(picture.waited)
    return Diagnosis(
        cause="unknown",
        title=f"nothing is seen that holds it, and its scheduler has said nothing for {waited}",
        evidence=tuple(f"not read: {each.want}: {each.why}" for each in picture.unread),
        do=("ask again in a minute",),
    )


def _subject(picture: Picture) -> str:
    """Return the kind and name of the pod as text; if there is no pod, the kind and name of the workload.

    The kind is spelt as the API server spells it, if the spelling is known.
    """
    if picture.pod is not None:
        return f"Pod {picture.namespace}/{text_at(picture.pod, 'metadata', 'name')}"
    kinds = [text_at(each, "kind") for each in picture.controllers if text_at(each, "metadata", "name") == picture.name]
    return f"{kinds[0] if kinds else picture.kind.capitalize()} {picture.namespace}/{picture.name}"


def _among(picture: Picture) -> str:
    """Return the states of the workload's pods as text; empty without pods, or if the user asked about a single pod."""
    if picture.kind == "pod" or not picture.siblings:
        return ""
    waiting = sum(1 for each in picture.siblings if not text_at(each, "spec", "nodeName"))
    states = {"waiting for a node": waiting, "placed": len(picture.siblings) - waiting}
    texts = ", ".join(f"{count:,} {state}" for state, count in states.items() if count)
    return f"{picture.kind} {picture.name} has {counted(len(picture.siblings), 'pod')}: {texts}"
