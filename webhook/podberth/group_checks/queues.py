"""The check for workloads in queues that do not exist or that admit nothing.

Queues of a Kubernetes kind, such as LocalQueue, are not checked if no such queue is known. YuniKorn's queues are never
checked, because they are in a ConfigMap or come from placement rules.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from ..devices.resources import is_counted
from ..kinds.queues import VOLCANO_QUEUE, QueueForm
from ..kube.positions import render_path
from ..kube.unchecked import text_at
from ..topology.queues import QUEUE_FORMS
from .case import GroupCase, Wrong

POD_KEYS: Final = frozenset(key for form in QUEUE_FORMS.values() for key in (form.label, form.annotation) if key)
"""The labels and annotations by which a pod names a queue."""


_Named: TypeAlias = tuple[str, Callable[[str], Wrong]]
"""The name of a queue, and the function that returns a problem, with a message, of the field that has the name."""


def wrong_queues(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each named queue that is missing, admits nothing, or is a parent that takes no pods.

    A queue whose parent is missing or admits nothing is a problem, too.
    """
    for form in QUEUE_FORMS.values():
        for name, wrong in _named(case, form):
            if message := _reason(case, form, name):
                yield wrong(message)


def _named(case: GroupCase, form: QueueForm) -> Iterator[_Named]:
    """Yield the queues that an object or the object's pods name.

    Only queues of the system in ``form``, such as Kueue's LocalQueues, are yielded.
    """
    if form.label:
        yield from _labelled(case, form.label)
    rules = case.rules
    if rules.queue and form.kind == VOLCANO_QUEUE and _uses(case, rules.queue_scheduler):
        name = text_at(case.document, *rules.queue)
        if name:
            yield name, partial(case.wrong, rules.queue)
    if form.annotation:
        yield from _of_pods(case, ("metadata", "annotations", form.annotation), form.scheduler)


def _labelled(case: GroupCase, key: str) -> Iterator[_Named]:
    """Yield the queues that a label names, without duplicates.

    The label of the outermost object around the object counts, else the object's own label. If neither has the label,
    the labels of the object's pods count.
    """
    steps = ("metadata", "labels", key)
    own = text_at(case.document, *steps)
    outer = text_at(case.above[0], *steps) if case.above else ""
    if outer:
        yield outer, partial(Wrong, steps, render_path(steps))
    elif own:
        yield own, partial(case.wrong, steps)
    else:
        yield from _of_pods(case, steps, "")


def _of_pods(case: GroupCase, steps: tuple[str, ...], scheduler: str) -> Iterator[_Named]:
    """Yield the queues that the label or annotation at ``steps`` of the pods names, each once.

    Only pods with the scheduler ``scheduler`` count; empty: all pods.
    """
    reported: set[str] = set()
    for pods in case.pods:
        name = text_at(pods.template.own, *steps)
        if name and name not in reported and scheduler in ("", pods.scheduler):
            reported.add(name)
            yield name, partial(pods.wrong, steps)


def _uses(case: GroupCase, scheduler: str) -> bool:
    return not scheduler or any(each.scheduler == scheduler for each in case.pods)


def _reason(case: GroupCase, form: QueueForm, name: str) -> str:
    """Return the reason why a workload in the queue ``name`` has to wait; empty if none is known."""
    queues = case.known.facts.queues
    found = queues.get(form.kind, name, "" if form.of_cluster else case.namespace)
    if found is not None and found.halted and form.stopped:
        return f"got {name}, {form.stopped.format(found.halted)}"
    if form.root and name == form.root:
        return f"got {name}, the parent of all {form.title}s: only leaf queues take pods; write one below it"
    if form.only_leaves and queues.has_children(form.kind, name):
        return f"got {name}, a parent of {form.title}s: only leaf queues take pods; write one below it"
    if found is None:
        return "" if name in form.of_its_own else _missing(case, form, name)
    return "" if form.parent is None else _above(case, form, name, found.leads_to)


def _missing(case: GroupCase, form: QueueForm, name: str) -> str:
    queues, namespace = case.known.facts.queues, "" if form.of_cluster else case.namespace
    if not queues.lacks(form.kind, name, namespace):
        return ""
    if queues.listed:
        where = f" in {namespace}" if namespace else ""
    else:
        where = f" of {namespace} in the snapshot" if namespace else " in the snapshot"
    there = queues.names(form.kind, namespace)
    have = f"have {', '.join(there)}" if there else "there is none"
    return f"got {name}, no {form.title}{where}; {have}"


def _above(case: GroupCase, form: QueueForm, name: str, above: str) -> str:
    """Return why the parent queue ``above`` admits nothing; empty if no reason is known.

    ``name`` is the child queue.
    """
    queues, parent = case.known.facts.queues, QUEUE_FORMS[form.parent] if form.parent is not None else form
    if queues.lacks(parent.kind, above):
        gone = "does not exist" if queues.listed else "is not in the snapshot"
        return f"got {name}, a {form.title} of {parent.title} {above}, which {gone}; make it, or write another"
    leading = queues.get(parent.kind, above)
    if leading is not None and leading.halted:
        return f"got {name}, whose {parent.title} {above} admits nothing: {leading.halted}; fix it, or write another"
    lacks = _uncovered(case, leading.covers) if leading is not None else ""
    return (
        f"got {name}, whose {parent.title} {above} has no quota of {lacks}; add one, or write another" if lacks else ""
    )


def _uncovered(case: GroupCase, covers: frozenset[str]) -> str:
    """Return an accelerator that the pods ask for and of which their queue certainly has no quota; else empty.

    Kueue admits no pod with such a resource (pkg/scheduler/flavorassigner/flavorassigner.go, "unavailable in
    ClusterQueue"). Kueue's configuration may exchange one resource for another, or leave it out
    (apis/config/v1beta2 Resources). So a queue counts only if its quotas are of Kubernetes' own resources, as those in
    a queue that is not for accelerators.
    """
    if not covers or any("/" in each for each in covers):
        return ""
    return next((name for pods in case.pods for name, amount in pods.gpu.totals if amount and is_counted(name)), "")
