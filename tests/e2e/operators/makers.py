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
    of: str = ""
    """Its name in the operators' rows (`podberth.workload`), where the title says more."""

    @property
    def row(self) -> str:
        """Its name in the operators' rows, by which docs/systems.md says that it is proved here."""
        return self.of or self.title


def _job(gang: Gang) -> Document:
    spec = _job_spec(gang)
    # By it the pods find each other; those of a Job without it are tasks, and no gang.
    spec["template"]["spec"]["subdomain"] = gang.name
    return named("batch/v1", "Job", gang.name, spec)


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


def _kubeflow(kind: str, framework: str, helper: str = "", **counts: int) -> Callable[[Gang], Document]:
    """Return what makes jobs of one kind: so many pods of each role, and one without a GPU where there is a helper."""
    helpers = {helper: 1} if helper else {}

    def job(gang: Gang) -> Document:
        roles = {
            role: {"replicas": count, "template": template(gang, gpus=role != helper, container=framework)}
            for role, count in {**helpers, **counts}.items()
        }
        return named("kubeflow.org/v1", kind, gang.name, {_FIELDS[kind]: roles})

    return job


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
_FIELDS = {
    "MPIJob": "mpiReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
_PYTORCH = _kubeflow("PyTorchJob", "pytorch", Master=1, Worker=MEMBERS - 1)
_TF = _kubeflow("TFJob", "tensorflow", "PS", Chief=1, Worker=MEMBERS - 1)
_XGBOOST = _kubeflow("XGBoostJob", "xgboost", Master=1, Worker=MEMBERS - 1)
_PADDLE = _kubeflow("PaddleJob", "paddle", Master=1, Worker=MEMBERS - 1)
_MPI = _kubeflow("MPIJob", "mpi", "Launcher", Worker=MEMBERS)
OF_TRAINING_OPERATOR = (
    Maker("PyTorchJob", "kubeflow.org/v1/pytorchjobs", _PYTORCH),
    Maker("TFJob with a parameter server", "kubeflow.org/v1/tfjobs", _TF, MEMBERS + 1, "TFJob"),
    Maker("XGBoostJob", "kubeflow.org/v1/xgboostjobs", _XGBOOST),
    Maker("PaddleJob", "kubeflow.org/v1/paddlejobs", _PADDLE),
    Maker("MPIJob with its launcher", "kubeflow.org/v1/mpijobs", _MPI, MEMBERS + 1, "MPIJob"),
)
OF_TRAINER = (
    Maker("JobSet with a driver", "jobset.x-k8s.io/v1alpha2/jobsets", _job_set, MEMBERS + 1, "JobSet"),
    Maker("TrainJob", "trainer.kubeflow.org/v1alpha1/trainjobs", _train_job, of="TrainJob (Trainer v2)"),
)
RUN_HERE = (*BUILT_IN, *OF_TRAINING_OPERATOR, *OF_TRAINER)
