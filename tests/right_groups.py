"""Right workloads, one for each kind and check and more: none of them may get a finding.

The cluster is that of ``group_scenes``: three nodes of eight GPUs, two of them in one rack. The shapes are those of
published manifests. One table, and so longer than a file should be.
"""

from collections.abc import Mapping
from typing import Final

from group_scenes import CPU, GPU, HOST, MINIMUM, QUEUES, RACK, ZONE, job, kubeflow, role, together
from group_scenes import job_set as exclusive_jobs
from wrong_groups import (
    IN_ONE_RACK,
    JOB_SET_RACK,
    LWS_RACK,
    ONE_GPU,
    RBG_RACK,
    clique,
    cliques,
    job_set,
    leader_worker_set,
    ray,
    replicated,
    role_based,
    standalone,
    task,
    template,
    volcano,
    workers,
    workload,
)

_MPI = f"{role('Launcher', 1, CPU)}, {role('Worker', 2)}"
_ELASTIC = ", elasticPolicy: {minReplicas: %d, maxReplicas: 8}"
_QUEUED = ", labels: {kueue.x-k8s.io/queue-name: research}"
_ON_VOLCANO = GPU.replace("{containers", "{schedulerName: volcano, containers", 1)
_ON_KAI = GPU.replace("{containers", "{schedulerName: kai-scheduler, containers", 1)
_ZERO = GPU.replace("gpu: 8", "gpu: 0")
_AFTER = ", dependsOn: [{name: data, status: %s}]"
_ONE_RACK = f"annotations: {{kueue.x-k8s.io/podset-required-topology: {RACK}}}"
_TEAM = "labels: {team: a}"


def _job(spec: str, metadata: str = "", pod: str = GPU) -> str:
    never = pod.replace("{", "{restartPolicy: Never, ", 1)
    return workload("batch/v1", "Job", f"{{{spec}, {template(never)}}}", metadata)


def _indexed(pods: int, more: str = "", metadata: str = "") -> str:
    found = GPU.replace("{", "{subdomain: train, ", 1)
    return _job(f"completionMode: Indexed, parallelism: {pods}, completions: {pods}{more}", metadata, found)


def _native(policy: str, pods: int = 9, constraints: str = "") -> str:
    return _indexed(pods, f", scheduling: {{schedulingPolicy: {policy}{constraints}}}")


def _model_serving(groups: int, replicas: int, *, least: int = 0) -> str:
    policy = f"gangPolicy: {{minRoleReplicas: {{decode: {least}}}}}, " if least else ""
    templates = f"entryTemplate: {{spec: {GPU}}}, workerTemplate: {{spec: {GPU}}}"
    decode = f"{{name: decode, replicas: {replicas}, workerReplicas: 1, {templates}}}"
    spec = f"{{replicas: {groups}, template: {{{policy}roles: [{decode}]}}}}"
    return workload("workload.serving.volcano.sh/v1alpha1", "ModelServing", spec)


def _apps(kind: str, replicas: int, pod: str = GPU, metadata: str = "") -> str:
    spec = f"{{replicas: {replicas}, selector: {{matchLabels: {{team: a}}}}, {template(pod, _TEAM)}}}"
    return workload("apps/v1", kind, spec, metadata)


def _pod_groups(size: int, *namespaces: str) -> str:
    return "\n---\n".join(
        "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, "
        f"metadata: {{name: ring, namespace: {space}}}, spec: {{minMember: {size}}}}}"
        for space in namespaces
    )


_OF_THREE = "metadata: {annotations: {scheduling.volcano.sh/group-min-member: '3'}}, "
_OF_A_GROUP = "annotations: {scheduling.k8s.io/group-name: ring}"
_OF_RING = "labels: {scheduling.x-k8s.io/pod-group: ring}"

QUEUED: Final[Mapping[str, str]] = {
    "a queue that is there": job(_QUEUED),
    "a leaf queue": job(", labels: {kai.scheduler/queue: vision}"),
    "Volcano's own queue, which it makes itself": volcano(task("worker", 2), ", queue: default"),
    "a Volcano Job that names no queue": volcano(task("worker", 2)),
    "a Kubeflow queue of who knows which scheduler": kubeflow(
        "PyTorchJob", role("Worker", 2), ", runPolicy: {schedulingPolicy: {queue: other}}"
    ),
    "a YuniKorn queue": job(template="labels: {applicationId: a, queue: root.other}"),
    "a suspended Job that Kueue starts": _indexed(2, ", suspend: true", _QUEUED),
    "a Job that Kueue may start with fewer": _indexed(
        9, ", suspend: true", f"{_QUEUED}, annotations: {{kueue.x-k8s.io/job-min-parallelism: '2'}}"
    ),
    "a Job that Kueue lets grow": _indexed(
        9, ", suspend: true", f"{_QUEUED}, annotations: {{kueue.x-k8s.io/elastic-job: 'true'}}"
    ),
    "a RayJob in a queue of Volcano's": ray(workers(2), kind="RayJob").replace(
        "namespace: ml", "namespace: ml, labels: {volcano.sh/queue-name: research}", 1
    ),
    "a Job in a queue that may count GPUs as something else": job(", labels: {kueue.x-k8s.io/queue-name: priced}"),
    "an AppWrapper in a queue": workload(
        "workload.codeflare.dev/v1beta2", "AppWrapper", f"{{components: [{{template: {_indexed(2)}}}]}}", _QUEUED
    ),
}
"""Beside queues of every system."""

RIGHT: Final[Mapping[str, tuple[str, str]]] = {
    **{name: (manifest, QUEUES) for name, manifest in QUEUED.items()},
    "a queue of another kind of which none is known": (job(", labels: {kueue.x-k8s.io/queue-name: x}"), ""),
    # ---- minimums ---------------------------------------------------------------------------------------------------
    "a Job that is a queue of tasks": (_job("parallelism: 3, completions: 2"), ""),
    "a queue of many tasks": (_job("parallelism: 40, completions: 400"), ""),
    "an Indexed queue of tasks": (_job("completionMode: Indexed, parallelism: 4, completions: 40"), ""),
    "a work queue of unknown length": (_job("parallelism: 9"), ""),
    "a CronJob": (
        workload("batch/v1", "CronJob", f"{{schedule: '0 3 * * *', jobTemplate: {{spec: {{{template()}}}}}}}"),
        "",
    ),
    "a native gang that may start with fewer": (_native("{gang: {minCount: 2}}"), ""),
    "a native Job without a gang": (_native("{basic: {}}"), ""),
    "a native gang of all": (_native("{gang: {}}", 3), ""),
    "native constraints of a Job that is no gang": (
        _job(f"parallelism: 9, scheduling: {{schedulingConstraints: {{topology: [{{key: {RACK}}}]}}}}"),
        "",
    ),
    "native constraints of a minimum": (
        _native("{gang: {minCount: 2}}", 9, f", schedulingConstraints: {{topology: [{{key: {RACK}}}]}}"),
        "",
    ),
    "a Volcano Job that may start with fewer": (volcano(task("worker", 8), ", minAvailable: 2"), ""),
    "a task that may start with fewer": (volcano(task("worker", 8, more=", minAvailable: 3")), ""),
    "a task of partitions": (
        volcano(task("worker", 8, more=", partitionPolicy: {totalPartitions: 4, partitionSize: 2, minPartitions: 1}")),
        "",
    ),
    "an elastic Volcano Job": (
        volcano(f"{task('worker', 9)}, {task('master', 1, CPU)}", ", minAvailable: 3"),
        "",
    ),
    "a minimum of an MPIJob": (
        kubeflow("MPIJob", f"{role('Launcher', 1, CPU)}, {role('Worker', 8)}", MINIMUM % 3, "v2beta1"),
        "",
    ),
    "a minimum of a PyTorchJob": (kubeflow("PyTorchJob", role("Worker", 8), MINIMUM % 3), ""),
    "an elastic PyTorchJob": (kubeflow("PyTorchJob", role("Worker", 8), _ELASTIC % 2), ""),
    "an elastic minimum": (
        kubeflow("PyTorchJob", f"{role('Master', 1)}, {role('Worker', 2)}", f"{MINIMUM % 2}{_ELASTIC % 1}"),
        "",
    ),
    "a TFJob of dynamic workers": (
        workload("kubeflow.org/v1", "TFJob", f"{{enableDynamicWorker: true, tfReplicaSpecs: {{{role('Worker', 8)}}}}}"),
        "",
    ),
    "a TFJob with parameter servers": (
        workload(
            "kubeflow.org/v1",
            "TFJob",
            f"{{tfReplicaSpecs: {{{role('PS', 4, CPU)}, {role('Chief', 1)}, {role('Worker', 2)}}}}}",
        ),
        "",
    ),
    "an XGBoostJob": (
        workload("kubeflow.org/v1", "XGBoostJob", f"{{xgbReplicaSpecs: {{{role('Master', 1)}, {role('Worker', 2)}}}}}"),
        "",
    ),
    "an elastic PaddleJob": (
        workload("kubeflow.org/v1", "PaddleJob", f"{{paddleReplicaSpecs: {{{role('Worker', 8)}}}{_ELASTIC % 2}}}"),
        "",
    ),
    "an AscendJob": (workload("mindxdl.gitee.com/v1", "AscendJob", f"{{replicaSpecs: {{{role('Worker', 3)}}}}}"), ""),
    "a JAXJob": (workload("kubeflow.org/v1", "JAXJob", f"{{jaxReplicaSpecs: {{{role('Worker', 3)}}}}}"), ""),
    "a PodCliqueSet that may start with fewer": (cliques(clique("decode", 8, ", minAvailable: 2")), ""),
    "a PodCliqueSet that scales": (
        cliques(clique("decode", 3, ", minAvailable: 1, autoScalingConfig: {maxReplicas: 9}")),
        "",
    ),
    "a scaling group beyond its minimum": (
        cliques(
            clique("prefill", 1),
            clique("decode", 1),
            more=", podCliqueScalingGroups: [{name: s, cliqueNames: [prefill, decode], replicas: 4, minAvailable: 1}]",
        ),
        "",
    ),
    "a minimum of KAI's": (
        job(", annotations: {kai.scheduler/batch-min-member: '2'}", parallelism=9, completions=9),
        "",
    ),
    "an Indexed Job without a subdomain under Volcano, whose pods are no gang": (
        _job("completionMode: Indexed, parallelism: 2, completions: 2", pod=_ON_VOLCANO),
        "",
    ),
    "an Indexed Job without a subdomain under KAI, whose pods are no gang": (
        _job("completionMode: Indexed, parallelism: 2, completions: 2", pod=_ON_KAI),
        "",
    ),
    "a minimum of Volcano's on the one Job of a JobSet": (
        job_set(replicated("node", 3, _ON_VOLCANO).replace("template: {", f"template: {{{_OF_THREE}", 1)),
        "",
    ),
    "minimums of Volcano's on all Jobs of a JobSet": (
        job_set(replicated("node", 1, _ON_VOLCANO, jobs=3).replace("template: {", f"template: {{{_OF_THREE}", 1)),
        "",
    ),
    "a PodGroup of Volcano's that the Jobs of a JobSet name": (
        job_set(replicated("node", 1, _ON_VOLCANO, jobs=3).replace("metadata: {", f"metadata: {{{_OF_A_GROUP}", 1)),
        "",
    ),
    "a minimum of Volcano's on a Deployment": (
        _apps("Deployment", 2, _ON_VOLCANO, ", annotations: {scheduling.volcano.sh/group-min-member: '2'}"),
        "",
    ),
    "a minimum of Volcano's that nobody reads": (
        _apps("Deployment", 2, GPU, ", annotations: {scheduling.volcano.sh/group-min-member: '4'}"),
        "",
    ),
    "a group that starts with fewer": (
        job(template=_OF_RING, parallelism=9, completions=9),
        _pod_groups(2, "ml"),
    ),
    "a group that nobody knows": (job(template=_OF_RING, parallelism=9, completions=9), ""),
    "a declared gang": (job(template="annotations: {podberth.io/gang-size: '2'}"), ""),
    "subgroups of a LeaderWorkerSet": (leader_worker_set(2), ""),
    # ---- launchers --------------------------------------------------------------------------------------------------
    "the launcher counted": (kubeflow("MPIJob", _MPI, MINIMUM % 3, "v2beta1"), ""),
    "workers first, and they alone are counted": (
        kubeflow("MPIJob", _MPI, f"{MINIMUM % 2}, launcherCreationPolicy: WaitForWorkersReady", "v2beta1"),
        "",
    ),
    "a launcher that asks for no GPU in so many words": (
        kubeflow("MPIJob", f"{role('Launcher', 1, _ZERO)}, {role('Worker', 3)}", "", "v2beta1"),
        "",
    ),
    "no gang at all": (kubeflow("PyTorchJob", f"{role('Master', 1)}, {role('Worker', 1)}", MINIMUM % 1), ""),
    "Volcano's MPI, as its manual has it": (
        volcano(
            f"{task('master', 1, CPU)}, {task('worker', 2)}",
            ", minAvailable: 2, plugins: {mpi: ['--master=master', '--worker=worker'], ssh: [], svc: []}",
        ),
        "",
    ),
    "a master that comes when the workers run": (
        volcano(
            f"{task('mpimaster', 1, CPU, ', dependsOn: {name: [mpiworker]}')}, {task('mpiworker', 2)}",
            ", minAvailable: 2",
        ),
        "",
    ),
    "a Volcano Job that counts its master": (
        volcano(f"{task('mpimaster', 1, CPU)}, {task('mpiworker', 2)}", ", minAvailable: 3"),
        "",
    ),
    # ---- schedulers -------------------------------------------------------------------------------------------------
    "two plain schedulers": (
        kubeflow(
            "PyTorchJob", f"{role('Master', 1)}, {role('Worker', 1, GPU.replace('{c', '{schedulerName: own, c', 1))}"
        ),
        "",
    ),
    "an initializer that ends before the trainer begins": (
        job_set(replicated("data", 1, CPU), replicated("node", 2, _ON_KAI, _AFTER % "Complete")),
        "",
    ),
    "a runtime whose initializers end before the trainer begins": (
        workload(
            "trainer.kubeflow.org/v1alpha1",
            "ClusterTrainingRuntime",
            "{template: {spec: {replicatedJobs: ["
            f"{replicated('data', 1, CPU)}, {replicated('node', 2, _ON_KAI, _AFTER % 'Complete')}]}}}}}}",
        ),
        "",
    ),
    "a group of its master and its one worker": (
        kubeflow("PyTorchJob", f"{role('Master', 1, GPU, _OF_RING)}, {role('Worker', 1, GPU, _OF_RING)}"),
        _pod_groups(1, "ml"),
    ),
    "all on one scheduler": (
        kubeflow("PyTorchJob", f"{role('Master', 1, _ON_VOLCANO)}, {role('Worker', 2, _ON_VOLCANO)}"),
        "",
    ),
    # ---- namespaces -------------------------------------------------------------------------------------------------
    "a group of the same name here and elsewhere": (job(template=_OF_RING), _pod_groups(2, "ml", "prod")),
    "a group of one pod here, a larger one elsewhere": (
        job(template=_OF_RING),
        f"{_pod_groups(1, 'ml')}\n---\n{_pod_groups(2, 'prod')}",
    ),
    "a group that is not there yet": (job(template=_OF_RING), ""),
    # ---- exclusive --------------------------------------------------------------------------------------------------
    "exclusive topology and Kueue's of one level": (
        exclusive_jobs(RACK, f"annotations: {{kueue.x-k8s.io/podset-required-topology: {RACK}}}"),
        "",
    ),
    "affinity to somebody else": (exclusive_jobs(RACK, pod=together(HOST)), ""),
    "jobs with a rack each, together in what racks are in": (
        exclusive_jobs(RACK, _TEAM, replicas=2, parallelism=1, pod=together(ZONE)),
        "",
    ),
    "a LeaderWorkerSet with a rack to itself": (leader_worker_set(2, GPU, LWS_RACK), ""),
    "a leader without GPUs": (leader_worker_set(3, CPU, LWS_RACK), ""),
    "two groups, each with a rack to itself": (leader_worker_set(1, "", LWS_RACK, groups=2), ""),
    "a RoleBasedGroup with a rack to itself": (
        role_based(standalone("router", 2, CPU), standalone("decode", 2), metadata=RBG_RACK),
        "",
    ),
    "a role that is not kept with the group": (
        role_based(
            standalone("prefill", 1, GPU, "annotations: {rbg.workloads.x-k8s.io/role-disable-exclusive: 'true'}"),
            standalone("decode", 2),
            metadata=RBG_RACK,
        ),
        "",
    ),
    "a driver beside an exclusive job": (
        job_set(replicated("driver", 1, CPU), replicated("node", 1, jobs=2), metadata=JOB_SET_RACK),
        "",
    ),
    "jobs with a rack to themselves, one after another": (
        job_set(
            replicated("data", 1, jobs=2),
            replicated("node", 1, more=_AFTER % "Complete", jobs=2),
            metadata=JOB_SET_RACK,
        ),
        "",
    ),
    # ---- domains ----------------------------------------------------------------------------------------------------
    "a wider level": (job(template=_ONE_RACK), ""),
    "two pod sets, each in a rack": (
        kubeflow("PyTorchJob", f"{role('Master', 1, GPU, _ONE_RACK)}, {role('Worker', 2, GPU, _ONE_RACK)}"),
        "",
    ),
    "a group of pod sets, one without GPUs": (
        kubeflow("MPIJob", f"{role('Launcher', 1, CPU, IN_ONE_RACK)}, {role('Worker', 2, GPU, IN_ONE_RACK)}"),
        "",
    ),
    "slices of a rack": (
        job(
            template=f"annotations: {{kueue.x-k8s.io/podset-slice-required-topology: {RACK}, "
            "kueue.x-k8s.io/podset-slice-size: '1'}",
            parallelism=3,
            completions=3,
        ),
        "",
    ),
    "a preferred level": (
        job(
            template=f"annotations: {{kueue.x-k8s.io/podset-preferred-topology: {RACK}}}", parallelism=3, completions=3
        ),
        "",
    ),
    "tasks in a rack, of which few are left": (
        _job("parallelism: 3, completions: 2").replace(
            "template: {metadata: {}", f"template: {{metadata: {{{_ONE_RACK}}}", 1
        ),
        "",
    ),
    "workers in a rack that may be fewer": (
        kubeflow("PyTorchJob", role("Worker", 8, together(RACK), _TEAM), _ELASTIC % 2),
        "",
    ),
    "workers together, and a master that leads them where it likes": (
        kubeflow("PyTorchJob", f"{role('Master', 1, GPU, _TEAM)}, {role('Worker', 2, together(RACK), _TEAM)}"),
        "",
    ),
    "a Deployment in one zone": (_apps("Deployment", 1, together(ZONE)), ""),
    "a Deployment": (_apps("Deployment", 9), ""),
    "a StatefulSet": (_apps("StatefulSet", 9), ""),
    "a JobSet of two parts": (job_set(replicated("left", 1), replicated("right", 2)), ""),
    "a JobSet of two stages": (
        job_set(replicated("data", 2), replicated("node", 3, more=_AFTER % "Complete")),
        "",
    ),
    "a JobSet of three stages": (
        job_set(
            replicated("data", 2),
            replicated("model", 3, more=_AFTER % "Complete"),
            replicated("node", 3, more=", dependsOn: [{name: model, status: Complete}]"),
        ),
        "",
    ),
    "a JobSet whose ring of stages it refuses itself": (
        job_set(replicated("data", 1, more=_AFTER % "Ready"), replicated("node", 1, more=_AFTER % "Ready")),
        "",
    ),
    "a master and workers": (kubeflow("PyTorchJob", f"{role('Master', 1)}, {role('Worker', 2)}"), ""),
    "eight small workers on one node": (kubeflow("PyTorchJob", role("Worker", 24, ONE_GPU)), ""),
    "large and small ones on three nodes": (
        kubeflow("PyTorchJob", f"{role('Master', 8, ONE_GPU)}, {role('Worker', 2)}"),
        "",
    ),
    "roles of other nodes than the master's, which no node is": (
        kubeflow(
            "PyTorchJob",
            f"{role('Master', 1, GPU.replace('{c', '{nodeSelector: {pool: a}, c', 1))}, {role('Worker', 3)}",
        ),
        "",
    ),
    "a RayCluster": (ray(workers(3)), ""),
    "a RayCluster that KubeRay keeps small": (ray(workers(8, ", minReplicas: 0, maxReplicas: 2")), ""),
    "a RayCluster that scales": (
        ray(workers(8, ", minReplicas: 0, maxReplicas: 8"), more=", enableInTreeAutoscaling: true"),
        "",
    ),
    "a worker group that is suspended": (ray(f"{workers(8, ', suspend: true')}, {workers(2)}"), ""),
    "a RayJob": (ray(workers(3), kind="RayJob"), ""),
    "a RayCronJob": (
        workload(
            "ray.io/v1",
            "RayCronJob",
            f"{{jobTemplate: {{rayClusterSpec: {{headGroupSpec: {{{template(CPU)}}}, "
            f"workerGroupSpecs: [{workers(3)}]}}}}}}",
        ),
        "",
    ),
    "a RayService": (ray(workers(8), kind="RayService"), ""),
    "a LeaderWorkerSet of many groups": (leader_worker_set(2, groups=9), ""),
    "a LeaderWorkerSet of none yet": (leader_worker_set(9, groups=0), ""),
    "a RoleBasedGroup that starts pod by pod": (role_based(standalone("prefill", 8), standalone("decode", 8)), ""),
    "a RoleBasedGroup that starts as a whole": (
        role_based(
            standalone("prefill", 1),
            standalone("decode", 2),
            metadata=", annotations: {rbg.workloads.x-k8s.io/group-gang-scheduling: 'true'}",
        ),
        "",
    ),
    "a ModelServing of one group": (_model_serving(1, 1), ""),
    "a ModelServing of many groups": (_model_serving(9, 1), ""),
    "a ModelServing that starts with one replica of a role": (_model_serving(1, 9, least=1), ""),
    "a TrainJob": (
        workload(
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            "{runtimeRef: {name: torch-distributed}, "
            "trainer: {numNodes: 3, image: i, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}",
        ),
        "",
    ),
    "a Dynamo graph": (
        workload(
            "nvidia.com/v1alpha1",
            "DynamoGraphDeployment",
            "{services: {Frontend: {replicas: 1}, Decode: {replicas: 9, resources: {limits: {gpu: '8'}}}}}",
        ),
        "",
    ),
    "a Spark application": (
        workload(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            "{driver: {cores: 1}, executor: {instances: 9, gpu: {name: nvidia.com/gpu, quantity: 8}}}",
        ),
        "",
    ),
    "an Argo workflow": (
        workload(
            "argoproj.io/v1alpha1",
            "Workflow",
            "{entrypoint: a, templates: [{name: a, container: {image: i, resources: {limits: {nvidia.com/gpu: 8}}}}]}",
        ),
        "",
    ),
    "a model over several nodes": (
        workload(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "{predictor: {model: {modelFormat: {name: h}, resources: {limits: {nvidia.com/gpu: 8}}}, "
            "workerSpec: {pipelineParallelSize: 2}}}",
        ),
        "",
    ),
}
"""Manifest, and what the cluster has besides."""
