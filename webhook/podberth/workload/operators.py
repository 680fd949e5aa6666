"""Gangs that an operator or a controller of Kubernetes' own makes: one row for each, by the keys on its pods.

What stands on the pod comes first; the owner is read for the size where a snapshot has it. ReplicaSets, DaemonSets,
StatefulSets that say nothing, and the steps of an Argo workflow, each a pod by itself, make no gangs, and so have no
row; what a step creates (a JobSet, a PyTorchJob) has its own. Those that serve a model are in ``serving_operators``.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.members import Maker, Member, Row, Subject, completion_index, index_of, job_pods, named, ordinal
from ..kinds.roles import Role, asks_of, counted, read_once
from ..kube.unchecked import LARGEST_SIZE, at, count, list_at, number
from ..wellknown import GANG_SIZE_ANNOTATION, JOB_COMPLETION_INDEX
from .serving_operators import GROVE, LEADER_WORKER_SET, ROLE_BASED_GROUPS, SERVING_ROWS
from .stages import SPARK_EXECUTORS, stages_of


def _job_set(pod: Subject) -> Member:
    uid, name = (pod.labels.get(f"jobset.sigs.k8s.io/jobset-{field}") or "" for field in ("uid", "name"))
    owner = pod.labelled_owner("jobset.x-k8s.io", "JobSet", name, uid) or pod.owner("JobSet")
    jobs = list_at(owner, "spec", "replicatedJobs")
    roles = read_once(owner, _replicated_jobs)
    index = _replicated_index(pod, jobs)
    return Member("JobSet", named("jobset", uid or name), counted(roles), index, staged=stages_of(owner), roles=roles)


def _replicated_jobs(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    return tuple(map(_replicated_job, list_at(owner, "spec", "replicatedJobs")))


def _replicated_index(pod: Subject, jobs: list[Any]) -> int:
    """Return the pod's number among all Jobs of its replicated job: each of them numbers its own from 0.

    Of the first Job, as of the only one, these are the same.
    """
    index, job = completion_index(pod), index_of(pod.labels.get("jobset.sigs.k8s.io/job-index"))
    if index < 0 or job == 0 or pod.labels.get("jobset.sigs.k8s.io/replicatedjob-replicas") == "1":
        return index
    role = pod.labels.get("jobset.sigs.k8s.io/replicatedjob-name")
    templates = (at(each, "template", "spec") for each in jobs if at(each, "name") == role)
    spec = at(pod.owner("Job"), "spec") or next(templates, None)
    if job < 0 or not isinstance(spec, Mapping):
        return -1
    return job * count(spec.get("completions"), count(spec.get("parallelism"), 1)) + index


def _replicated_job(job: object) -> Role:
    pods = count(at(job, "replicas"), 1) * job_pods(at(job, "template", "spec"))
    return Role(pods, asks_of(at(job, "template", "spec", "template")))


_KUBEFLOW_GROUP: Final = "kubeflow.org"


def _kubeflow(pod: Subject) -> Member:
    """A job of Training Operator v1, or of mpi-operator, whose launcher is a Job's pod and its workers are its own."""
    job = pod.labels["training.kubeflow.org/job-name"]
    # mpi-operator has no replica types; what Training Operator calls job-role marks one pod of a type.
    role = pod.labels.get("training.kubeflow.org/replica-type") or pod.labels.get("training.kubeflow.org/job-role")
    index = index_of(pod.labels.get("training.kubeflow.org/replica-index"))
    controller = pod.controller
    if controller is not None and controller.group == _KUBEFLOW_GROUP and controller.kind != "MPIJob":
        roles = read_once(pod.owner(controller.kind), _replica_specs)
        name = named(controller.kind.lower(), controller.uid)
        return Member(controller.kind, name, counted(roles), index, role or "", roles=roles)
    # Launcher and workers have no owner in common that both could name.
    roles = read_once(pod.owner("MPIJob"), _replica_specs)
    return Member("MPIJob", named("mpijob", job), counted(roles), index, role or "", roles=roles)


def _replica_specs(job: Mapping[str, Any] | None) -> tuple[Role, ...]:
    spec = at(job, "spec")
    for key, roles in spec.items() if isinstance(spec, Mapping) else ():
        if str(key).endswith("ReplicaSpecs") and isinstance(roles, Mapping):
            return tuple(map(_replicas, roles.values()))
    return ()


def _replicas(part: object) -> Role:
    return Role(count(at(part, "replicas"), 1), asks_of(at(part, "template")))


def _volcano_job(pod: Subject) -> Member:
    name = pod.labels.get("volcano.sh/job-name") or pod.annotations.get("volcano.sh/job-name") or ""
    roles = read_once(pod.owner("Job"), _tasks)
    index = pod.labels.get("volcano.sh/task-index") or pod.annotations.get("volcano.sh/task-index")
    role = pod.labels.get("volcano.sh/task-spec") or pod.annotations.get("volcano.sh/task-spec") or ""
    identity = pod.controller.uid if pod.controller else name
    return Member("VolcanoJob", named("vcjob", identity), counted(roles), index_of(index), role, roles=roles)


def _tasks(job: Mapping[str, Any] | None) -> tuple[Role, ...]:
    return tuple(map(_replicas, list_at(job, "spec", "tasks")))


def ray_workers(group: object) -> int:
    """Return the pods of a worker group, whose replicas are held between their bounds; one that is suspended has none.

    Source: ray-project/kuberay ray-operator/controllers/ray/utils/util.go GetWorkerGroupDesiredReplicas.
    """
    if at(group, "suspend") is True:
        return 0
    least, most = count(at(group, "minReplicas")), count(at(group, "maxReplicas"), LARGEST_SIZE)
    said = count(at(group, "replicas"))
    return (least if said < least else min(said, most)) * count(at(group, "numOfHosts"), 1)


def _ray_index(pod: Subject, groups: list[Any]) -> int:
    """Return a worker's number in its group; the head has none.

    A replica of several hosts has a number, and each host one in its replica
    (ray-project/kuberay ray-operator/controllers/ray/common/pod.go DefaultWorkerPodTemplate).
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
    """A RayCluster's head or worker. One that autoscales has no size, and its clean-up Job is no member."""
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
    return (head, *(Role(ray_workers(group), asks_of(at(group, "template"))) for group in groups))


# kubeflow/spark-operator pkg/common/spark.go LabelSparkAppName: on drivers and executors alike.
_SPARK_OPERATORS: Final = "sparkoperator.k8s.io/app-name"


def _spark_application(pod: Subject) -> Member | None:
    """A Spark application's driver or executor. The executors belong to the driver's pod, which is seldom known.

    One with dynamic allocation has no size. Executors are numbered from 1, over the application's whole life.
    spark-operator puts its object's name on all of them (internal/controller/sparkapplication/submission.go).
    """
    role = pod.labels.get("spark-role") or ""
    if role not in {"driver", "executor"}:
        return None
    app = pod.labels.get(_SPARK_OPERATORS)
    spec = at(pod.owner("SparkApplication") or pod.named_owner("SparkApplication", app), "spec")
    size = 0
    if isinstance(spec, Mapping) and at(spec, "dynamicAllocation", "enabled") is not True:
        size = 1 + count(at(spec, "executor", "instances"), 1)
    number_of = number(pod.labels.get("spark-exec-id")) or 0
    staged = SPARK_EXECUTORS if _SPARK_OPERATORS in pod.labels else ""
    return Member("Spark", pod.labels["spark-app-selector"], size, number_of - 1, role, staged)


def _indexed_job(pod: Subject) -> Member | None:
    """An Indexed Job. One that works through more completions than run at once is a queue of tasks, not a gang.

    Kubernetes' own Job controller draws the same line (KEP-5547: Indexed, and parallelism equal to completions). It
    makes no more pods than there are completions (pkg/controller/job/job_controller.go manageJob).
    """
    if pod.controller is None or pod.controller.kind != "Job":
        return None
    # Before a CronJob has made its first Job, the CronJob's template stands for it.
    spec = at(pod.owner("Job"), "spec") or at(pod.owner("CronJob"), "spec", "jobTemplate", "spec")
    size = 0
    if isinstance(spec, Mapping):
        parallelism = count(spec.get("parallelism"), 1)
        size = count(spec.get("completions"), parallelism)
        if size > parallelism:
            return None
    return Member("Job", named("job", pod.controller.uid), size, completion_index(pod))


def _declared_set(pod: Subject) -> Member | None:
    """A StatefulSet whose template says how large a gang it is. Without that its pods are replicas, not members."""
    controller, size = pod.controller, number(pod.annotations[GANG_SIZE_ANNOTATION])
    if controller is None or (controller.group, controller.kind) != ("apps", "StatefulSet") or not size:
        return None
    return Member("StatefulSet", named("statefulset", controller.uid), size, ordinal(pod))


_BATCH_SCHEDULER: Final = "`schedulerName` and group, where the operator runs with a gang scheduler"
_CONTROLLED_GROUPS: Final = "kubeflow/training-operator pkg/controller.v1/control/podgroup_control.go"

OPERATOR_ROWS: Final[tuple[Row, ...]] = (
    # A group of roles may be made of LeaderWorkerSets, whose pods carry both.
    *ROLE_BASED_GROUPS,
    LEADER_WORKER_SET,
    Row(
        name="JobSet, and TrainJob (Trainer v2), which makes one",
        source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go; kubeflow/trainer pkg/runtime/framework/"
        "plugins/jobset",
        read=_job_set,
        size="the JobSet: `replicas` of each replicated job, times `parallelism`, or `completions` if they are fewer",
        sized_by=("JobSet",),
        label="jobset.sigs.k8s.io/jobset-name",
        role="jobset.sigs.k8s.io/replicatedjob-name",
        makers=(
            Maker(
                kind="jobset.x-k8s.io/JobSet",
                keeps="the affinity of pods with `alpha.jobset.sigs.k8s.io/exclusive-topology`: its webhook draws the "
                "pod of index 0 to a domain, and the others after it by `nodeSelector`",
                source="kubernetes-sigs/jobset pkg/webhooks/pod_webhook.go patchPod",
            ),
            Maker(
                kind="trainer.kubeflow.org/TrainJob",
                title="TrainJob (Trainer v2)",
                keeps="the JobSet that Trainer makes of it; the group that a runtime's `podGroupPolicy` names on its "
                "pods",
                source="kubeflow/trainer pkg/runtime/framework/plugins/{jobset,coscheduling,volcano}",
                templates="`spec.trainer`, and `spec.template.spec.replicatedJobs.*.template.spec.template` of its "
                "runtime",
            ),
        ),
    ),
    Row(
        name="PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob, JAXJob (Training Operator v1, mpi-operator)",
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go, kubeflow/mpi-operator "
        "pkg/apis/kubeflow/v2beta1/constants.go",
        read=_kubeflow,
        size="the job: `replicas` of its replica specs",
        sized_by=("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"),
        label="training.kubeflow.org/job-name",
        role_from="labels `training.kubeflow.org/replica-type`, `job-role`",
        makers=(
            *(
                Maker(
                    kind=f"kubeflow.org/{kind}",
                    keeps=_BATCH_SCHEDULER,
                    source=_CONTROLLED_GROUPS,
                    templates=f"`spec.{field}.*.template`",
                )
                for kind, field in (
                    ("PyTorchJob", "pytorchReplicaSpecs"),
                    ("XGBoostJob", "xgbReplicaSpecs"),
                    ("PaddleJob", "paddleReplicaSpecs"),
                    ("JAXJob", "jaxReplicaSpecs"),
                )
            ),
            Maker(
                kind="kubeflow.org/TFJob",
                keeps=f"the spec of chiefs, parameter servers and evaluators without GPUs; {_BATCH_SCHEDULER}",
                source=f"kubeflow/training-operator pkg/apis/kubeflow.org/v1/tensorflow_types.go; {_CONTROLLED_GROUPS}",
                templates="`spec.tfReplicaSpecs.*.template`",
            ),
            Maker(
                kind="kubeflow.org/MPIJob",
                keeps=f"the spec of launchers without GPUs, with mpi-operator their Job; {_BATCH_SCHEDULER}",
                source="kubeflow/mpi-operator pkg/controller/mpi_job_controller.go newLauncherJob; "
                f"{_CONTROLLED_GROUPS}",
            ),
        ),
    ),
    Row(
        name="Volcano Job",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/labels.go",
        read=_volcano_job,
        size="the job: `replicas` of its tasks",
        sized_by=("Job",),
        label="volcano.sh/job-name",
        role_from="label or annotation `volcano.sh/task-spec`",
        annotation="volcano.sh/job-name",
        makers=(
            Maker(
                kind="batch.volcano.sh/Job",
                title="Volcano Job",
                keeps="its PodGroup and the annotation that names it; `schedulerName`; resources, which `minResources` "
                "sums; affinity, for Volcano places it",
                source="volcano-sh/volcano pkg/controllers/job/{job_controller_util,job_controller_actions}.go",
                templates="`spec.tasks.*.template`, for topology `spec.networkTopology`",
            ),
        ),
    ),
    Row(
        name="RayCluster, and those of RayJob and RayService",
        source="ray-project/kuberay ray-operator/controllers/ray/utils/constant.go",
        read=_ray_cluster,
        size="the RayCluster: the head, and `replicas` times `numOfHosts` of its worker groups, held between "
        "`minReplicas` and `maxReplicas`, unless it autoscales",
        sized_by=("RayCluster",),
        label="ray.io/cluster",
        role="ray.io/group",
        makers=(
            Maker(
                kind="ray.io/RayCluster",
                keeps="the spec of heads without GPUs; one that autoscales joins no group; its spec, which KubeRay "
                "hashes for upgrades; `schedulerName` and group of KubeRay's batch scheduler",
                source="ray-project/kuberay ray-operator/controllers/ray/{raycluster_controller.go,batchscheduler}",
            ),
            Maker(
                kind="ray.io/RayJob",
                keeps="as of its RayCluster; the pod that submits, of a Job and without the label: it is no member",
                source="ray-project/kuberay ray-operator/controllers/ray/rayjob_controller.go getSubmitterTemplate",
            ),
            Maker(
                kind="ray.io/RayService",
                keeps="as of its RayClusters, of which an upgrade makes a second: a gang by itself; the label "
                "`ray.io/serve`, which KubeRay turns on running pods",
                source="ray-project/kuberay ray-operator/controllers/ray/rayservice_controller.go",
            ),
        ),
    ),
    GROVE,
    *SERVING_ROWS,
    Row(
        name="Spark application (spark-submit, SparkApplication)",
        source="apache/spark resource-managers/kubernetes/core Constants.scala; kubeflow/spark-operator "
        "pkg/common/spark.go; api/v1beta2/sparkapplication_types.go",
        read=_spark_application,
        size="the SparkApplication: its driver and `executor.instances`, unless it allocates dynamically",
        label="spark-app-selector",
        role_from="label `spark-role`",
        makers=(
            Maker(
                kind="sparkoperator.k8s.io/SparkApplication",
                keeps="the driver's spec where it has no GPU; affinity, node selector, tolerations, GPUs and scheduler "
                "of the SparkApplication, which its operator's webhook writes on the pods",
                source="kubeflow/spark-operator internal/webhook/sparkpod_defaulter.go, internal/scheduler",
            ),
            Maker(
                kind="",
                title="spark-submit",
                keeps="the driver's spec where it has no GPU",
                source="apache/spark resource-managers/kubernetes/core BasicDriverFeatureStep.scala",
                size="unknown: no object says it",
            ),
        ),
    ),
)

INDEXED_JOB: Final = Row(
    name="Indexed Job",
    source="kubernetes/api batch/v1/types.go JobCompletionIndexAnnotation",
    read=_indexed_job,
    size="the Job: `completions`, where `parallelism` is not less",
    sized_by=("Job", "CronJob"),
    alike=True,
    label=JOB_COMPLETION_INDEX,
    annotation=JOB_COMPLETION_INDEX,
    makers=(
        Maker(
            kind="batch/Job",
            title="Indexed Job",
            keeps="the finalizer that the Job controller takes off; `schedulingGroup` and PodGroup, where it makes "
            "them itself (gate `WorkloadWithJob`)",
            source="kubernetes pkg/controller/job/job_controller.go; KEP-5547",
        ),
    ),
)

DECLARED_SET: Final = Row(
    name="StatefulSet that declares a gang",
    source="podberth's own annotation; kubernetes/api apps/v1/types.go PodIndexLabel",
    read=_declared_set,
    size=f"the annotation `{GANG_SIZE_ANNOTATION}`",
    annotation=GANG_SIZE_ANNOTATION,
    makers=(
        Maker(
            kind="apps/StatefulSet",
            title="StatefulSet that declares a gang",
            keeps="its pods' names, ordinals and claims; its template, whose revision is hashed",
            source="kubernetes pkg/controller/statefulset/stateful_set_utils.go, pkg/controller/history",
        ),
    ),
)
