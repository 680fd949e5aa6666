"""Whose gangs are made by a controller that runs here: the control plane's own, or an operator's published module."""

from collections.abc import Callable
from dataclasses import dataclass

from .gangs import MEMBERS, POOLS, Document, Gang, named, template


@dataclass(frozen=True, slots=True)
class Maker:
    """One kind of workload."""

    title: str
    plural: str
    """With version and group, as the API's path has them: "batch/v1/jobs"."""
    workload: Callable[[Gang], Document]
    size: int = MEMBERS
    """All pods of a gang, those without GPUs too."""
    of: str = ""
    """Its name in the operators' rows (`podberth.workload`), where the title says more."""

    @property
    def row(self) -> str:
        """Its name in the operators' rows, by which docs/systems.md says that it is proved here."""
        return self.of or self.title


def _job(gang: Gang) -> Document:
    return named("batch/v1", "Job", gang.name, _job_spec(gang))


def _job_spec(gang: Gang, size: int = MEMBERS, count: int = MEMBERS, *, gpus: bool = True) -> Document:
    made = template(gang, size, gpus=gpus, restartPolicy="Never")
    return {"completionMode": "Indexed", "parallelism": count, "completions": count, "template": made}


def _stateful_set(gang: Gang) -> Document:
    labels, made = {"app": gang.name}, template(gang)
    made["metadata"]["labels"] = labels
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
        "Launcher": {"replicas": 1, "template": template(gang, MEMBERS + 1, gpus=False, container="mpi")},
        "Worker": {"replicas": MEMBERS, "template": template(gang, MEMBERS + 1, container="mpi")},
    }
    return named("kubeflow.org/v1", "MPIJob", gang.name, {"mpiReplicaSpecs": roles})


def _job_set(gang: Gang) -> Document:
    jobs = [
        {"name": "driver", "template": {"spec": _job_spec(gang, MEMBERS + 1, 1, gpus=False)}},
        {"name": "workers", "template": {"spec": _job_spec(gang, MEMBERS + 1)}},
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
    Maker("MPIJob with its launcher", "kubeflow.org/v1/mpijobs", _mpi_job, MEMBERS + 1, "MPIJob"),
)
OF_TRAINER = (
    Maker("JobSet with a driver", "jobset.x-k8s.io/v1alpha2/jobsets", _job_set, MEMBERS + 1, "JobSet"),
    Maker("TrainJob", "trainer.kubeflow.org/v1alpha1/trainjobs", _train_job, of="TrainJob (Trainer v2)"),
)
RUN_HERE = (*BUILT_IN, *OF_TRAINING_OPERATOR, *OF_TRAINER)
