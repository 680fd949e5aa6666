"""The problems of a group that ``group_checks`` finds with the facts of a snapshot: warnings of no policy."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..group_checks.case import KnownCluster, Pods, Wrong
from ..group_checks.checks import names_a_group, wrong_groups
from ..kinds.places import BARE
from ..kube import pod as pods
from ..workload.templates import Template
from .review import AdmissionRequest
from .snapshot import Snapshot
from .state import PodState, observe


def wrong_in_workload(
    document: Mapping[str, Any],
    made: Iterable[tuple[Template, dict[str, Any]]],
    request: AdmissionRequest,
    snapshot: Snapshot,
) -> tuple[Wrong, ...]:
    """Return what is wrong with the groups of a workload; ``made`` are its templates and the pods that come of them.

    ``request`` is the review of such a pod, or of the workload: of it counts the namespace.
    """
    found = [
        _pods(template, pod, observe(pod, request, snapshot.with_owners(template.owners))) for template, pod in made
    ]
    return wrong_groups(
        document, request.namespace, found, KnownCluster(topology=snapshot.topology, facts=snapshot.facts)
    )


def wrong_in_pod(pod: dict[str, Any], state: PodState, request: AdmissionRequest, snapshot: Snapshot) -> list[str]:
    """Return what a Pod that nobody owns shows by itself; of a controller's pods the workload was told of it."""
    if not (state.concerned and names_a_group(pod)) or pods.controller(pod) is not None:
        return []
    document = {"apiVersion": "v1", "kind": "Pod", **pod}
    template = Template(pod=pod, path=(), kind="Pod", document=document, own=pod, form=BARE)
    one = _pods(template, pod, state)
    return [
        str(each)
        for each in wrong_groups(
            document, request.namespace, [one], KnownCluster(topology=snapshot.topology, facts=snapshot.facts)
        )
    ]


def _pods(template: Template, pod: dict[str, Any], state: PodState) -> Pods:
    return Pods(template=template, pod=pod, gang=state.gang, gpu=state.gpu, need=state.need)
