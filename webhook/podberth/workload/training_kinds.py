"""Kinds of distributed training: Kubeflow's Training Operator and mpi-operator, Ray, LeaderWorkerSet."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Found, Place, Scene, WorkloadKind
from ..kinds.roles import Foretold, read_once
from ..kinds.stamping import add_annotations, add_labels, own, owned_by_workload, set_name
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, count, mapping_at, text
from .batch_kinds import ANY_KEY, item_replicas
from .core_kinds import stamp_job
from .operators import ray_workers

_TRAINING: Final = "training.kubeflow.org"


# ---- Training Operator v1 and mpi-operator --------------------------------------------------------------------------
def _restart_policy(pod: dict[str, Any], scene: Scene) -> None:
    policy = text(scene.item.get("restartPolicy"))
    if policy:
        pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy


def _stamp_kubeflow(pod: dict[str, Any], scene: Scene) -> None:
    """As createNewPod (kubeflow/training-operator pkg/controller.v1/common/pod.go) for a role's first pod."""
    kind, role = text(scene.document.get("kind")), scene.key.lower()
    labels = {
        "operator-name": f"{kind.lower()}-controller",
        "job-name": scene.name,
        "replica-type": role,
        "replica-index": "0",
    }
    if role in {"master", "chief", "launcher"}:
        labels["job-role"] = "launcher" if role == "launcher" else "master"
    add_labels(pod, {f"{_TRAINING}/{key}": value for key, value in labels.items()})
    owned_by_workload(pod, scene)
    set_name(pod, f"{scene.name}-{role}-0")
    _restart_policy(pod, scene)


def _stamp_mpi(pod: dict[str, Any], scene: Scene) -> None:
    """As newWorker and newLauncherJob do (kubeflow/mpi-operator pkg/controller/mpi_job_controller.go)."""
    role = scene.key.lower()
    name = f"{scene.name}-{role}"
    add_labels(
        pod,
        {
            f"{_TRAINING}/operator-name": "mpi-operator",
            f"{_TRAINING}/job-name": scene.name,
            f"{_TRAINING}/job-role": role,
        },
    )
    _restart_policy(pod, scene)
    pod["spec"]["subdomain"] = scene.name
    if role == "launcher":
        pod["spec"]["hostname"] = name
        stamp_job(pod, name, PLACEHOLDER_UID, {})
        return
    add_labels(pod, {f"{_TRAINING}/replica-index": "0"})
    owned_by_workload(pod, scene)
    set_name(pod, f"{name}-0")
    pod["spec"]["hostname"] = f"{name}-0"


def _kubeflow_kind(kind: str, field: str, *versions: str) -> WorkloadKind:
    places = [Place(path=("spec", field, ELEMENT, "template"), stamp=_stamp_kubeflow, replicas=item_replicas)]
    if "v1alpha1" in versions:
        old = Place(path=("spec", "replicaSpecs", ELEMENT, "template"), stamp=_stamp_kubeflow, replicas=item_replicas)
        places.append(old)
    return WorkloadKind(
        api_versions=frozenset(f"kubeflow.org/{version}" for version in versions),
        kind=kind,
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1",
        places=tuple(places),
    )


# ---- Ray ------------------------------------------------------------------------------------------------------------
CLUSTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "RayClusterFleet": ("template", "spec"),
    "RayClusterReplicaSet": ("template", "spec"),
    "RayCronJob": ("jobTemplate", "rayClusterSpec"),
    "RayJob": ("rayClusterSpec",),
    "RayService": ("rayClusterConfig",),
}
"""From the spec of what makes RayClusters to that of the cluster."""


def _cluster_path(scene: Scene) -> tuple[str, ...]:
    return CLUSTERS.get(str(scene.document.get("kind")), ())


def _cluster(scene: Scene) -> Found:
    """Return the RayCluster that a RayJob, a RayService or another makes, or the RayCluster itself."""
    below = _cluster_path(scene)
    return read_once(scene.document, _cluster_of, _cluster_name(scene), *below) if below else scene.document


def _cluster_of(document: Found, name: str, *below: str) -> Found:
    metadata = {"name": name, "labels": at(document, "metadata", "labels")}
    spec = mapping_at(document, "spec", *below)
    return Foretold({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec})


def _cluster_name(scene: Scene) -> str:
    return f"{scene.name}-{PLACEHOLDER_HASH}" if _cluster_path(scene) else scene.name


def _stamp_ray(pod: dict[str, Any], scene: Scene) -> None:
    """As BuildPod and its labels (ray-project/kuberay ray-operator/controllers/ray/common/pod.go)."""
    head = scene.path[-2] == "headGroupSpec"
    group = "headgroup" if head else text(scene.item.get("groupName"))
    name = _cluster_name(scene)
    node_type = "head" if head else "worker"
    add_labels(
        pod,
        {
            "app.kubernetes.io/created-by": "kuberay-operator",
            "app.kubernetes.io/name": "kuberay",
            "ray.io/cluster": name,
            "ray.io/group": group,
            "ray.io/identifier": f"{name}-{node_type}",
            "ray.io/is-ray-node": "yes",
            "ray.io/node-type": node_type,
        },
    )
    own(pod, "ray.io/v1", "RayCluster", name, PLACEHOLDER_UID if _cluster_path(scene) else scene.uid)


def _workers(scene: Scene) -> int:
    if mapping_at(_cluster(scene), "spec").get("enableInTreeAutoscaling") is True:
        return 0
    return ray_workers(scene.item)


def _stamp_submitter(pod: dict[str, Any], scene: Scene) -> None:
    """As the Job that submits (ray-operator/controllers/ray/rayjob_controller.go)."""
    stamp_job(pod, scene.name, PLACEHOLDER_UID, {})


def _ray_kind(kind: str, submitter: tuple[str, ...] = ()) -> WorkloadKind:
    path = ("spec", *CLUSTERS.get(kind, ()))
    places = [
        Place(path=(*path, "headGroupSpec", "template"), stamp=_stamp_ray, role="head", owner=_cluster, optional=True),
        Place(
            path=(*path, "workerGroupSpecs", ELEMENT, "template"), stamp=_stamp_ray, replicas=_workers, owner=_cluster
        ),
    ]
    if submitter:
        places.append(Place(path=submitter, stamp=_stamp_submitter, role="submitter", optional=True))
    return WorkloadKind(
        api_versions=frozenset({"ray.io/v1", "ray.io/v1alpha1"}),
        kind=kind,
        source="ray-project/kuberay ray-operator/apis/ray/v1",
        places=tuple(places),
    )


# ---- LeaderWorkerSet ------------------------------------------------------------------------------------------------
_LWS: Final = "leaderworkerset.sigs.k8s.io"


def stamp_group(pod: dict[str, Any], name: str, size: int, *, leader: bool) -> None:
    """As for the first group (kubernetes-sigs/lws pkg/controllers/leaderworkerset_controller.go, pod_controller.go)."""
    add_labels(
        pod,
        {
            f"{_LWS}/name": name,
            f"{_LWS}/group-index": "0",
            f"{_LWS}/group-key": ANY_KEY,
            f"{_LWS}/worker-index": "0" if leader else "1",
            f"{_LWS}/template-revision-hash": PLACEHOLDER_HASH,
        },
    )
    add_annotations(pod, {f"{_LWS}/size": str(size)})
    stateful_set = name if leader else f"{name}-0"
    if not leader:
        add_annotations(pod, {f"{_LWS}/leader-name": stateful_set})
    own(pod, "apps/v1", "StatefulSet", stateful_set, PLACEHOLDER_UID)
    pod["metadata"]["name"] = f"{stateful_set}-{0 if leader else 1}"


def _group_size(scene: Scene) -> int:
    return count(at(scene.spec, "leaderWorkerTemplate", "size"), 1)


def _groups(scene: Scene) -> int:
    return count(scene.spec.get("replicas"), 1)


def _stamp_leader_worker_set(pod: dict[str, Any], scene: Scene) -> None:
    for key in ("exclusive-topology", "subgroup-exclusive-topology"):
        said = at(scene.document, "metadata", "annotations", f"{_LWS}/{key}")
        if isinstance(said, str):
            add_annotations(pod, {f"{_LWS}/{key}": said})
    stamp_group(pod, scene.name, _group_size(scene), leader=scene.path[-1] == "leaderTemplate")


def _worker_pods(scene: Scene) -> int:
    """Return the workers of all groups, and their leaders where these are made of the same template."""
    leaders = at(scene.spec, "leaderWorkerTemplate", "leaderTemplate") is not None
    return _groups(scene) * max(_group_size(scene) - leaders, 0)


def _lws_places() -> Iterator[Place]:
    base = ("spec", "leaderWorkerTemplate")
    stamp = _stamp_leader_worker_set
    yield Place(path=(*base, "leaderTemplate"), stamp=stamp, optional=True, role="leader", replicas=_groups)
    yield Place(path=(*base, "workerTemplate"), stamp=stamp, role="worker", replicas=_worker_pods)


TRAINING_KINDS: Final[tuple[WorkloadKind, ...]] = (
    _kubeflow_kind("PyTorchJob", "pytorchReplicaSpecs", "v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1"),
    _kubeflow_kind("TFJob", "tfReplicaSpecs", "v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1"),
    _kubeflow_kind("XGBoostJob", "xgbReplicaSpecs", "v1", "v1alpha1"),
    _kubeflow_kind("PaddleJob", "paddleReplicaSpecs", "v1"),
    _kubeflow_kind("JAXJob", "jaxReplicaSpecs", "v1"),
    _kubeflow_kind("MPIJob", "mpiReplicaSpecs", "v1"),
    WorkloadKind(
        api_versions=frozenset(f"kubeflow.org/{version}" for version in ("v2beta1", "v2", "v1alpha2")),
        kind="MPIJob",
        source="kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go",
        places=(
            Place(
                path=("spec", "mpiReplicaSpecs", ELEMENT, "template"),
                stamp=_stamp_mpi,
                replicas=item_replicas,
                lacks=frozenset({"schedulingGroup"}),
            ),
        ),
    ),
    _ray_kind("RayCluster"),
    _ray_kind("RayJob", ("spec", "submitterPodTemplate")),
    _ray_kind("RayCronJob", ("spec", "jobTemplate", "submitterPodTemplate")),
    _ray_kind("RayService"),
    *(
        replace(
            _ray_kind(kind),
            api_versions=frozenset({"orchestration.aibrix.ai/v1alpha1"}),
            source=f"vllm-project/aibrix api/orchestration/v1alpha1/{kind.lower()}_types.go",
        )
        for kind in ("RayClusterFleet", "RayClusterReplicaSet")
    ),
    WorkloadKind(
        api_versions=frozenset({"leaderworkerset.x-k8s.io/v1"}),
        kind="LeaderWorkerSet",
        source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go",
        places=tuple(_lws_places()),
    ),
)
KUBEFLOW_KINDS: Final = frozenset(
    row.kind for row in TRAINING_KINDS if any(version.startswith("kubeflow.org/") for version in row.api_versions)
)
"""Of Training Operator v1 and mpi-operator: all have roles with replicas, and a ``runPolicy``."""
