"""The check for groups in other namespaces: a pod can only join a group in the pod's namespace."""

from collections.abc import Iterator

from ..kinds.forms import find
from ..kinds.places import TEMPLATE
from ..kube.unchecked import text_at
from .case import GroupCase, Pods, Wrong


def other_namespaces(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each group that exists only in other namespaces, and each field that names another namespace.

    The fields are in a role's template, or in an object that an AppWrapper wraps. No controller reads the namespace of
    a template (kubernetes pkg/controller/controller_utils.go GetPodFromTemplate), and an AppWrapper creates objects in
    its own namespace (project-codeflare/appwrapper internal/webhook). If the object itself states no namespace, the
    namespaces of templates are not compared.
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


def _elsewhere(case: GroupCase, pods: Pods) -> Iterator[Wrong]:
    reported = set()
    for row, member in case.groups[pods.template.path]:
        groups, name = row.api_groups, member.name
        if name in reported or not groups or case.known.has_group(groups, case.namespace, name):
            continue
        if places := case.known.namespaces_with(groups, name):
            reported.add(name)
            where = places[0] if len(places) == 1 else f"{len(places)} other namespaces"
            yield pods.wrong(
                row.steps,
                f"got {name}, a PodGroup known in {where} only: pods join groups of their own namespace; "
                f"make it in {case.namespace}",
            )
