"""Finds the policies that judge a pod by the labels of a Namespace that no given file describes."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..policy.compile import CompiledPolicy
from ..policy.expressions import expressions_of
from ..policy.match import MatchRequest, NamespaceUnknownError, mismatch, reads_labels, selects_by_label
from ..words import listed
from .description import describe
from .snapshot import Snapshot


def judging_unlabelled(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the names of the policies that may read labels of the pod's Namespace, if no file has it.

    The policies' matchConditions are not evaluated.
    """
    if namespace not in snapshot.facts.assumed:
        return
    every = (*snapshot.policies, *snapshot.namespaced.get(namespace, ()))
    reading = [each for each in every if selects_by_label(each.source.spec.match_constraints) or _reads(each)]
    if not reading:
        return
    concerned = describe(pod, namespace, snapshot).concerned
    for each in reading:
        if (concerned or each.source.spec.scope == "All") and _may_match(each, pod, namespace):
            yield each.name


def unlabelled_text(
    namespace: str, policies: Sequence[str], where: str = "the files, or to those of --topology"
) -> str:
    """Return the message that an assumed Namespace mattered to ``policies``; ``where`` is where the user can add it."""
    verb = "judges" if len(policies) == 1 else "judge"
    return (
        f"nothing of namespace {namespace} is known: {listed(policies)} {verb} "
        f"as if it had no label and no annotation; add the Namespace to {where}"
    )


def _reads(policy: CompiledPolicy) -> bool:
    if not policy.reads_namespace:
        return False
    expressions = (each.expression for each in expressions_of(policy) if each.expression is not None)
    return reads_labels(path for each in expressions for path in each.reads)


def _may_match(policy: CompiledPolicy, pod: dict[str, Any], namespace: str) -> bool:
    request = MatchRequest(
        operation="CREATE",
        group="",
        version="v1",
        resource="pods",
        sub_resource="",
        name=str((pod.get("metadata") or {}).get("name") or ""),
        namespace=namespace,
        object=pod,
        old_object=None,
    )
    try:
        return not mismatch(policy.source, request, {})
    except NamespaceUnknownError:
        return True
