"""Pods of Jobs, StatefulSets, JobSets and TrainJobs, Volcano's Jobs and Spark applications, as they are made."""

from builders import container, gpu_container, gpu_pod, job_pod, owned, pod, workload
from podberth.wellknown import GANG_SIZE_ANNOTATION

from .case import JSON, Case


def of_job_set(role: str, index: int, *, jobs: int = 1, gpus: int = 8) -> JSON:
    """As labelAndAnnotateObject (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go), on a Job's pods."""
    said = {
        "jobset-name": "llama",
        "jobset-uid": "u",
        "replicatedjob-name": role,
        "replicatedjob-replicas": str(jobs),
        "job-index": "0",
        "job-key": "c0ffee",
        "restart-attempt": "0",
    }
    keys = {f"jobset.sigs.k8s.io/{key}": value for key, value in said.items()}
    return job_pod(index, gpus=gpus, labels=keys, annotations=keys)


def of_train_job(index: int) -> JSON:
    """As the JobSet of a TrainJob (kubeflow/trainer pkg/runtime/framework/plugins/jobset): its nodes are one Job."""
    made = of_job_set("node", index)
    made["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] = "trainer"
    return made


def of_volcano(task: str, index: int, gpus: int) -> JSON:
    """As createJobPod (volcano-sh/volcano pkg/controllers/job/job_controller_util.go)."""
    keys = {"volcano.sh/job-name": "mpi", "volcano.sh/task-spec": task, "volcano.sh/task-index": str(index)}
    group = {"scheduling.k8s.io/group-name": "mpi-u", "volcano.sh/job-version": "0"}
    made = gpu_pod(gpus, labels=keys, annotations={**keys, **group}, schedulerName="volcano")
    return owned(made, "Job", api_version="batch.volcano.sh/v1alpha1", name="mpi", uid="u")


def of_spark(role: str, number: int | None = None, *, operated: bool = True) -> JSON:
    """As BasicDriverFeatureStep and BasicExecutorFeatureStep (apache/spark resource-managers/kubernetes/core)."""
    labels = {
        "spark-app-selector": "spark-12f88a73cb544ce298deba34947226a4",
        "spark-role": role,
        **({"sparkoperator.k8s.io/app-name": "etl"} if operated else {}),
    }
    if number is None and not operated:
        return pod(container("spark-kubernetes-driver"), labels=labels)
    if number is None:
        driver = pod(container("spark-kubernetes-driver"), labels=labels)
        return owned(driver, "SparkApplication", api_version="sparkoperator.k8s.io/v1beta2", uid="u")
    executor = pod(gpu_container("spark-kubernetes-executor", 1), labels={**labels, "spark-exec-id": str(number)})
    return owned(executor, "Pod", api_version="v1", uid="driver")


def of_set(index: int) -> JSON:
    """As updateIdentity (kubernetes pkg/controller/statefulset/stateful_set_utils.go), with the user's annotation."""
    labels = {"apps.kubernetes.io/pod-index": str(index), "statefulset.kubernetes.io/pod-name": f"shard-{index}"}
    made = gpu_pod(8, labels=labels, annotations={GANG_SIZE_ANNOTATION: "4"})
    return owned(made, "StatefulSet", api_version="apps/v1", name="shard", uid="u")


def of_queued_set(index: int) -> JSON:
    """The same of a StatefulSet in a queue (kubernetes-sigs/kueue pkg/controller/jobs/statefulset)."""
    made = of_set(index)
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}
    return made


BATCH_CASES = (
    Case(
        maker="StatefulSet in a queue of Kueue",
        name="statefulset-u",
        size=3,
        source="StatefulSet",
        system="kueue",
        members=((of_queued_set(0), "", 0), (of_queued_set(2), "", 2)),
        owners={"u": workload("apps/v1", "StatefulSet", {"replicas": 3, "podManagementPolicy": "Parallel"})},
    ),
    Case(
        maker="JobSet",
        name="jobset-u",
        size=9,
        source="JobSet",
        members=(
            (of_job_set("launcher", 0, gpus=0), "launcher", 0),
            (of_job_set("workers", 3, jobs=2), "workers", 3),
        ),
        owners={
            "u": workload(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {
                    "replicatedJobs": [
                        {"name": "launcher", "template": {"spec": {}}},
                        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4}}},
                    ]
                },
            )
        },
    ),
    Case(
        maker="TrainJob (Trainer v2)",
        name="jobset-u",
        size=4,
        source="JobSet",
        members=((of_train_job(0), "node", 0), (of_train_job(3), "node", 3)),
        owners={
            "u": workload(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {"replicatedJobs": [{"name": "node", "template": {"spec": {"parallelism": 4, "completions": 4}}}]},
            )
        },
    ),
    Case(
        maker="Volcano Job",
        system="volcano",
        name="vcjob-u",
        size=3,
        source="VolcanoJob",
        members=((of_volcano("driver", 0, 0), "driver", 0), (of_volcano("worker", 1, 8), "worker", 1)),
        owners={
            "u": workload(
                "batch.volcano.sh/v1alpha1",
                "Job",
                {"tasks": [{"name": "driver", "replicas": 1}, {"name": "worker", "replicas": 2}]},
            )
        },
    ),
    Case(
        maker="SparkApplication",
        name="spark-12f88a73cb544ce298deba34947226a4",
        size=4,
        source="Spark",
        staged="spec.executor",
        members=((of_spark("driver"), "driver", -1), (of_spark("executor", 2), "executor", 1)),
        owners={
            "u": workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 3}}),
            "driver": owned(workload("v1", "Pod", {}), "SparkApplication", uid="u"),
        },
    ),
    Case(
        maker="spark-submit",
        name="spark-12f88a73cb544ce298deba34947226a4",
        size=0,
        source="Spark",
        members=(
            (of_spark("driver", operated=False), "driver", -1),
            (of_spark("executor", 2, operated=False), "executor", 1),
        ),
        owners={},
    ),
    Case(
        maker="Indexed Job",
        name="job-job-uid",
        size=4,
        source="Job",
        members=((job_pod(0), "", 0), (job_pod(3), "", 3)),
        owners={"job-uid": workload("batch/v1", "Job", {"parallelism": 4, "completions": 4})},
    ),
    Case(
        maker="StatefulSet that declares a gang",
        name="statefulset-u",
        size=4,
        source="StatefulSet",
        members=((of_set(0), "", 0), (of_set(3), "", 3)),
        owners={},
        alone=4,
    ),
)
