"""Facts about KubeRay: RayClusters, and the kinds that make RayClusters. A RayCluster's head and workers are a gang."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, list_at, unread
from ..dossier import TEMPLATE_ASKS, Dossier, Finished, KindNote, OwnerKind
from ..group_rules import GroupRules, items
from ..members import Member, Membership, Subject, index_of, named
from ..places import Found
from ..ray_clusters import CLUSTERS, ray_kind, ray_workers
from ..roles import Role, asks_of, counted, read_once
from ..starts import Start, StartingGang, all_of, none_of


def _ray_index(pod: Subject, groups: list[Any]) -> int:
    """Return a worker's index in its worker group; -1 for the head, and if the index is unknown.

    The index is that of the worker's replica. If a replica has several hosts, the index is the replica's index times
    the number of hosts, plus the host's index within the replica (ray-project/kuberay
    ray-operator/controllers/ray/common/pod.go DefaultWorkerPodTemplate).
    """
    replica = index_of(pod.labels.get("ray.io/worker-group-replica-index"))
    host = pod.labels.get("ray.io/replica-host-index")
    if host is None or replica < 0:
        return replica
    role = pod.labels.get("ray.io/group")
    hosts = next((count(at(each, "numOfHosts"), 1) for each in groups if at(each, "groupName") == role), 0)
    number_of = index_of(host)
    return replica * hosts + number_of if number_of >= 0 and (hosts or not replica) else -1


def _ray_cluster(pod: Subject) -> Member | None:
    """Return a pod's membership in a RayCluster; None for the pod of the cluster's clean-up Job.

    The size of an autoscaling cluster is unknown.
    """
    if pod.labels.get("ray.io/node-type") not in {"head", "worker"}:
        return None
    owner = pod.owner("RayCluster")
    groups = list_at(owner, "spec", "workerGroupSpecs")
    roles = read_once(owner, _ray_groups)
    identity = pod.controller.uid if pod.controller else pod.labels["ray.io/cluster"]
    index = _ray_index(pod, groups)
    return Member("RayCluster", named("raycluster", identity), counted(roles), index, roles=roles)


def _ray_groups(cluster: Mapping[str, Any] | None) -> tuple[Role, ...]:
    spec = at(cluster, "spec")
    if not isinstance(spec, Mapping) or spec.get("enableInTreeAutoscaling") is True:
        return ()
    head = Role(1, asks_of(at(spec, "headGroupSpec", "template")))
    groups = list_at(spec, "workerGroupSpecs")
    return (head, *map(_workers, groups))


def _workers(group: object) -> Role:
    said = (at(group, field) for field in ("replicas", "minReplicas", "maxReplicas", "numOfHosts"))
    return Role(ray_workers(group), asks_of(at(group, "template")), unread(*said))


def _minimums(document: Found) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each worker group whose ``minReplicas`` is above ``maxReplicas``.

    Source: ray-project/kuberay ray-operator/apis/ray/v1 WorkerGroupSpec.
    """
    base: tuple[str, ...] = ("spec", *CLUSTERS.get(str(document.get("kind")), ()))
    for index, group in items(at(document, *base, "workerGroupSpecs")):
        low, high = count(group.get("minReplicas")), group.get("maxReplicas")
        if high is not None and low > count(high):
            steps: Path = (*base, "workerGroupSpecs", index, "minReplicas")
            yield steps, f"got {low}, want {count(high)} at most, maxReplicas: the cluster cannot be scaled"


def _starts(gang: StartingGang) -> Start[Any]:
    """Return the pods of a RayCluster that start together: all pods, or none if the cluster autoscales."""
    owners = (owner for each in gang.pods for owner in each.template.owners.values())
    if any(at(owner, "spec", "enableInTreeAutoscaling") is True for owner in owners):
        return none_of(gang.pods)
    return all_of(gang.pods)


DOSSIER: Final = Dossier(
    name="KubeRay",
    versions={"ray-project/kuberay": "feeaf72f, after v1.6.2"},
    # ray-operator/controllers/ray/utils/constant.go, from v1.3 on
    refusals=frozenset({"FailedToCreateHeadPod", "FailedToCreateWorkerPod"}),
    kinds=(
        ray_kind("RayCluster"),
        ray_kind("RayJob", ("spec", "submitterPodTemplate")),
        ray_kind("RayCronJob", ("spec", "jobTemplate", "submitterPodTemplate")),
        ray_kind("RayService"),
    ),
    memberships=(
        Membership(
            name="RayCluster, and those of RayJob and RayService",
            source="ray-project/kuberay ray-operator/controllers/ray/utils/constant.go",
            read=_ray_cluster,
            size="the RayCluster: the head, and `replicas` times `numOfHosts` of its worker groups, held between "
            "`minReplicas` and `maxReplicas`, unless it autoscales",
            sized_by=("RayCluster",),
            label="ray.io/cluster",
            role="ray.io/group",
        ),
    ),
    pod_keys=frozenset({"ray.io/node-type", "ray.io/replica-host-index", "ray.io/worker-group-replica-index"}),
    notes=(
        KindNote(
            key="ray.io/cluster",
            kind="ray.io/RayCluster",
            keeps="the spec of heads without GPUs; one that autoscales joins no group; its spec, which KubeRay "
            "hashes for upgrades; `schedulerName` and group of KubeRay's batch scheduler",
            source="ray-project/kuberay ray-operator/controllers/ray/{raycluster_controller.go,batchscheduler}",
        ),
        KindNote(
            key="ray.io/cluster",
            kind="ray.io/RayJob",
            keeps="as of its RayCluster; the pod that submits, of a Job and without the label: it is no member",
            source="ray-project/kuberay ray-operator/controllers/ray/rayjob_controller.go getSubmitterTemplate",
        ),
        KindNote(
            key="ray.io/cluster",
            kind="ray.io/RayService",
            keeps="as of its RayClusters, of which an upgrade makes a second: a gang by itself; the label "
            "`ray.io/serve`, which KubeRay turns on running pods",
            source="ray-project/kuberay ray-operator/controllers/ray/rayservice_controller.go",
        ),
    ),
    owners=(
        OwnerKind(
            source="ray-project/kuberay ray-operator/apis/ray/v1/raycluster_types.go",
            group="ray.io",
            versions=("v1",),
            kind="RayCluster",
            spec={
                "enableInTreeAutoscaling": None,
                "headGroupSpec": {"template": TEMPLATE_ASKS},
                "workerGroupSpecs": {
                    ELEMENT: {
                        "groupName": None,
                        "replicas": None,
                        "minReplicas": None,
                        "maxReplicas": None,
                        "numOfHosts": None,
                        "suspend": None,
                        "template": TEMPLATE_ASKS,
                    }
                },
            },
        ),
    ),
    finished=(
        Finished(
            source="ray-project/kuberay ray-operator/apis/ray/v1/rayjob_types.go IsJobDeploymentTerminal",
            group="ray.io",
            kind="RayJob",
            field=("jobDeploymentStatus",),
            words=frozenset({"Complete", "Failed"}),
        ),
    ),
    group_rules=tuple(
        GroupRules(
            kind=("ray.io", kind),
            minimums=_minimums,
            # A RayService may have two clusters, while it replaces one: its pods are not one gang.
            starts=None if kind == "RayService" else _starts,
            fronts=frozenset({"head"}),
            # ray-project/kuberay ray-operator/controllers/ray/batchscheduler/volcano
            queue=("metadata", "labels", "volcano.sh/queue-name"),
        )
        for kind in ("RayCluster", "RayJob", "RayCronJob", "RayService")
    ),
)
