"""Gangs that serve one model with many pods: LeaderWorkerSet, RoleBasedGroup, Grove and Dynamo, KServe.

The rows are read as those of ``operators``, which puts them in their order.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kinds.members import STATEFUL_SET_INDEX, Maker, Member, Row, Subject, index_of, named
from ..kinds.roles import TEMPLATE_PATCHES, Role, asks_in, asks_of, counted, read_once
from ..kube.shape import RESOURCED_LISTS
from ..kube.unchecked import at, count, list_at, number, text, text_at


def _leader_worker_set(pod: Subject) -> Member | None:
    """A group of a LeaderWorkerSet, named by its group key.

    The leader gets its key from LWS's own webhook, which may come after us: the key is computed as there.
    """
    key = pod.labels.get("leaderworkerset.sigs.k8s.io/group-key")
    worker = pod.labels.get("leaderworkerset.sigs.k8s.io/worker-index")
    if not key and worker == "0" and pod.name:
        key = hashlib.sha1(
            f"{pod.namespace}/{pod.name}".encode(errors="surrogatepass"), usedforsecurity=False
        ).hexdigest()
    if not key:
        return None
    size = number(pod.annotations.get("leaderworkerset.sigs.k8s.io/size")) or 0
    # A worker's StatefulSet starts at ordinal 1, so its ordinal is the worker index that LWS's webhook writes.
    index = index_of(worker or pod.labels.get(STATEFUL_SET_INDEX))
    return Member("LeaderWorkerSet", named("lws", key), size, index, "leader" if index == 0 else "worker")


# ---- RoleBasedGroup -------------------------------------------------------------------------------------------------
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
    patched = any(at(pattern, field) is not None for field in TEMPLATE_PATCHES)
    yield Role(count(at(pattern, "size"), 1), None if patched else asks_of(template))


# ---- Grove, Dynamo --------------------------------------------------------------------------------------------------
def _pod_gang(pod: Subject) -> Member:
    index = index_of(pod.labels.get("grove.io/podclique-pod-index"))
    clique = _clique(pod)
    owner = pod.owner("PodCliqueSet")
    scaled = "grove.io/base-podgang" in pod.labels
    roles = read_once(owner, _scaled_cliques, clique) if scaled else read_once(owner, _cliques)
    return Member("PodCliqueSet", pod.labels["grove.io/podgang"], counted(roles), index, clique, roles=roles)


def _clique(pod: Subject) -> str:
    """Return a clique's name in its PodCliqueSet: a PodClique's is that behind its owner's name and number.

    Source: ai-dynamo/grove operator/api/common/namegen.go.
    """
    full = pod.labels.get("grove.io/podclique") or ""
    kind = "podcliquescalinggroup" if "grove.io/podcliquescalinggroup" in pod.labels else "podcliqueset"
    owner = pod.labels.get("app.kubernetes.io/part-of" if kind == "podcliqueset" else f"grove.io/{kind}")
    return full.removeprefix(f"{owner}-{pod.labels.get(f'grove.io/{kind}-replica-index')}-")


def _cliques(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the pods of a base gang: each clique, as often as its scaling group needs it at least; none if it scales.

    Source: ai-dynamo/grove operator/internal/controller/podcliqueset/components/podgang/syncflow.go.
    """
    times = {name: least for names, least in _scaling_groups(owner) for name in names}
    return _pods(owner, times)


def _scaled_cliques(owner: Mapping[str, Any] | None, clique: str) -> tuple[Role, ...]:
    """Return the pods of a gang beyond what a scaling group needs at least: its cliques, once each (syncflow.go)."""
    group = next((names for names, _ in _scaling_groups(owner) if clique in names), [])
    return _pods(owner, dict.fromkeys(group, 1), only=frozenset(group))


def _scaling_groups(owner: Mapping[str, Any] | None) -> Iterator[tuple[list[str], int]]:
    """Yield the names of the cliques of each scaling group, and how often they come at least."""
    for group in list_at(owner, "spec", "template", "podCliqueScalingGroups"):
        names = at(group, "cliqueNames")
        if isinstance(names, list):
            yield [str(name) for name in names], count(at(group, "minAvailable"), 1)


def _pods(
    owner: Mapping[str, Any] | None, times: Mapping[str, int], only: frozenset[str] | None = None
) -> tuple[Role, ...]:
    cliques = list_at(owner, "spec", "template", "cliques")
    roles: list[Role] = []
    for clique in cliques:
        name = text_at(clique, "name")
        if only is not None and name not in only:
            continue
        # Within a scaling group a clique does not scale by itself (syncflow.go determinePodCliqueReplicas).
        if at(clique, "spec", "autoScalingConfig") is not None and name not in times:
            return ()
        pods = count(at(clique, "spec", "replicas"), 1) * times.get(name, 1)
        roles.append(Role(pods, asks_in(at(clique, "spec", "podSpec"))))
    return tuple(roles)


# ---- KServe ---------------------------------------------------------------------------------------------------------
def _inference_service(pod: Subject) -> Member | None:
    """A model over several nodes: a Deployment of heads and one of workers, for each generation of the service.

    An LLMInferenceService over several nodes makes a LeaderWorkerSet.
    """
    service = pod.labels.get("serving.kserve.io/inferenceservice")
    if not service:
        return None
    role = "worker" if "worker-container" in {text(each.get("name")) for each in _containers(pod)} else "head"
    nodes = (_variable(each, "RAY_NODE_COUNT") for each in _containers(pod))
    size = next((found for found in map(number, nodes) if found), 0)
    return Member("InferenceService", named("isvc", f"{service}-{pod.labels['isvc.generation']}"), size, role=role)


def _containers(pod: Subject) -> Iterator[Mapping[str, Any]]:
    for field in RESOURCED_LISTS:
        yield from pod.spec.get(field) or ()


def _variable(container: Mapping[str, Any], name: str) -> str:
    """Return a variable's value; the environment is no part of a pod's checked shape."""
    env = container.get("env")
    found = (text_at(each, "value") for each in (env if isinstance(env, list) else ()) if at(each, "name") == name)
    return next(found, "")


ROLE_BASED_GROUPS: Final[tuple[Row, ...]] = tuple(
    Row(
        name=f"RoleBasedGroup ({version})",
        source=f"sgl-project/rbg {where}, api/workloads/{version}/helper.go",
        read=_role_based_group,
        size="the RoleBasedGroup: `replicas` of its roles, times the pods of one replica",
        sized_by=("RoleBasedGroup",),
        label=key,
        role_from="its label of the role's name",
        makers=(
            Maker(
                kind="workloads.x-k8s.io/RoleBasedGroup",
                title=f"RoleBasedGroup ({version})",
                keeps="the spec of routers without GPUs; the pod affinity that its controller writes for "
                f"`{exclusive}`; the group that it names for {grouped}",
                source="sgl-project/rbg pkg/reconciler/pod_reconciler.go, pkg/scheduler",
                templates=places,
            ),
        ),
    )
    for version, where, key, exclusive, grouped, places in (
        (
            "v1alpha2",
            "api/workloads/constants/label.go",
            "rbg.workloads.x-k8s.io/group-name",
            "rbg.workloads.x-k8s.io/group-exclusive-topology",
            "`rbg.workloads.x-k8s.io/group-gang-scheduling`",
            "`spec.roles.*` by its pattern, as `leaderWorkerPattern.template`, and `spec.roleTemplates.*.template`",
        ),
        (
            "v1alpha1",
            "api/workloads/v1alpha1/constant.go",
            "rolebasedgroup.workloads.x-k8s.io/name",
            "rolebasedgroup.workloads.x-k8s.io/exclusive-topology",
            "`spec.podGroupPolicy`",
            "`spec.roles.*.template`, `spec.roleTemplates.*.template`",
        ),
    )
)

LEADER_WORKER_SET: Final = Row(
    name="LeaderWorkerSet, and LLMInferenceService over several nodes, which makes one",
    source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go, pkg/webhooks/pod_webhook.go",
    read=_leader_worker_set,
    size="the annotation `leaderworkerset.sigs.k8s.io/size`",
    label="leaderworkerset.sigs.k8s.io/name",
    role_from="leader or worker, by the index",
    makers=(
        Maker(
            kind="leaderworkerset.x-k8s.io/LeaderWorkerSet",
            keeps="the spec of leaders without GPUs; the affinity of pods with "
            "`leaderworkerset.sigs.k8s.io/exclusive-topology` or `subgroup-exclusive-topology`, and the labels of "
            "group and index, which its webhook writes; the group that it names for Volcano",
            source="kubernetes-sigs/lws pkg/webhooks/pod_webhook.go, pkg/schedulerprovider/volcano_provider.go",
        ),
        Maker(
            kind="serving.kserve.io/LLMInferenceService",
            title="LLMInferenceService over several nodes (KServe)",
            keeps="the LeaderWorkerSet that KServe makes of it, one more for prefill, and holds to its own spec",
            source="kserve/kserve pkg/controller/v1alpha2/llmisvc/workload_multi_node.go",
        ),
    ),
)

GROVE: Final = Row(
    name="PodCliqueSet (Grove), and DynamoGraphDeployment, which makes one with Grove",
    source="ai-dynamo/grove operator/api/common/labels.go",
    read=_pod_gang,
    size="the PodCliqueSet: `replicas` of the gang's cliques, unless one autoscales",
    sized_by=("PodCliqueSet",),
    label="grove.io/podgang",
    role_from="the clique's name in label `grove.io/podclique`",
    makers=(
        Maker(
            kind="grove.io/PodCliqueSet",
            title="PodCliqueSet (Grove)",
            keeps="the gate `grove.io/podgang-pending-creation` and `schedulerName`, which Grove writes; for KAI the "
            "annotation `pod-group-name` and label `kai.scheduler/subgroup-name`, too: KAI places them",
            source="ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go buildResource, "
            "operator/internal/scheduler",
        ),
        Maker(
            kind="nvidia.com/DynamoGraphDeployment",
            title="DynamoGraphDeployment, with Grove",
            keeps="the spec of frontends without GPUs; the PodCliqueSet that Dynamo makes of it; `schedulerName` and "
            "queue, which it writes where KAI runs. Without Grove several nodes are LeaderWorkerSets",
            source="ai-dynamo/dynamo deploy/operator/internal/dynamo/{graph,grove}.go",
        ),
    ),
)

SERVING_ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="InferenceService over several nodes (KServe)",
        source="kserve/kserve pkg/constants/constants.go, pkg/controller/v1beta1/inferenceservice/components/"
        "predictor.go",
        read=_inference_service,
        size="the variable `RAY_NODE_COUNT` of its container",
        label="isvc.generation",
        role_from="the name of its container",
        makers=(
            Maker(
                kind="serving.kserve.io/InferenceService",
                title="InferenceService over several nodes (KServe)",
                keeps="its Deployments' templates, of which `pod-template-hash` is made; the variables that KServe "
                "writes",
                source="kserve/kserve pkg/controller/v1beta1/inferenceservice/components/predictor.go",
                templates="`spec.predictor`, `spec.predictor.workerSpec`",
            ),
        ),
    ),
)
