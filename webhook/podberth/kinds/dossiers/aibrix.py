"""Facts about AIBrix: StormServices, each of which serves one model with role sets, and fleets of RayClusters.

A role set is a gang. If a replica of a role has several pods, a PodSet makes the pods, and the PodSet is a gang itself
if the role has a scheduling strategy. Sources: vllm-project/aibrix api/orchestration/v1alpha1,
pkg/controller/{roleset,podset,constants}.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at, unread
from ..dossier import TEMPLATE_ASKS, Dossier, KindNote, OwnerKind
from ..members import Member, Membership, Subject, index_of, named
from ..places import (
    PLACEHOLDER_HASH,
    PLACEHOLDER_UID,
    Found,
    Scene,
    TemplatePlace,
    WorkloadKind,
    item_replicas,
    spec_replicas,
)
from ..ray_clusters import ray_kind
from ..roles import Predicted, Role, asks_of, counted, predicted, read_once
from ..stamping import add_annotations, add_labels, own, set_name

_GROUP: Final = "orchestration.aibrix.ai"
_VERSION: Final = f"{_GROUP}/v1alpha1"
_VERSIONS: Final = frozenset({_VERSION})
_STORM: Final = "stormservice.orchestration.aibrix.ai"
_CONTROLLERS: Final = "vllm-project/aibrix pkg/controller"


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that AIBrix writes on the pods of a role.

    Source: roleset/{utils,podset_rollsyncer}.go, podset/podset_controller.go.
    """
    direct = scene.document.get("kind") == "RoleSet"
    role_set = scene.name if direct else f"{scene.name}-roleset-{PLACEHOLDER_HASH}"
    labels = {"roleset-name": role_set, "role-name": scene.key, "role-template-hash": PLACEHOLDER_HASH}
    if not direct:
        labels["storm-service-name"] = scene.name
        _attract(pod, labels, mapping_at(_role_set(scene), "spec", "topologyPolicy"))
    add_labels(pod, labels)
    several = _pods_of_replica(scene.item) > 1
    pod_set = f"{role_set}-{scene.key}-{PLACEHOLDER_HASH}"
    strategies = mapping_at(_role_set(scene), "spec", "schedulingStrategy")
    group = role_set
    if several:
        add_labels(pod, {f"{_STORM}/podset-name": pod_set, f"{_STORM}/pod-group-index": "0"})
        if at(scene.item, "schedulingStrategy") is not None:
            strategies, group = mapping_at(scene.item, "schedulingStrategy"), pod_set
    if "coschedulingSchedulingStrategy" in strategies:
        add_labels(pod, {"scheduling.x-k8s.io/pod-group": group})
    if "volcanoSchedulingStrategy" in strategies:
        add_annotations(pod, {"scheduling.k8s.io/group-name": group})
    uid = scene.uid if direct and not several else PLACEHOLDER_UID
    own(pod, _VERSION, "PodSet" if several else "RoleSet", pod_set if several else role_set, uid)


def _attract(pod: dict[str, Any], labels: Mapping[str, str], policy: Found) -> None:
    """Add a topology policy's pod affinity to a pod (roleset/utils.go injectTopologyAffinity).

    ``labels`` are the pod's labels. The affinity selects the pods with equal values of those labels that ``_SCOPES``
    has for the policy's scope.
    """
    keys = _SCOPES.get(text_at(policy, "scope"))
    if keys is None or not text_at(policy, "key"):
        return
    term = {"topologyKey": policy["key"], "labelSelector": {"matchLabels": {key: labels[key] for key in keys}}}
    near = pod["spec"].setdefault("affinity", {}).setdefault("podAffinity", {})
    if policy.get("mode") == "Required":
        near.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
    else:
        wish = {"weight": 100, "podAffinityTerm": term}
        near.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(wish)


_SCOPES: Final[Mapping[str, tuple[str, ...]]] = {
    "StormService": ("storm-service-name",),
    "RoleSet": ("storm-service-name", "roleset-name"),
    "Role": ("storm-service-name", "role-name"),
}


def _role_set(scene: Scene) -> Found:
    """Return the RoleSet from which gangs are read: the document itself, or the RoleSet of a StormService."""
    direct = scene.document.get("kind") == "RoleSet"
    return scene.document if direct else read_once(scene.document, _role_set_of)


def _role_set_of(storm: Found) -> Predicted:
    spec, metadata = mapping_at(storm, "spec", "template", "spec"), mapping_at(storm, "metadata")
    return predicted(_VERSION, "RoleSet", metadata, spec)


def _pods_of_replica(role: object) -> int:
    return count(at(role, "podGroupSize"), 1)


def _role_pods(scene: Scene) -> int:
    """Return the number of a role's pods in all RoleSets.

    The number of pods of one replica comes from roleset_types.go PodGroupSize.
    """
    sets = spec_replicas(scene) if scene.document.get("kind") == "StormService" else 1
    return sets * item_replicas(scene) * _pods_of_replica(scene.item)


def _storm_kind(kind: str, *path: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=_VERSIONS,
        kind=kind,
        source="vllm-project/aibrix api/orchestration/v1alpha1/{stormservice,roleset}_types.go",
        places=(TemplatePlace(path=(*path, ELEMENT, "template"), stamp=_stamp, replicas=_role_pods, owner=_role_set),),
    )


def _stamp_pod_set(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that AIBrix writes for a PodSet that a user applies (podset/podset_controller.go)."""
    taken = pod["metadata"].get("labels") or {}
    inherited = {key: text(value) for key, value in mapping_at(scene.document, "metadata", "labels").items()}
    add_labels(pod, {**inherited, **taken, f"{_STORM}/podset-name": scene.name, f"{_STORM}/pod-group-index": "0"})
    own(pod, _VERSION, "PodSet", scene.name, scene.uid)
    set_name(pod, f"{scene.name}-0")


def _pod_set_pods(scene: Scene) -> int:
    return count(scene.spec.get("podGroupSize"))


def _member(pod: Subject) -> Member | None:
    """Return a pod's membership in a RoleSet, or in a PodSet if the pod's role has a scheduling strategy; else None."""
    if pod.controller is None or pod.controller.group != _GROUP:
        return None
    role = pod.labels.get("role-name") or ""
    pod_set = pod.labels.get("stormservice.orchestration.aibrix.ai/podset-name")
    within = index_of(pod.labels.get("stormservice.orchestration.aibrix.ai/pod-group-index"))
    owner = pod.owner("RoleSet")
    found = read_once(owner, _by_name).get(role)
    pods = _pods_of_replica(found) if found else 0
    if pod_set and _has_groups(found):
        return Member("PodSet", named("podset", pod_set), pods, within, role)
    roles = read_once(owner, _roles)
    replica = index_of(pod.labels.get("stormservice.orchestration.aibrix.ai/role-replica-index"))
    known = replica >= 0 and (not pod_set or (within >= 0 and (pods or not replica)))
    index = replica * max(pods, 1) + max(within, 0) if known else -1
    return Member("RoleSet", named("roleset", pod.labels["roleset-name"]), counted(roles), index, role, roles=roles)


def _roles(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the roles of a RoleSet with their pods. A role is left out if its PodSets are gangs themselves."""
    return tuple(_role(each) for each in list_at(owner, "spec", "roles") if not _has_groups(each))


def _has_groups(role: object) -> bool:
    return at(role, "schedulingStrategy") is not None and _pods_of_replica(role) > 1


def _by_name(owner: Mapping[str, Any] | None) -> dict[str, object]:
    return {text_at(each, "name"): each for each in list_at(owner, "spec", "roles")}


def _role(part: object) -> Role:
    replicas, size = at(part, "replicas"), at(part, "podGroupSize")
    return Role(count(replicas, 1) * _pods_of_replica(part), asks_of(at(part, "template")), unread(replicas, size))


DOSSIER: Final = Dossier(
    name="AIBrix",
    versions={"vllm-project/aibrix": "e3e10f9e, after v0.7.0"},
    kinds=(
        *(
            replace(
                ray_kind(kind),
                api_versions=_VERSIONS,
                source=f"vllm-project/aibrix api/orchestration/v1alpha1/{kind.lower()}_types.go",
            )
            for kind in ("RayClusterFleet", "RayClusterReplicaSet")
        ),
        _storm_kind("StormService", "spec", "template", "spec", "roles"),
        _storm_kind("RoleSet", "spec", "roles"),
        WorkloadKind(
            api_versions=_VERSIONS,
            kind="PodSet",
            source="vllm-project/aibrix api/orchestration/v1alpha1/podset_types.go",
            places=(
                TemplatePlace(path=("spec", "template"), stamp=_stamp_pod_set, replicas=_pod_set_pods, role="pod"),
            ),
        ),
    ),
    memberships=(
        Membership(
            name="StormService (AIBrix)",
            source=f"{_CONTROLLERS}/constants/stormservice.go, {_CONTROLLERS}/roleset/utils.go",
            read=_member,
            size="the RoleSet: `replicas` of its roles, times their `podGroupSize`",
            sized_by=("RoleSet",),
            label="roleset-name",
            role_from="label `role-name`",
        ),
    ),
    pod_keys=frozenset(
        {
            "role-name",
            *(f"{_STORM}/{key}" for key in ("podset-name", "pod-group-index", "role-replica-index")),
        }
    ),
    notes=(
        KindNote(
            key="roleset-name",
            kind=f"{_GROUP}/StormService",
            title="StormService (AIBrix)",
            keeps="the pod affinity that its controller writes for `topologyPolicy`; the group that it names for "
            "`schedulingStrategy`; its templates, which are hashed",
            source=f"{_CONTROLLERS}/roleset/utils.go",
        ),
    ),
    own_topology=dict.fromkeys(
        product(("coscheduling", "volcano"), ("RoleSet", "PodSet")),
        "set spec.template.spec.topologyPolicy of the StormService",
    ),
    owners=(
        OwnerKind(
            source="vllm-project/aibrix api/orchestration/v1alpha1/roleset_types.go",
            group=_GROUP,
            versions=("v1alpha1",),
            kind="RoleSet",
            spec={
                "roles": {
                    ELEMENT: {
                        "name": None,
                        "replicas": None,
                        "podGroupSize": None,
                        "schedulingStrategy": {},
                        "template": TEMPLATE_ASKS,
                    }
                }
            },
        ),
        OwnerKind(
            source="vllm-project/aibrix api/orchestration/v1alpha1/podset_types.go",
            group=_GROUP,
            versions=("v1alpha1",),
            kind="PodSet",
        ),
    ),
    podless_groups=frozenset({"autoscaling.aibrix.ai", "model.aibrix.ai"}),
)
