"""The table of causes, in the order in which they hold a pod, and the answer that follows from a picture.

A cause is one small function with a row here. Causes before the nodes look at the picture; a step of the nodes keeps
those that fit in one respect, and explains itself if it keeps none.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ..kube.amounts import POD_SLOTS
from ..kube.unchecked import text_at
from ..words import counted, lasting
from . import capacity, claims, groups, held, neighbours, placed, refusals, room, selection, volumes
from .finding import Answer, Finding, Said
from .machines import Machine, machines
from .picture import ALL_PODS, NotRead, Picture, Ref, pods_on
from .steps import Step

Confirmable: TypeAlias = tuple[Finding, tuple[str, ...]]
"""A finding, with the words of which one confirms it in the scheduler's message."""

# Nodes whose pods are read one by one: as many requests as an API server answers at once.
_FEW_NODES: Final = 24
# The steps whose nodes a change of the pod opens: it is worth knowing what is free there.
_OPENABLE: Final = ("tainted or closed", "not selected")
_OF_CAPACITY: Final = frozenset({"resource", "size"})
_NO_WORDS: Final[tuple[str, ...]] = ()
# Kubernetes' own scheduler and those made from it; Volcano; a scheduler of PodGroups.
_RULES: Final = ("nodes are available", "nodes are unavailable", "pod group is unschedulable")
# The keys of taints and the names of objects in a message: no word in them is a reason.
_NAMES: Final = re.compile(r'\{[^{}]*\}|"[^"]*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A cause that holds a pod whatever the nodes are."""

    find: Callable[[Picture], Finding | None]
    said: tuple[str, ...] = _NO_WORDS
    """Words of which the scheduler's message has one if this cause holds the pod; empty: its message has no part."""
    is_foreign: bool = False
    """Whether a system beside the scheduler holds it: once the scheduler says why no node is available, without these
    words, that system does not look after the pod."""
    is_last_word: bool = False
    """Whether the cause counts only if none before it was found: it is then what these come to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """A step of the nodes: it keeps those that fit, and its finding is for the case that none does."""

    needs_pods: bool = False
    """Whether it looks at the pods on the nodes."""
    words: str
    """The reason of the nodes that it takes, behind their number: ``tainted or closed``."""
    fits: Callable[[Step, Machine], bool]
    explain: Callable[[Step], Finding]
    said: tuple[str, ...]


_INSUFFICIENT: Final = ("Insufficient ", "Too many pods")

BEFORE: Final[tuple[Before, ...]] = (
    Before(find=refusals.refused),
    Before(find=groups.not_admitted, said=("queue", "Queue", "quota", "Quota"), is_foreign=True),
    Before(find=refusals.without_pods),
    Before(find=placed.not_pending),
    Before(find=held.gated, is_last_word=True),
    Before(find=claims.missing, said=("resourceclaim", "cannot allocate", "device class")),
    Before(find=groups.group_missing, said=("group", "gang", "Group")),
    Before(find=held.unserved),
    Before(find=volumes.unbound, said=("persistentvolumeclaim", "PersistentVolumeClaim", "StorageClass")),
    Before(find=held.unseen, is_last_word=True),
)
"""The causes that hold a pod before its nodes are looked at, in the order in which they hold it."""

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
        words="with too little free",
        fits=room.has_room,
        explain=room.full,
        said=_INSUFFICIENT,
        needs_pods=True,
    ),
)
"""The steps of the nodes, in the order in which a person would take them: what is hardest to change stands first."""

NEEDS: Final[tuple[Callable[[Picture], Iterator[Ref]], ...]] = (
    refusals.needs,
    placed.needs,
    held.needs,
    groups.needs,
    claims.needs,
    volumes.needs,
    capacity.needs,
)
"""What causes want to have read besides the pod, the nodes and the pods on them."""

_BESIDE: Final = ("affinity rules", "topology spread", "free ports", "anti-affinity")
_OF_GROUP: Final = (*_INSUFFICIENT, "group", "gang")


def wanted(picture: Picture) -> set[Ref]:
    """Return what causes want to have read and was not read yet; the pods on nodes come last, for they are many."""
    refs = {ref for each in NEEDS for ref in each(picture) if ref not in picture.read}
    return refs or {ref for ref in _pods(picture) if ref not in picture.read}


def _pods(picture: Picture) -> Iterator[Ref]:
    """Yield the pods that the last steps look at: those of a few nodes, or all if many nodes are left.

    If a cause was found already, all pods are too many to say only what would hold the pod next.
    """
    findings = list(_early(picture))
    if ALL_PODS in picture.read or not picture.is_waiting or isinstance(picture.nodes, NotRead):
        return
    later, step = _walk(picture)
    first = _first([*findings, *later], picture)
    left = step.nodes
    near = (*left, *(each for words, nodes in step.gone.items() if words in _OPENABLE for each in nodes))
    if first is None and neighbours.Around(step).is_asked:
        yield ALL_PODS
    elif min(len(near), len(left)) <= _FEW_NODES:
        yield from (pods_on(each.name) for each in (near if len(near) <= _FEW_NODES else left))
    elif first is None:
        yield ALL_PODS


def answer(picture: Picture) -> Answer:
    """Return the answer: the first cause that holds the pod, and those that would hold it next.

    It never contradicts the scheduler. If that says why no node is available, only causes that its message has words
    for can be the first; without one, the answer is the message.
    """
    found, said = list(_found(picture)), _said(picture)
    first = _first(found, picture)
    findings = [first, *(each for each, _ in found if each is not first)] if first else [_of_scheduler(picture, said)]
    pod = picture.pod
    return Answer(
        subject=_subject(picture),
        among=_among(picture),
        waits_seconds=picture.age(text_at(pod, "metadata", "creationTimestamp")) if pod is not None else 0.0,
        finding=findings[0],
        then=tuple(each for each in findings[1:] if each.waits) if findings[0].waits else (),
        said=said,
        unread=picture.unread,
    )


def _first(found: Sequence[Confirmable], picture: Picture) -> Finding | None:
    """Return the first finding that the scheduler's message confirms, if it says why no node is available."""
    return next((finding for finding, words in found if _confirms(picture, words)), None)


def _confirms(picture: Picture, words: tuple[str, ...]) -> bool:
    """Return whether the scheduler's message has one of the words, or does not say why no node is available."""
    message = text_at(picture.scheduled, "message")
    if not (words and picture.is_waiting and any(each in message for each in _RULES)):
        return True
    spoken = _NAMES.sub("", message.partition("preemption:")[0])
    return any(word in spoken for word in words)


def _found(picture: Picture) -> Iterator[Confirmable]:
    """Yield the findings in their order, each with the words that confirm it in the scheduler's message."""
    early = list(_early(picture))
    yield from early
    if any(not finding.waits for finding, _ in early) or not picture.is_waiting or isinstance(picture.nodes, NotRead):
        return
    if not picture.nodes:
        yield Finding(cause="nodes", title="the cluster has no node", do=("add nodes",)), ("no nodes available",)
        return
    findings, step = _walk(picture)
    yield from findings
    if all(each.pods is not None for each in step.nodes):
        yield from _beside(step)


def _early(picture: Picture) -> Iterator[Confirmable]:
    """Yield the findings that do not depend on nodes, up to the first that means that the pod does not wait."""
    found = False
    for cause in BEFORE:
        if (found and cause.is_last_word) or (cause.is_foreign and not _confirms(picture, cause.said)):
            continue
        if finding := cause.find(picture):
            found = True
            yield finding, cause.said
            if not finding.waits:
                return


def _walk(picture: Picture) -> tuple[list[Confirmable], Step]:
    """Return the findings about nodes, and the last step, whose nodes fit in all respects that were found to be met.

    A step that looks at pods is left out if those of its nodes were not read.
    """
    every = machines(picture)
    step = Step(picture=picture, every=every, nodes=every, gone={})
    findings: list[Confirmable] = []
    for row in AMONG if every else ():
        if row.needs_pods and any(each.pods is None for each in step.nodes):
            continue
        kept = tuple(each for each in step.nodes if row.fits(step, each))
        if not kept:
            findings.append((row.explain(step), _precise(row.said, step)))
            step = step.waiving()
            if findings[-1][0].cause in _OF_CAPACITY and not step.waived:
                break  # the resources are there, on different nodes: no step behind this one has nodes to look at
        elif len(kept) < len(step.nodes):
            left = set(kept)
            taken = tuple(each for each in step.nodes if each not in left)
            step = replace(step, nodes=kept, gone={**step.gone, row.words: taken})
    return findings, step


def _beside(step: Step) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """Yield the findings about the pods beside which the pod, or its group, has to be placed."""
    around = neighbours.Around(step)
    # A pod on a node that was not read may be one that a rule is about.
    known = not around.is_asked or all(each.pods is not None for each in step.every)
    kept = tuple(each for each in step.nodes if not (known and around.against(each)))
    if not kept:
        yield neighbours.crowded(step, around), _BESIDE
    else:
        step = replace(step, nodes=kept)
    if finding := groups.no_room_at_once(step):
        yield finding, _OF_GROUP
    if finding := claims.unallocated(step.picture):
        yield finding, ("cannot allocate",)


def _precise(said: tuple[str, ...], step: Step) -> tuple[str, ...]:
    """Return the words of a step, with the pod's own resources where the scheduler names the one that is short."""
    if said is not _INSUFFICIENT:
        return said
    return (*(f"Insufficient {name}" for name in step.wants if name != POD_SLOTS), "Too many pods")


def _said(picture: Picture) -> Said:
    condition = picture.scheduled
    if text_at(condition, "status") == "True" or picture.pod is None:
        return Said(scheduler=picture.scheduler if picture.pod is not None else "")
    return Said(
        scheduler=picture.scheduler,
        reason=text_at(condition, "reason"),
        message=" ".join(text_at(condition, "message").split()),
    )


def _of_scheduler(picture: Picture, said: Said) -> Finding:
    """Return the finding that is the scheduler's own word, because podberth finds no cause."""
    if said.message:
        return Finding(
            cause="scheduler's word",
            title="the scheduler finds no node for it, and podberth finds no cause of its own",
            evidence=(f"{said.scheduler}: {said.message}",),
            do=(
                "ask again in a minute: the cluster may have changed since the scheduler looked",
                f"kubectl describe pod {text_at(picture.pod, 'metadata', 'name')} -n {picture.namespace}",
            ),
        )
    waited = lasting(picture.age(text_at(picture.pod, "metadata", "creationTimestamp")))
    return Finding(
        cause="unknown",
        title=f"nothing is seen that holds it, and its scheduler has said nothing for {waited}",
        evidence=tuple(f"not read: {each.want}: {each.why}" for each in picture.unread),
        do=("ask again in a minute",),
    )


def _subject(picture: Picture) -> str:
    """Return the pod, or the workload without one, with the kind as the API server writes it if that is known."""
    if picture.pod is not None:
        return f"Pod {picture.namespace}/{text_at(picture.pod, 'metadata', 'name')}"
    kinds = [text_at(each, "kind") for each in picture.controllers if text_at(each, "metadata", "name") == picture.name]
    return f"{kinds[0] if kinds else picture.kind.capitalize()} {picture.namespace}/{picture.name}"


def _among(picture: Picture) -> str:
    """Return the state of the workload's pods as text; empty if a pod was asked about."""
    if picture.kind == "pod" or not picture.siblings:
        return ""
    waiting = sum(1 for each in picture.siblings if not text_at(each, "spec", "nodeName"))
    states = {"waiting for a node": waiting, "placed": len(picture.siblings) - waiting}
    texts = ", ".join(f"{count:,} {state}" for state, count in states.items() if count)
    return f"{picture.kind} {picture.name} has {counted(len(picture.siblings), 'pod')}: {texts}"
