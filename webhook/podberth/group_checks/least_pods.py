"""Computes the least number of a gang's pods that start together, from the rules of dossiers and fields of the pods."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.starts import Start, StartingGang, all_of
from ..kube.unchecked import number, text
from ..wellknown import GANG_SIZE_ANNOTATION
from .case import GroupCase, Pods

_ELASTIC: Final = tuple(key for row in DOSSIERS for key in row.elastic_keys)
_STATED: Final = tuple(
    each.key for row in DOSSIERS for each in row.stated_minimums if not (each.kinds or each.scheduler)
)
"""The annotations that state a gang's minimum on an object of any kind."""


def exactly(number_of: int, pods: Pods) -> Start[Pods]:
    """Return the ``Start`` in which ``number_of`` pods of one template start together."""
    return all_of([pods], lambda _: number_of)


def starts(case: GroupCase) -> Iterator[Start[Pods]]:
    """Yield, for each stage of each gang of an object, the pods that start together.

    Nothing is yielded if podberth has no rules for the object's Kubernetes kind. Nothing is yielded either if such
    objects are gangs only on request, and the object does not request to be a gang.
    """
    rules = case.rules
    if rules.starts is None or (rules.on_demand is not None and not rules.on_demand(case.document)):
        return
    for pods in case.moments():
        yield start_of(case, pods)


def start_of(case: GroupCase, some: Sequence[Pods]) -> Start[Pods]:
    """Return which of the pods ``some`` start together, by the rules for the object's kind, such as JobSet.

    If the kind has no rules, all pods start together. ``some`` has the pods of at least one template.
    """
    rule, first, pods = case.rules.starts, some[0], tuple(some)
    if rule is None:
        return all_of(some)
    if first.gang.known:
        pods = next(each for each in case.moments() if any(one is first for one in each))
    start = rule(StartingGang(document=case.document, base=case.base, pods=pods))
    return _as_said(case, start).of(some)


def _as_said(case: GroupCase, start: Start[Pods]) -> Start[Pods]:
    """Return ``start``, lowered to the number of pods that the pods' annotations and PodGroups state as a minimum.

    ``least`` of the result is 0 if an annotation says that the gang is elastic, or if a PodGroup's size is unknown.
    """
    if any(case.annotations.get(key) == "true" for key in _ELASTIC):
        return start.at_least(0)
    for key in _STATED:
        start = start.at_least(number(text(case.annotations.get(key))) or start.least)
    for share in start.shares:
        said = number(text(share.pods.annotations.get(GANG_SIZE_ANNOTATION)))
        start = start.at_least(said) if said else start
        for _, member in case.own_groups[share.pods.template.path]:
            start = start.at_least(member.size)
    return start
