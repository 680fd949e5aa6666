"""Facts about RoleBasedGroups: roles that serve one model.

A role is a StatefulSet, LeaderWorkerSet or set of instances. The labels of v1alpha1 and v1alpha2 differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at, unread
from ..dossier import TEMPLATE_ASKS, Dossier, Fields, KindNote, OwnerKind
from ..forms import find
from ..group_rules import GroupRules
from ..members import STATEFUL_SET_INDEX, Member, Membership, Subject, index_of, named
from ..name_sets import words
from ..places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Found, Scene, TemplatePlace, WorkloadKind, spec_replicas
from ..role_templates import PATCHES, RolePods, instance, merged_below, pods_of, shared_templates
from ..roles import Predicted, Role, counted, predicted, read_once
from ..stamping import add_annotations, add_labels, own
from ..starts import together
from ..strategic_merge import replaced_lists


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the operator writes for a role.

    Source: sgl-project/rbg api/workloads/constants/label.go, v1alpha1/constant.go.
    """
    old = scene.document.get("apiVersion") == "workloads.x-k8s.io/v1alpha1"
    prefix = "rolebasedgroup.workloads.x-k8s.io" if old else "rbg.workloads.x-k8s.io"
    name, role = ("name", "role") if old else ("group-name", "role-name")
    role_of = _referring(scene)[0] if "roleTemplates" in scene.path else scene.items[0]
    key = text(at(role_of, "name"))
    group = _group_name(scene)
    add_labels(pod, {f"{prefix}/{name}": group, f"{prefix}/{role}": key})
    # Of the groups' spec, a RoleBasedGroupSet copies only the roles.
    policy = {} if _is_set(scene) else mapping_at(scene.spec, "podGroupPolicy")
    if "kubeScheduling" in policy:
        add_labels(pod, {"scheduling.x-k8s.io/pod-group": group})
    if "volcanoScheduling" in policy:
        add_annotations(pod, {"scheduling.k8s.io/group-name": group})
    own(pod, "apps/v1", "StatefulSet", f"{group}-{key}", PLACEHOLDER_UID)


def _is_set(scene: Scene) -> bool:
    return scene.document.get("kind") == "RoleBasedGroupSet"


def _group_name(scene: Scene) -> str:
    """Return the name of the pod's RoleBasedGroup.

    For a RoleBasedGroupSet, a placeholder stands for the index (newRBGForSet).
    """
    if not _is_set(scene):
        return scene.name
    return f"{scene.name}-{0 if spec_replicas(scene) == 1 else PLACEHOLDER_HASH}"


def _group(scene: Scene) -> Found:
    return read_once(scene.document, _group_of_set) if _is_set(scene) else scene.document


def _group_of_set(document: Found | None) -> Predicted:
    """Return the RoleBasedGroup that a RoleBasedGroupSet makes, with only the labels and the roles.

    In v1alpha1, ``spec.template`` of the set is the spec of the RoleBasedGroup itself. Source: sgl-project/rbg
    internal/controller/workloads/rolebasedgroupset_controller.go newRBGForSet.
    """
    template = mapping_at(document, "spec", "groupTemplate")
    spec = template.get("spec") if template else at(document, "spec", "template")
    metadata = {**mapping_at(document, "metadata"), "labels": mapping_at(template, "labels")}
    return predicted(at(document, "apiVersion"), "RoleBasedGroup", metadata, {"roles": at(spec, "roles")})


def _role_pods(scene: Scene) -> int:
    """Return the number of pods that a role makes from the template or patch at ``scene.path``."""
    role = scene.items[0] if scene.items else {}
    inner = count(scene.item.get("size"), 1) if len(scene.items) > 1 else _pods_on_top(scene).count
    groups = spec_replicas(scene) if _is_set(scene) else 1
    return 0 if _scales(role) else groups * count(at(role, "replicas"), 1) * inner


_NONE: Final = RolePods(0, ())


def _pods_on_top(scene: Scene) -> RolePods:
    """Return the pods whose topmost layer is at ``scene.path``; if there are none, ``RolePods`` of count 0.

    A layer is the role's template or a patch of it (``RolePods.layers``).
    """
    role, inner = _role_of(scene)
    return next((each for each in pods_of(role) if each.layers[-1:] == (inner,)), _NONE)


def _role_of(scene: Scene) -> tuple[Any, Path]:
    """Return (the role that contains ``scene.path``, the path from the role to ``scene.path``)."""
    role = scene.items[0] if scene.items else {}
    return role, scene.path[scene.path.index("roles") + 2 :]


def _makes_pods(scene: Scene) -> bool:
    role, inner = _role_of(scene)
    made = pods_of(role)
    # The number of pods of the role may be unknown.
    return any(each.layers[-1:] == (inner,) for each in made) or not any(inner in each.layers for each in made)


def _below(scene: Scene) -> Found:
    """Return the template to which the operator applies the patch at ``scene.path``.

    The result is empty if there is no patch at ``scene.path``, or if the patch refers to a role template that the group
    does not have. A RoleBasedGroupSet has no role templates.
    """
    role, _ = _role_of(scene)
    shared = {} if _is_set(scene) else read_once(scene.document, shared_templates)
    found = merged_below(role, _pods_on_top(scene), shared)
    return found if isinstance(found, Mapping) else {}


def _replaced(scene: Scene) -> Iterator[tuple[Path, str]]:
    own = find(scene.document, scene.path)
    return replaced_lists(_below(scene), own, "the template below the patch", "a patch")


def _referring(scene: Scene) -> list[Any]:
    """Return the roles that use, without a patch, the role template that ``scene`` describes."""
    return read_once(scene.document, _by_template).get(scene.key, [])


def _by_template(document: Found) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for role in list_at(document, "spec", "roles"):
        for pods in pods_of(role):
            if pods.shared and not pods.layers:
                found.setdefault(pods.shared, []).append(role)
    return found


def _referring_pods(scene: Scene) -> int:
    roles = _referring(scene)
    if any(map(_scales, roles)):
        return 0
    bare = ((role, each) for role in roles for each in pods_of(role) if each.shared and not each.layers)
    return sum(count(at(role, "replicas"), 1) * each.count for role, each in bare)


def _scales(role: object) -> bool:
    """Return whether a separate scaling object states the role's replicas (api/workloads, ScalingAdapter.Enable)."""
    return at(role, "scalingAdapter", "enable") is True


_TEMPLATES: Final[tuple[tuple[str, ...], ...]] = (
    ("template",),
    ("standalonePattern", "template"),
    ("leaderWorkerPattern", "template"),
    ("customComponentsPattern", "components", ELEMENT, "template"),
    *PATCHES,
)


def _role_places(*bases: tuple[str, ...]) -> Iterator[TemplatePlace]:
    for base, path in product(bases, _TEMPLATES):
        place = TemplatePlace(
            path=(*base, "roles", ELEMENT, *path), stamp=_stamp, replicas=_role_pods, owner=_group, optional=True
        )
        if path in PATCHES:
            yield replace(place, when=lambda scene: bool(_below(scene)), below=_below, fixed=_replaced)
        else:
            yield place if ELEMENT in path else replace(place, when=_makes_pods)


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
    roles = read_once(owner, _roles)
    return Member("RoleBasedGroup", named("rbg", group), counted(roles), index, role or "", roles=roles)


def _number_in_role(pod: Subject, owner: Mapping[str, Any] | None, name: str) -> int:
    """Return a pod's index among all pods of the role ``name``; -1 if unknown, as for a role of LeaderWorkerSets.

    The pod's index label counts only within one instance of the role, or within one component of an instance. So the
    pods of earlier instances and components are added. Sources: sgl-project/rbg
    pkg/reconciler/roleinstance/utils/instance_utils.go InitComponentPodLabels,
    pkg/reconciler/roleinstanceset/statefulmode/stateful_instance_set_utils.go updateIdentity.
    """
    if pod.labels.get("rbg.workloads.x-k8s.io/component-id") is None:
        # The pods of a role of LeaderWorkerSets have no number within the role.
        several = "leaderworkerset.sigs.k8s.io/name" in pod.labels
        return -1 if several else index_of(pod.labels.get(STATEFUL_SET_INDEX))
    roles = list_at(owner, "spec", "roles")
    role = next((each for each in roles if at(each, "name") == name), None)
    before = index_of(pod.labels.get("rbg.workloads.x-k8s.io/role-instance-index"))
    within = _number_in_instance(pod, role)
    if before < 0 or within < 0:
        return -1
    return before * counted(instance(role, {})) + within if role or not before else -1


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


def _roles(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the pods of each template of all roles: the role's ``replicas`` times the pods of one replica.

    The result is empty if a scaling adapter sets the replicas of any role, because the numbers are then unknown. All
    pods of a role's ``customComponentsPattern`` count, unlike in sgl-project/rbg api/workloads/v1alpha2/helper.go
    GetGroupSize.
    """
    roles = list_at(owner, "spec", "roles")
    shared = shared_templates(owner)
    if any(map(_scales, roles)):
        return ()
    made = ((at(role, "replicas"), each) for role in roles for each in instance(role, shared))
    return tuple(Role(count(times, 1) * each.count, each.asks, unread(times) or each.unread) for times, each in made)


def _stages(owner: Mapping[str, Any]) -> str:
    # sgl-project/rbg internal/controller/workloads CheckDependencyReady
    roles = list_at(owner, "spec", "roles")
    waits = any(at(role, "dependencies") for role in roles)
    return "spec.roles[].dependencies" if waits else ""


# A patch with a ``spec`` makes a leader or workers that differ from the template. Only the presence of it is kept.
_REFERENCE: Final[Fields] = {"name": None, "patch": {"spec": {}}}
_LEADER_AND_WORKERS: Final[Fields] = {
    "size": None,
    "templateRef": _REFERENCE,
    "template": TEMPLATE_ASKS,
    **{field: {"spec": {}} for _, field in PATCHES[:-3]},
}

_DOMAIN: Final = "rbg.workloads.x-k8s.io"
_OLD_DOMAIN: Final = "rolebasedgroup.workloads.x-k8s.io"


def _is_gang(document: Found) -> bool:
    """Return whether a RoleBasedGroup asks to start as a whole (sgl-project/rbg api/workloads/constants, v1alpha1)."""
    asked = text_at(document, "metadata", "annotations", f"{_DOMAIN}/group-gang-scheduling") == "true"
    return asked or bool(mapping_at(document, "spec", "podGroupPolicy"))


_NO_ROLE_TEMPLATES: Final = (
    "a RoleBasedGroupSet gives its groups the roles alone, so that a templateRef finds no role template; write each "
    "template in its role"
)


DOSSIER: Final = Dossier(
    name="RoleBasedGroup",
    versions={"sgl-project/rbg": "993491fb, after v0.7.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"workloads.x-k8s.io/v1alpha1", "workloads.x-k8s.io/v1alpha2"}),
            kind="RoleBasedGroup",
            source="sgl-project/rbg api/workloads/{v1alpha1,v1alpha2}/rolebasedgroup_types.go",
            places=(
                *_role_places(("spec",)),
                TemplatePlace(
                    path=("spec", "roleTemplates", ELEMENT, "template"),
                    stamp=_stamp,
                    optional=True,
                    when=lambda scene: bool(_referring(scene)),
                    replicas=_referring_pods,
                    owner=_group,
                ),
            ),
        ),
        WorkloadKind(
            api_versions=frozenset({"workloads.x-k8s.io/v1alpha1", "workloads.x-k8s.io/v1alpha2"}),
            kind="RoleBasedGroupSet",
            source="sgl-project/rbg api/workloads/{v1alpha1,v1alpha2}/rolebasedgroupset_types.go",
            places=tuple(_role_places(("spec", "groupTemplate", "spec"), ("spec", "template"))),
            lost=(
                # internal/controller/workloads/rolebasedgroupset_controller.go newRBGForSet
                (("spec", "groupTemplate", "spec", "roleTemplates"), _NO_ROLE_TEMPLATES),
                (("spec", "template", "roleTemplates"), _NO_ROLE_TEMPLATES),
                (
                    ("spec", "groupTemplate", "metadata"),
                    "the CRD has no metadata here, so that what is in it is lost; write it one level above",
                ),
            ),
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
                (
                    "`spec.roles.*` by its pattern, as `leaderWorkerPattern.template` or `templateRef.patch`, and "
                    "`spec.roleTemplates.*.template`"
                ),
            ),
            (
                "v1alpha1",
                f"{_OLD_DOMAIN}/name",
                f"{_OLD_DOMAIN}/exclusive-topology",
                "`spec.podGroupPolicy`",
                "`spec.roles.*.template`, `spec.roles.*.templatePatch`, `spec.roleTemplates.*.template`",
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
                "roleTemplates": {ELEMENT: {"name": None, "template": TEMPLATE_ASKS}},
                "roles": {
                    ELEMENT: {
                        "name": None,
                        "scalingAdapter": {"enable": None},
                        "templateRef": _REFERENCE,
                        "templatePatch": {"spec": {}},
                        "replicas": None,
                        "dependencies": {ELEMENT: None},
                        "template": TEMPLATE_ASKS,
                        "standalonePattern": {"template": TEMPLATE_ASKS, "templateRef": _REFERENCE},
                        "customComponentsPattern": {
                            "components": {ELEMENT: {"name": None, "size": None, "template": TEMPLATE_ASKS}}
                        },
                        "leaderWorkerPattern": _LEADER_AND_WORKERS,
                        "leaderWorkerSet": _LEADER_AND_WORKERS,
                    }
                },
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
    # pkg/scheduler/volcano/manager.go writes minimum, queue and priority of the PodGroup, and no topology.
    own_topology={("volcano", "RoleBasedGroup"): ""},
    group_rules=(
        GroupRules(
            kind=("workloads.x-k8s.io", "RoleBasedGroup"),
            starts=together,
            on_demand=_is_gang,
            # api/workloads/constants/annotation.go, v1alpha1/constant.go
            exclusive={
                f"{_DOMAIN}/group-exclusive-topology": f"{_DOMAIN}/role-disable-exclusive",
                f"{_OLD_DOMAIN}/exclusive-topology": f"{_OLD_DOMAIN}/disable-exclusive-topology",
            },
        ),
    ),
)
