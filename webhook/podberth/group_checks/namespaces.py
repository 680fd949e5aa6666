"""Groups across namespaces: a pod joins only groups of its own namespace, and a controller creates pods in its own."""

from collections.abc import Iterator

from ..kinds.forms import find
from ..kinds.members import Membership
from ..kinds.places import TEMPLATE
from ..kube.unchecked import text_at
from ..workload.gangs import groups_in
from .case import Case, Pods, Wrong


def other_namespaces(case: Case) -> Iterator[Wrong]:
    """Find groups that exist only in another namespace, and roles with another namespace.

    No controller reads the namespace of a template (kubernetes pkg/controller/controller_utils.go GetPodFromTemplate),
    and AppWrapper creates objects in its own (project-codeflare/appwrapper internal/webhook).
    """
    said = text_at(case.document, "metadata", "namespace")
    if case.above and said and said != case.namespace:
        yield case.wrong(
            ("metadata", "namespace"), f"got {said}, but what wraps it is in {case.namespace}; write {case.namespace}"
        )
    for each in case.pods:
        yield from _elsewhere(case, each)
        found = text_at(find(each.template.document, each.template.path), "metadata", "namespace")
        if found and said and found != case.namespace and each.template.form is TEMPLATE:
            yield each.wrong(
                ("metadata", "namespace"), f"got {found}, but its pods come in {case.namespace}; remove it"
            )


def _elsewhere(case: Case, pods: Pods) -> Iterator[Wrong]:
    told = set()
    for row, member in groups_in(pods.template.pod, case.namespace):
        if member.name in told or not row.api_groups or _is_in(case.namespace, case, row, member.name):
            continue
        # Lookups are by namespace, because there may be a hundred thousand groups; a few files may have no namespace.
        spaces = {*case.known.namespaces, *case.known.native_groups} or {space for _, space, _ in case.known.pod_groups}
        places = [space for space in spaces if _is_in(space, case, row, member.name)]
        if places:
            told.add(member.name)
            where = places[0] if len(places) == 1 else f"{len(places)} other namespaces"
            yield pods.wrong(
                row.steps,
                f"got {member.name}, a PodGroup known in {where} only: pods join groups of their own namespace; "
                f"make it in {case.namespace}",
            )


def _is_in(namespace: str, case: Case, row: Membership, name: str) -> bool:
    return any((group, namespace, name) in case.known.pod_groups for group in row.api_groups)
