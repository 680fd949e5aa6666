"""RoleBasedGroups: roles that serve one model, made of StatefulSets, LeaderWorkerSets or instances.

Its API changed its labels between v1alpha1 and v1alpha2.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import at, count, list_at, mapping_at, text
from ..dossier import TEMPLATE_ASKS, Dossier, Fields, KindNote, OwnerKind
from ..group_rules import GroupRules
from ..members import STATEFUL_SET_INDEX, Member, Membership, Subject, index_of, named
from ..places import PLACEHOLDER_UID, Place, Scene, WorkloadKind
from ..roles import Role, asks_of, counted, read_once
from ..stamping import add_annotations, add_labels, own
from ..words import words

_PATCHES: Final = ("leaderTemplatePatch", "workerTemplatePatch", "patchLeaderTemplate", "patchWorkerTemplate")
"""The fields that make leader or workers of a role other than its template (api/workloads)."""


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write what pods get from their role (sgl-project/rbg api/workloads/constants/label.go, v1alpha1/constant.go)."""
    old = scene.document.get("apiVersion") == "workloads.x-k8s.io/v1alpha1"
    prefix = "rolebasedgroup.workloads.x-k8s.io" if old else "rbg.workloads.x-k8s.io"
    name, role = ("name", "role") if old else ("group-name", "role-name")
    key = text(at(scene.items[0] if scene.items else None, "name"))
    add_labels(pod, {f"{prefix}/{name}": scene.name, f"{prefix}/{role}": key})
    policy = mapping_at(scene.spec, "podGroupPolicy")
    if "kubeScheduling" in policy:
        add_labels(pod, {"scheduling.x-k8s.io/pod-group": scene.name})
    if "volcanoScheduling" in policy:
        add_annotations(pod, {"scheduling.k8s.io/group-name": scene.name})
    own(pod, "apps/v1", "StatefulSet", f"{scene.name}-{key}", PLACEHOLDER_UID)


def _role_pods(scene: Scene) -> int:
    role = scene.items[0] if scene.items else {}
    size = at(role, "leaderWorkerSet", "size") or at(role, "leaderWorkerPattern", "size")
    inner = count(scene.item.get("size"), 1) if len(scene.items) > 1 else count(size, 1)
    return count(at(role, "replicas"), 1) * inner


def _role_places() -> Iterator[Place]:
    for path in (
        ("roles", ELEMENT, "template"),
        ("roles", ELEMENT, "standalonePattern", "template"),
        ("roles", ELEMENT, "leaderWorkerPattern", "template"),
        ("roles", ELEMENT, "customComponentsPattern", "components", ELEMENT, "template"),
        ("roleTemplates", ELEMENT, "template"),
    ):
        yield Place(path=("spec", *path), stamp=_stamp, replicas=_role_pods, optional=True)


def _role_based_group(pod: Subject) -> Member:
    group = (
        pod.labels.get("rbg.workloads.x-k8s.io/group-name")
        or pod.labels.get("rolebasedgroup.workloads.x-k8s.io/name")
        or ""
    )
    role = pod.labels.get("rbg.workloads.x-k8s.io/role-name") or pod.labels.get(
        "rolebasedgroup.workloads.x-k8s.io/role"
    )
    owner = pod.owner("RoleBasedGroup")
    index = _number_in_role(pod, owner, role or "")
    roles = read_once(owner, _all_roles)
    return Member("RoleBasedGroup", named("rbg", group), counted(roles), index, role or "", roles=roles)


def _number_in_role(pod: Subject, owner: Mapping[str, Any] | None, name: str) -> int:
    """Return a pod's number among all of its role, -1 where the instances of the role have none.

    The pods of an instance are numbered within it, or within their component of it. Sources: sgl-project/rbg
    pkg/reconciler/roleinstance/utils/instance_utils.go InitComponentPodLabels, pkg/reconciler/roleinstanceset/
    statefulmode/stateful_instance_set_utils.go updateIdentity.
    """
    if pod.labels.get("rbg.workloads.x-k8s.io/component-id") is None:
        # Of a role of LeaderWorkerSets, each of several pods, there is no number that is the pod's own.
        several = "leaderworkerset.sigs.k8s.io/name" in pod.labels
        return -1 if several else index_of(pod.labels.get(STATEFUL_SET_INDEX))
    roles = list_at(owner, "spec", "roles")
    role = next((each for each in roles if at(each, "name") == name), None)
    instance = index_of(pod.labels.get("rbg.workloads.x-k8s.io/role-instance-index"))
    within = _number_in_instance(pod, role)
    if instance < 0 or within < 0:
        return -1
    return instance * counted(_instance(role)) + within if role or not instance else -1


def _number_in_instance(pod: Subject, role: object) -> int:
    said = pod.labels.get("rbg.workloads.x-k8s.io/component-index") or pod.labels.get(
        "rbg.workloads.x-k8s.io/component-id"
    )
    name = pod.labels.get("rbg.workloads.x-k8s.io/component-name")
    components = list_at(role, "customComponentsPattern", "components")
    before = 0
    for each in components:
        if at(each, "name") == name:
            break
        before += count(at(each, "size"), 1)
    index = index_of(said)
    return before + index if index >= 0 else -1


def _all_roles(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    return tuple(_roles(owner))


def _roles(owner: Mapping[str, Any] | None) -> Iterator[Role]:
    """Yield the pods of all roles: ``replicas`` of each, times the pods of one replica, by template.

    Source: sgl-project/rbg api/workloads/v1alpha2/helper.go GetGroupSize, which takes custom components for one pod.
    """
    for role in list_at(owner, "spec", "roles"):
        replicas = count(at(role, "replicas"), 1)
        for each in _instance(role):
            yield Role(replicas * each.count, each.asks)


def _instance(role: object) -> Iterator[Role]:
    """Yield the pods of one replica. What patches make of a template is not known."""
    components = at(role, "customComponentsPattern", "components")
    if isinstance(components, list):
        for each in components:
            yield Role(count(at(each, "size"), 1), asks_of(at(each, "template")))
        return
    pattern = at(role, "leaderWorkerPattern") or at(role, "leaderWorkerSet")
    template = at(pattern, "template") or at(role, "standalonePattern", "template") or at(role, "template")
    patched = any(at(pattern, field) is not None for field in _PATCHES)
    yield Role(count(at(pattern, "size"), 1), None if patched else asks_of(template))


def _stages(owner: Mapping[str, Any]) -> str:
    # sgl-project/rbg internal/controller/workloads CheckDependencyReady
    roles = list_at(owner, "spec", "roles")
    waits = any(at(role, "dependencies") for role in roles)
    return "spec.roles[].dependencies" if waits else ""


# Patches make leader or workers other than the template: of these only that they are there is kept.
_LEADER_AND_WORKERS: Final[Fields] = {
    "size": None,
    "template": TEMPLATE_ASKS,
    **{field: {} for field in _PATCHES},
}

_DOMAIN: Final = "rbg.workloads.x-k8s.io"
_OLD_DOMAIN: Final = "rolebasedgroup.workloads.x-k8s.io"

DOSSIER: Final = Dossier(
    name="RoleBasedGroup",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"workloads.x-k8s.io/v1alpha1", "workloads.x-k8s.io/v1alpha2"}),
            kind="RoleBasedGroup",
            source="sgl-project/rbg api/workloads/{v1alpha1,v1alpha2}/rolebasedgroup_types.go",
            places=tuple(_role_places()),
        ),
    ),
    memberships=tuple(
        Membership(
            name=f"RoleBasedGroup ({version})",
            source=f"sgl-project/rbg {where}, api/workloads/{version}/helper.go",
            read=_role_based_group,
            size="the RoleBasedGroup: `replicas` of its roles, times the pods of one replica",
            sized_by=("RoleBasedGroup",),
            label=f"{domain}/{name}",
            role_from="its label of the role's name",
        )
        for version, where, domain, name in (
            ("v1alpha2", "api/workloads/constants/label.go", _DOMAIN, "group-name"),
            ("v1alpha1", "api/workloads/v1alpha1/constant.go", _OLD_DOMAIN, "name"),
        )
    ),
    notes=tuple(
        KindNote(
            key=key,
            kind="workloads.x-k8s.io/RoleBasedGroup",
            title=f"RoleBasedGroup ({version})",
            keeps="the spec of routers without GPUs; the pod affinity that its controller writes for "
            f"`{exclusive}`; the group that it names for {grouped}",
            source="sgl-project/rbg pkg/reconciler/pod_reconciler.go, pkg/scheduler",
            templates=places,
        )
        for version, key, exclusive, grouped, places in (
            (
                "v1alpha2",
                f"{_DOMAIN}/group-name",
                f"{_DOMAIN}/group-exclusive-topology",
                f"`{_DOMAIN}/group-gang-scheduling`",
                "`spec.roles.*` by its pattern, as `leaderWorkerPattern.template`, and `spec.roleTemplates.*.template`",
            ),
            (
                "v1alpha1",
                f"{_OLD_DOMAIN}/name",
                f"{_OLD_DOMAIN}/exclusive-topology",
                "`spec.podGroupPolicy`",
                "`spec.roles.*.template`, `spec.roleTemplates.*.template`",
            ),
        )
    ),
    pod_keys=words(
        "rbg.workloads.x-k8s.io/component-id rbg.workloads.x-k8s.io/component-index "
        "rbg.workloads.x-k8s.io/component-name rbg.workloads.x-k8s.io/role-instance-index "
        "rbg.workloads.x-k8s.io/role-name rolebasedgroup.workloads.x-k8s.io/role"
    ),
    owners=(
        OwnerKind(
            source="sgl-project/rbg api/workloads/{v1alpha2,v1alpha1}/rolebasedgroup_types.go",
            group="workloads.x-k8s.io",
            versions=("v1alpha2", "v1alpha1"),
            stages=_stages,
            stages_of_roles=True,
            kind="RoleBasedGroup",
            spec={
                "roles": {
                    ELEMENT: {
                        "name": None,
                        "replicas": None,
                        "dependencies": {ELEMENT: None},
                        "template": TEMPLATE_ASKS,
                        "standalonePattern": {"template": TEMPLATE_ASKS},
                        "customComponentsPattern": {
                            "components": {ELEMENT: {"name": None, "size": None, "template": TEMPLATE_ASKS}}
                        },
                        "leaderWorkerPattern": _LEADER_AND_WORKERS,
                        "leaderWorkerSet": _LEADER_AND_WORKERS,
                    }
                }
            },
        ),
        OwnerKind(
            kind="RoleInstance",
            group="workloads.x-k8s.io",
            versions=("v1alpha2",),
            source="sgl-project/rbg pkg/reconciler/roleinstance/core/instance_core.go (NewUpdatePods)",
        ),
        OwnerKind(
            kind="RoleInstanceSet",
            group="workloads.x-k8s.io",
            versions=("v1alpha2",),
            source="sgl-project/rbg pkg/reconciler/roleinstanceset_reconciler.go, and roleinstanceset/, for its "
            "instances",
        ),
    ),
    group_rules=(
        GroupRules(
            kind=("workloads.x-k8s.io", "RoleBasedGroup"),
            # api/workloads/constants/annotation.go, v1alpha1/constant.go
            exclusive={
                f"{_DOMAIN}/group-exclusive-topology": f"{_DOMAIN}/role-disable-exclusive",
                f"{_OLD_DOMAIN}/exclusive-topology": f"{_OLD_DOMAIN}/disable-exclusive-topology",
            },
        ),
    ),
)
