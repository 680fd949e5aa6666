"""Facts about Kthena: ModelServings. Each serving group has roles that together serve one model.

Each replica of a role has an entry pod and its worker pods. Kthena makes all pods of a serving group at once, without a
StatefulSet (pkg/model-serving-controller/controller/model_serving_controller.go CreatePodsForServingGroup).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, list_at, mapping_at, text
from ..dossier import TEMPLATE_ASKS, Dossier, KindNote, OwnerKind
from ..group_rules import GroupRules
from ..members import Member, Membership, Subject, index_of, named
from ..model_servings import (
    MODEL_SERVING_GROUP,
    MODEL_SERVING_KEYS,
    MODEL_SERVING_VERSION,
    scheduler_of,
    stamp_member,
)
from ..places import LABELLED, Found, Scene, TemplatePlace, WorkloadKind, spec_replicas
from ..roles import Role, asks_of, counted, read_once
from ..starts import Share, Start, StartingGang

_TYPES: Final = "volcano-sh/kthena pkg/apis/workload/v1alpha1"
_UTILS: Final = "volcano-sh/kthena pkg/model-serving-controller/utils/utils.go"

_NO_GROUP: Final = frozenset({"schedulingGroup", "workloadRef"})
"""The fields of a PodSpec that Kthena's CRDs lack (charts/kthena/charts/workload/crds)."""


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    stamp_member(pod, scene.document, scene.item, entry=scene.path[-1] == "entryTemplate")


def _role_instances(scene: Scene) -> int:
    """Return the number of a role's replicas in all serving groups; each replica has one entry pod."""
    return spec_replicas(scene) * count(scene.item.get("replicas"), 1)


def _scheduler_of_all(_scene: Scene) -> Iterator[tuple[Path, str]]:
    """Yield the path ``spec.schedulerName`` with a message: Kthena replaces this field in every pod.

    Source: utils.go GenerateEntryPod, GenerateWorkerPod.
    """
    yield ("spec", "schedulerName"), "Kthena writes spec.schedulerName there; change it in the ModelServing"


def _model_serving(pod: Subject) -> Member:
    group = pod.labels["modelserving.volcano.sh/group-name"]
    owner = pod.owner("ModelServing")
    roles = read_once(owner, _roles)
    index = _number_in_role(pod, group, owner)
    return Member("ModelServing", named("modelserving", group), counted(roles), index, roles=roles)


def _number_in_role(pod: Subject, group: str, owner: Mapping[str, Any] | None) -> int:
    """Return a pod's index among the pods of its role in its serving group; -1 if the index is unknown.

    The entry pod is the first pod of each replica of the role. For a worker, the result is computed from the pod's
    name, because no label has the worker's index. Source: utils.go GeneratePodName, GenerateRoleID.
    """
    role = pod.labels.get("modelserving.volcano.sh/role") or ""
    identity = pod.labels.get("modelserving.volcano.sh/role-id") or ""
    replica = index_of(identity.removeprefix(f"{role}-"))
    is_entry = pod.labels.get("modelserving.volcano.sh/entry") == "true"
    within = 0 if is_entry else index_of(pod.name.removeprefix(f"{group}-{identity}-"))
    if replica <= 0 or within < 0:
        return within if replica == 0 else -1
    roles = list_at(owner, "spec", "template", "roles")
    known = next((each for each in roles if at(each, "name") == role), None)
    return -1 if known is None else replica * (1 + count(at(known, "workerReplicas"))) + within


def _roles(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the roles of one serving group: entry pods and worker pods of each of Kthena's roles.

    The pods are counted as in ExpectedPodNum (utils.go).
    """
    roles: list[Role] = []
    for role in list_at(owner, "spec", "template", "roles"):
        replicas = count(at(role, "replicas"), 1)
        roles.append(Role(replicas, asks_of(at(role, "entryTemplate"))))
        roles.append(Role(replicas * count(at(role, "workerReplicas")), asks_of(at(role, "workerTemplate"))))
    return tuple(roles)


def _is_gang(document: Found) -> bool:
    """Return whether a ModelServing is a gang because its scheduler is Volcano (manager.go shouldCreatePodGroup)."""
    return scheduler_of(document) == "volcano"


def _groups(document: Found, _place: Path) -> int:
    return count(at(document, "spec", "replicas"), 1)


def _starts(gang: StartingGang) -> Start[Any]:
    """Return the pods of a serving group that start together.

    Each role starts the replicas that ``minRoleReplicas`` states for the role, with all their pods; if the field states
    none, all replicas.

    Source: pkg/model-serving-controller/podgroupmanager/manager.go calculateRequirements, appendSubGroupPolicy.
    """
    groups = _groups(gang.document, ())
    minimums = mapping_at(gang.document, "spec", "template", "gangPolicy", "minRoleReplicas")
    shares = []
    for each in gang.pods:
        role = gang.item(each, -1)
        most = each.replicas // groups if groups else 0
        replicas = count(role.get("replicas"), 1)
        least = min(count(minimums.get(text(role.get("name"))), replicas), replicas)
        shares.append(Share(pods=each, most=most, least=most // replicas * least if replicas else 0))
    return Start(shares=tuple(shares), least=sum(each.least for each in shares))


_LEVEL: Final = {"mode": None, "highestTierAllowed": None, "highestTierName": None}
_LEVELS: Final = {"groupPolicy": _LEVEL, "rolePolicy": _LEVEL}

DOSSIER: Final = Dossier(
    name="Kthena",
    versions={"volcano-sh/kthena": "3cc05728, after v1.0.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({MODEL_SERVING_VERSION}),
            kind="ModelServing",
            source=f"{_TYPES}/{{model_serving_types,servinggroup_types}}.go; {_UTILS}",
            places=(
                TemplatePlace(
                    path=("spec", "template", "roles", ELEMENT, "entryTemplate"),
                    # pkg/apis/workload/v1alpha1/servinggroup_types.go PodTemplateSpec, Metadata: no finalizers
                    form=LABELLED,
                    stamp=_stamp,
                    replicas=_role_instances,
                    lacks=_NO_GROUP,
                    fixed=_scheduler_of_all,
                ),
                TemplatePlace(
                    path=("spec", "template", "roles", ELEMENT, "workerTemplate"),
                    form=LABELLED,
                    stamp=_stamp,
                    optional=True,
                    when=lambda scene: count(scene.item.get("workerReplicas")) > 0,
                    replicas=lambda scene: _role_instances(scene) * count(scene.item.get("workerReplicas")),
                    lacks=_NO_GROUP,
                    fixed=_scheduler_of_all,
                ),
            ),
        ),
    ),
    memberships=(
        Membership(
            name="ModelServing (Kthena), and ModelBooster, which makes one",
            source=f"{_TYPES}/labels.go; {_UTILS}",
            read=_model_serving,
            size="the ModelServing: `replicas` of its roles, each an entry and `workerReplicas`",
            sized_by=("ModelServing",),
            label=f"{MODEL_SERVING_KEYS}/group-name",
            role=f"{MODEL_SERVING_KEYS}/role",
        ),
    ),
    pod_keys=frozenset(f"{MODEL_SERVING_KEYS}/{key}" for key in ("entry", "role-id")),
    notes=(
        KindNote(
            key=f"{MODEL_SERVING_KEYS}/group-name",
            kind=f"{MODEL_SERVING_GROUP}/ModelServing",
            title="ModelServing (Kthena)",
            keeps="`schedulerName`, and the environment `GROUP_SIZE`, `ENTRY_ADDRESS`, `WORKER_INDEX`, which Kthena "
            "writes over the template's; its PodGroup, the annotation that names it, and resources, which "
            "`minResources` sums; affinity where Volcano places it",
            source="volcano-sh/kthena pkg/model-serving-controller/{utils/utils,podgroupmanager/manager}.go",
            templates="`spec.template.roles.*.entryTemplate`, `spec.template.roles.*.workerTemplate`, for topology "
            "`spec.template.networkTopology`",
        ),
    ),
    owners=(
        OwnerKind(
            source=f"{_TYPES}/{{model_serving_types,servinggroup_types}}.go",
            group=MODEL_SERVING_GROUP,
            versions=("v1alpha1",),
            kind="ModelServing",
            spec={
                "template": {
                    "networkTopology": _LEVELS,
                    "roles": {
                        ELEMENT: {
                            "name": None,
                            "replicas": None,
                            "workerReplicas": None,
                            "entryTemplate": TEMPLATE_ASKS,
                            "workerTemplate": TEMPLATE_ASKS,
                        }
                    },
                }
            },
        ),
    ),
    # podgroupmanager/manager.go syncPodGroupNetworkTopology
    own_topology={("volcano", "ModelServing"): "set spec.template.networkTopology.groupPolicy of the ModelServing"},
    group_rules=(
        GroupRules(
            kind=(MODEL_SERVING_GROUP, "ModelServing"),
            starts=_starts,
            on_demand=_is_gang,
            groups=_groups,
            whole_groups=True,
            # pkg/model-serving-controller/podgroupmanager/manager.go extractQueueName
            queue=("metadata", "annotations", "scheduling.volcano.sh/queue-name"),
            queue_scheduler="volcano",
        ),
    ),
    # These objects refer to pods of other objects (pkg/apis/networking,
    # pkg/apis/workload/v1alpha1/autoscalingpolicy_types.go; up to 0.4 autoscalingpolicybinding_types.go, too).
    podless_groups=frozenset({"networking.serving.volcano.sh"}),
    podless_kinds=frozenset(
        {f"{MODEL_SERVING_VERSION}/AutoscalingPolicy", f"{MODEL_SERVING_VERSION}/AutoscalingPolicyBinding"}
    ),
)
