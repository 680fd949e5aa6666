"""Checks the groups of workloads and bare Pods (``group_checks``); the problems become warnings that name no policy."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..group_checks.case import KnownCluster, Pods, Wrong
from ..group_checks.checks import names_a_group, wrong_groups
from ..kinds.places import BARE
from ..kube import pod as pods
from ..workload.templates import Template
from .description import Description, describe
from .snapshot import Snapshot


def wrong_in_workload(
    document: Mapping[str, Any],
    made: Iterable[tuple[Template, dict[str, Any]]],
    namespace: str,
    snapshot: Snapshot,
) -> tuple[Wrong, ...]:
    """Return the problems that the checks of groups (``group_checks``) find in the workload ``document``.

    ``made`` has each pod template of the workload, with a pod made from the template, after the policies' writes.
    """
    found = [
        _pods(template, pod, describe(pod, namespace, snapshot.with_owners(template.owners))) for template, pod in made
    ]
    return wrong_groups(document, namespace, found, _known(snapshot))


def wrong_in_pod(pod: dict[str, Any], description: Description, namespace: str, snapshot: Snapshot) -> list[str]:
    """Return the problems of a bare Pod's groups, as texts.

    Empty if a controller made the Pod, because the pod's workload is checked instead. Empty as well if the Pod names no
    queue and no group, or if policies with ``scope: GPU`` do not apply to the Pod.
    """
    if not (description.concerned and names_a_group(pod)) or pods.controller(pod) is not None:
        return []
    document = {"apiVersion": "v1", "kind": "Pod", **pod}
    template = Template(pod=pod, path=(), kind="Pod", document=document, own=pod, form=BARE)
    made = [_pods(template, pod, description)]
    return [str(each) for each in wrong_groups(document, namespace, made, _known(snapshot))]


def _known(snapshot: Snapshot) -> KnownCluster:
    return KnownCluster(topology=snapshot.topology, facts=snapshot.facts)


def _pods(template: Template, pod: dict[str, Any], description: Description) -> Pods:
    return Pods(template=template, pod=pod, gang=description.gang, gpu=description.gpu, need=description.need)
