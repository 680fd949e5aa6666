"""Queues that do not exist, or that admit nothing. A kind without any known queue gives no finding.

YuniKorn's queues are in a ConfigMap or come from its placement rules, so nothing is known about them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.queues import CLUSTER_QUEUE, KAI_QUEUE, LOCAL_QUEUE, VOLCANO_QUEUE, QueueKind
from ..kube.patch import Path
from ..kube.positions import render_path
from ..kube.unchecked import text_at
from ..topology.queues import QUEUE_FORMS
from .case import Case, Pods, Wrong

_KUEUE: Final = "kueue.x-k8s.io/queue-name"
_KAI: Final = "kai.scheduler/queue"
_VOLCANO: Final = "scheduling.volcano.sh/queue-name"
POD_KEYS: Final = frozenset({_KUEUE, _KAI, _VOLCANO})
"""Labels and annotations by which a pod names a queue."""
# Volcano's scheduler makes these itself when it starts (volcano-sh/volcano pkg/scheduler/cache/cache.go
# newDefaultAndRootQueue), and its webhook writes the first where none is named.
_VOLCANOS_OWN: Final = frozenset({"default", "root"})
_FIELDS: Final = {each.kind: each.queue for row in DOSSIERS for each in row.group_rules if each.queue}


@dataclass(frozen=True, slots=True)
class _Named:
    """A queue's name and its place."""

    name: str
    steps: Path
    pods: Pods | None = None
    """None: on the object."""
    outside: bool = False
    """Whether it is on the document that wraps the object."""

    def wrong(self, case: Case, message: str) -> Wrong:
        if self.outside:
            return Wrong(self.steps, render_path(self.steps), message)
        return case.wrong(self.steps, message) if self.pods is None else self.pods.wrong(self.steps, message)


def wrong_queues(case: Case) -> Iterator[Wrong]:
    """Find named queues that do not exist, are stopped, or are parents that take no pods."""
    for each in _labelled(case, _KUEUE):
        if message := _kueue(case, each.name):
            yield each.wrong(case, message)
    for each in _volcanos(case):
        if message := _volcano(case, each.name):
            yield each.wrong(case, message)
    for each in _labelled(case, _KAI):
        if message := _kai(case, each.name):
            yield each.wrong(case, message)


def _labelled(case: Case, key: str) -> Iterator[_Named]:
    """Yield the names in a label: of the object, of the objects that wrap it, else of its pods; each name once."""
    steps = ("metadata", "labels", key)
    own = text_at(case.document, *steps)
    outer = text_at(case.above[0], *steps) if case.above else ""
    if own or outer:
        yield _Named(outer or own, steps, outside=bool(outer))
        return
    reported: set[str] = set()
    for pods in case.pods:
        name = text_at(pods.template.own, *steps)
        if name and name not in reported:
            reported.add(name)
            yield _Named(name, steps, pods)


def _volcanos(case: Case) -> Iterator[_Named]:
    steps = _FIELDS.get(case.kind, ())
    if case.kind[0] == "kubeflow.org" and not _is_volcanos(case):
        steps = ()
    if steps and (name := text_at(case.document, *steps)):
        yield _Named(name, steps)
    reported: set[str] = set()
    for pods in case.pods:
        name = text_at(pods.template.own, "metadata", "annotations", _VOLCANO)
        if name and name not in reported and pods.scheduler == "volcano":
            reported.add(name)
            yield _Named(name, ("metadata", "annotations", _VOLCANO), pods)


def _is_volcanos(case: Case) -> bool:
    """Return whether some pods use Volcano: the operator may run with another scheduler, which has other queues."""
    return any(each.scheduler == "volcano" for each in case.pods)


def _missing(case: Case, kind: QueueKind, name: str, namespace: str = "") -> str:
    queues = case.known.facts.queues
    if not queues.lacks(kind, name, namespace):
        return ""
    if queues.listed:
        where = f" in {namespace}" if namespace else ""
    else:
        where = f" of {namespace} in the snapshot" if namespace else " in the snapshot"
    there = queues.names(kind, namespace)
    have = f"have {', '.join(there)}" if there else "there is none"
    return f"got {name}, no {QUEUE_FORMS[kind].title}{where}; {have}"


def _kueue(case: Case, name: str) -> str:
    """Return the reason that keeps a workload waiting (Kueue's own condition is the Workload's QuotaReserved)."""
    queues = case.known.facts.queues
    local = queues.get(LOCAL_QUEUE, name, case.namespace)
    if local is None:
        return _missing(case, LOCAL_QUEUE, name, case.namespace)
    if local.halted:
        return f"got {name}, a LocalQueue that is stopped: {local.halted}; nothing starts until it goes on"
    above = local.leads_to
    if queues.lacks(CLUSTER_QUEUE, above):
        gone = "does not exist" if queues.listed else "is not in the snapshot"
        return f"got {name}, a LocalQueue of ClusterQueue {above}, which {gone}; make it, or write another"
    cluster = queues.get(CLUSTER_QUEUE, above)
    if cluster is not None and cluster.halted:
        return f"got {name}, whose ClusterQueue {above} admits nothing: {cluster.halted}; fix it, or write another"
    return ""


def _volcano(case: Case, name: str) -> str:
    found = case.known.facts.queues.get(VOLCANO_QUEUE, name)
    if found is not None and found.halted:
        return f"got {name}, a Volcano Queue that takes no jobs: {found.halted}; open it, or write another"
    return "" if name in _VOLCANOS_OWN else _missing(case, VOLCANO_QUEUE, name)


def _kai(case: Case, name: str) -> str:
    """Return why the queue takes no pods: KAI schedules pods of leaf queues only (docs/queues)."""
    if case.known.facts.queues.has_children(KAI_QUEUE, name):
        return f"got {name}, a parent of KAI Queues: only leaf queues take pods; write one below it"
    return _missing(case, KAI_QUEUE, name)
