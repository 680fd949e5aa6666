"""Pods of Kubeflow's Training Operator and mpi-operator, and of KubeRay, as they are made."""

from collections.abc import Mapping

from builders import gpu_pod, owned, pod, workload

from .case import JSON, Case

# They seldom ask for a GPU (pkg/apis/kubeflow.org/v1/tensorflow_types.go): parameter servers and who evaluates.
_HELPERS = frozenset({"PS", "Evaluator"})


def of_kubeflow(
    kind: str, role: str, index: int, *, leads: bool = False, gpus: int = 8, api_version: str = "kubeflow.org/v1"
) -> JSON:
    """As createNewPod (kubeflow/training-operator pkg/controller.v1/common/pod.go)."""
    said = {
        "operator-name": f"{kind.lower()}-controller",
        "job-name": "bert",
        "replica-type": role,
        "replica-index": str(index),
    }
    if leads:
        said["job-role"] = "master"
    labels = {f"training.kubeflow.org/{key}": value for key, value in said.items()}
    return owned(gpu_pod(gpus, labels=labels), kind, api_version=api_version, name="bert", uid="u")


def of_kubeflow_kind(kind: str, field: str, leader: str, counts: Mapping[str, int]) -> Case:
    """A job of these roles, of each of which the last pod is a member; of the leading role the first."""
    members = []
    for role, replicas in counts.items():
        index = 0 if role == leader else replicas - 1
        made = of_kubeflow(kind, role.lower(), index, leads=role == leader, gpus=0 if role in _HELPERS else 8)
        members.append((made, role.lower(), index))
    roles = {role: {"replicas": replicas} for role, replicas in counts.items()}
    return Case(
        maker=kind,
        name=f"{kind.lower()}-u",
        size=sum(counts.values()),
        source=kind,
        members=tuple(members),
        owners={"u": workload("kubeflow.org/v1", kind, {field: roles})},
    )


def of_mpi(role: str, index: int | None = None) -> JSON:
    """As newWorker and newLauncherJob (kubeflow/mpi-operator pkg/controller/mpi_job_controller.go)."""
    said = {"operator-name": "mpi-operator", "job-name": "bert", "job-role": role}
    if index is not None:
        said["replica-index"] = str(index)
    labels = {f"training.kubeflow.org/{key}": value for key, value in said.items()}
    if role == "launcher":
        return owned(pod(labels=labels), "Job", name="bert-launcher", uid="launcher")
    return owned(gpu_pod(8, labels=labels), "MPIJob", api_version="kubeflow.org/v2beta1", name="bert", uid="u")


def of_ray(group: str, gpus: int, *, cluster: str = "ray", uid: str = "u", **labels: str) -> JSON:
    """As labelPod (ray-project/kuberay ray-operator/controllers/ray/common/pod.go)."""
    kind = "head" if group == "headgroup" else "worker"
    said = {
        "ray.io/cluster": cluster,
        "ray.io/group": group,
        "ray.io/identifier": f"{cluster}-{kind}",
        "ray.io/is-ray-node": "yes",
        "ray.io/node-type": kind,
        **labels,
    }
    return owned(gpu_pod(gpus, labels=said), "RayCluster", api_version="ray.io/v1", name=cluster, uid=uid)


def of_ray_kind(kind: str, uid: str) -> Case:
    """A cluster that a RayJob or a RayService makes (constructRayClusterForRayJob, -Service), and owns."""
    serves = kind == "RayService"
    cluster = workload("ray.io/v1", "RayCluster", {"workerGroupSpecs": [{"groupName": "gpus", "replicas": 3}]})
    # Whether a head serves KubeRay says later (ray-operator/controllers/ray/common/pod.go BuildPod).
    head = of_ray("headgroup", 0, cluster=f"made-{uid}", uid=uid, **({"ray.io/serve": "false"} if serves else {}))
    worker = of_ray("gpus", 8, cluster=f"made-{uid}", uid=uid, **({"ray.io/serve": "true"} if serves else {}))
    return Case(
        maker=kind,
        name=f"raycluster-{uid}",
        size=4,
        source="RayCluster",
        members=((head, "headgroup", -1), (worker, "gpus", -1)),
        owners={uid: owned(cluster, kind, api_version="ray.io/v1", name="made", uid="maker")},
    )


def of_ray_submitter() -> JSON:
    """As getSubmitterTemplate and createNewK8sJob (ray-operator/controllers/ray/rayjob_controller.go)."""
    labels = {
        "app.kubernetes.io/created-by": "kuberay-operator",
        "ray.io/originated-from-cr-name": "tune",
        "ray.io/originated-from-crd": "RayJob",
    }
    return owned(pod(labels=labels), "Job", name="tune", uid="submitter")


def of_ascend(role: str, index: int) -> JSON:
    """As setPodLabels and setGangScheduleInfo (Ascend/mind-cluster component/ascend-operator pkg/controllers/v1)."""
    made = of_kubeflow("AscendJob", role, index, leads=role == "master", gpus=0, api_version="mindxdl.gitee.com/v1")
    made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "bert-u", "volcano.sh/task-spec": role}
    made["spec"]["schedulerName"] = "volcano"
    return made


TRAINING_CASES = (
    Case(
        maker="AscendJob",
        name="ascendjob-u",
        size=3,
        source="AscendJob",
        system="volcano",
        members=((of_ascend("master", 0), "master", 0), (of_ascend("worker", 1), "worker", 1)),
        owners={
            "u": workload(
                "mindxdl.gitee.com/v1", "AscendJob", {"replicaSpecs": {"Master": {}, "Worker": {"replicas": 2}}}
            )
        },
    ),
    of_kubeflow_kind("PyTorchJob", "pytorchReplicaSpecs", "Master", {"Master": 1, "Worker": 2}),
    of_kubeflow_kind("TFJob", "tfReplicaSpecs", "Chief", {"Chief": 1, "PS": 2, "Worker": 4, "Evaluator": 1}),
    of_kubeflow_kind("XGBoostJob", "xgbReplicaSpecs", "Master", {"Master": 1, "Worker": 2}),
    of_kubeflow_kind("PaddleJob", "paddleReplicaSpecs", "Master", {"Master": 1, "Worker": 2}),
    # No role leads but by its index (jaxjob_controller.go IsMasterRole).
    of_kubeflow_kind("JAXJob", "jaxReplicaSpecs", "Worker", {"Worker": 3}),
    Case(
        maker="MPIJob",
        name="mpijob-bert",
        size=3,
        source="MPIJob",
        members=((of_mpi("launcher"), "launcher", -1), (of_mpi("worker", 1), "worker", 1)),
        owners={
            "u": workload(
                "kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 2}}}
            ),
            "launcher": owned(workload("batch/v1", "Job", {}), "MPIJob", uid="u"),
        },
    ),
    Case(
        maker="RayCluster",
        name="raycluster-u",
        size=9,
        source="RayCluster",
        members=((of_ray("headgroup", 0), "headgroup", -1), (of_ray("gpus", 8), "gpus", -1)),
        owners={
            "u": workload(
                "ray.io/v1",
                "RayCluster",
                {"workerGroupSpecs": [{"groupName": "gpus", "replicas": 2, "numOfHosts": 4}]},
            )
        },
    ),
    of_ray_kind("RayJob", "of-job"),
    # While a RayService is upgraded it has two clusters, each of which is a gang.
    of_ray_kind("RayService", "active"),
    of_ray_kind("RayService", "pending"),
)
