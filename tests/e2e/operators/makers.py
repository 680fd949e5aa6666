"""Whose gangs are made by a controller that runs here: the control plane's own, or an operator's published module."""

from collections.abc import Callable
from dataclasses import dataclass

from .gangs import MEMBERS, POOLS, Document, Gang, named, size_said, template


@dataclass(frozen=True, slots=True)
class Maker:
    """One kind of workload."""

    title: str
    plural: str
    """With version and group, as the API's path has them: "batch/v1/jobs"."""
    workload: Callable[[Gang], Document]
    size: int = MEMBERS
    """All pods of a gang, those without GPUs too."""


def _job(gang: Gang) -> Document:
    return named("batch/v1", "Job", gang.name, _job_spec(gang))


def _job_spec(gang: Gang, count: int = MEMBERS, *, gpus: bool = True) -> Document:
    made = template(gang, gpus=gpus, restartPolicy="Never")
    return {"completionMode": "Indexed", "parallelism": count, "completions": count, "template": made}


def _stateful_set(gang: Gang) -> Document:
    labels, made = {"app": gang.name}, template(gang)
    made["metadata"] = {"labels": labels, "annotations": size_said(MEMBERS)}
    spec = {
        "replicas": MEMBERS,
        "serviceName": gang.name,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": made,
    }
    return named("apps/v1", "StatefulSet", gang.name, spec)


def _pytorch_job(gang: Gang) -> Document:
    roles = {
        role: {"replicas": count, "template": template(gang, container="pytorch")}
        for role, count in (("Master", 1), ("Worker", MEMBERS - 1))
    }
    return named("kubeflow.org/v1", "PyTorchJob", gang.name, {"pytorchReplicaSpecs": roles})


def _mpi_job(gang: Gang) -> Document:
    roles = {
        "Launcher": {"replicas": 1, "template": template(gang, gpus=False, container="mpi")},
        "Worker": {"replicas": MEMBERS, "template": template(gang, container="mpi")},
    }
    return named("kubeflow.org/v1", "MPIJob", gang.name, {"mpiReplicaSpecs": roles})


def _job_set(gang: Gang) -> Document:
    jobs = [
        {"name": "driver", "template": {"spec": _job_spec(gang, 1, gpus=False)}},
        {"name": "workers", "template": {"spec": _job_spec(gang)}},
    ]
    return named("jobset.x-k8s.io/v1alpha2", "JobSet", gang.name, {"replicatedJobs": jobs})


def _train_job(gang: Gang) -> Document:
    spec = {"runtimeRef": {"name": gang.pool.name}, "trainer": {"numNodes": MEMBERS}}
    return named("trainer.kubeflow.org/v1alpha1", "TrainJob", gang.name, spec)


def training_runtimes() -> list[Document]:
    """Return what TrainJobs refer to: one runtime for each pool, as torch_distributed.yaml of kubeflow/trainer is."""
    found = []
    for pool in POOLS:
        job = {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": template(Gang("", pool), container="node")},
        }
        spec = {
            "mlPolicy": {"numNodes": 1, "torch": {}},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}},
        }
        found.append(named("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", pool.name, spec))
    return found


JOB = Maker("Indexed Job", "batch/v1/jobs", _job)
BUILT_IN = (JOB, Maker("StatefulSet that declares a gang", "apps/v1/statefulsets", _stateful_set))
OF_TRAINING_OPERATOR = (
    Maker("PyTorchJob", "kubeflow.org/v1/pytorchjobs", _pytorch_job),
    Maker("MPIJob with its launcher", "kubeflow.org/v1/mpijobs", _mpi_job, MEMBERS + 1),
)
OF_TRAINER = (
    Maker("JobSet with a driver", "jobset.x-k8s.io/v1alpha2/jobsets", _job_set, MEMBERS + 1),
    Maker("TrainJob", "trainer.kubeflow.org/v1alpha1/trainjobs", _train_job),
)
