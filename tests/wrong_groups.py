"""Wrong groups of several roles, and minimums of more systems; ``WRONG`` has these and those of ``one_role_groups``."""

from group_scenes import (
    CPU,
    DOMAIN,
    EXCLUSIVE,
    GPU,
    HOST,
    LAUNCHER,
    LEAST,
    PARTS,
    RACK,
    Scene,
    job,
    kubeflow,
    role,
    together,
)
from one_role_groups import SCENES

ONE_GPU = GPU.replace("gpu: 8", "gpu: 1")


def workload(version: str, kind: str, spec: str, metadata: str = "") -> str:
    """Return a manifest of one line; the parts are flow YAML, the spec with its braces."""
    return f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: w, namespace: ml{metadata}}}, spec: {spec}}}"


def template(pod: str = GPU, metadata: str = "") -> str:
    """Return a pod template."""
    return f"template: {{metadata: {{{metadata}}}, spec: {pod}}}"


def volcano(tasks: str, more: str = "") -> str:
    """Return a Volcano Job."""
    return workload("batch.volcano.sh/v1alpha1", "Job", f"{{schedulerName: volcano, tasks: [{tasks}]{more}}}")


def task(name: str, replicas: int, pod: str = GPU, more: str = "") -> str:
    """Return one of its tasks."""
    return f"{{name: {name}, replicas: {replicas}, {template(pod)}{more}}}"


def job_set(*jobs: str, metadata: str = "", more: str = "") -> str:
    """Return a JobSet."""
    listed = ", ".join(jobs)
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", f"{{replicatedJobs: [{listed}]{more}}}", metadata)


def replicated(name: str, pods: int, pod: str = GPU, more: str = "", *, jobs: int = 1) -> str:
    """Return one of its replicated jobs, with so many pods in each Job."""
    spec = f"{{parallelism: {pods}, completions: {pods}, {template(pod)}}}"
    return f"{{name: {name}, replicas: {jobs}, template: {{spec: {spec}}}{more}}}"


def ray(workers: str, head: str = CPU, kind: str = "RayCluster", more: str = "") -> str:
    """Return a RayCluster, or what makes one."""
    cluster = f"{{headGroupSpec: {{{template(head)}}}, workerGroupSpecs: [{workers}]{more}}}"
    path = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}.get(kind)
    return workload("ray.io/v1", kind, f"{{{path}: {cluster}}}" if path else cluster)


def workers(replicas: int, bounds: str = "") -> str:
    """Return a worker group."""
    return f"{{groupName: gpus, replicas: {replicas}{bounds}, {template()}}}"


def cliques(*cliques: str, more: str = "") -> str:
    """Return a PodCliqueSet."""
    return workload(
        "grove.io/v1alpha1", "PodCliqueSet", f"{{replicas: 1, template: {{cliques: [{', '.join(cliques)}]{more}}}}}"
    )


def clique(name: str, replicas: int, more: str = "", pod: str = GPU) -> str:
    """Return one of its cliques."""
    return f"{{name: {name}, spec: {{roleName: {name}, replicas: {replicas}{more}, podSpec: {pod}}}}}"


def leader_worker_set(size: int, leader: str = "", metadata: str = "", *, groups: int = 1) -> str:
    """Return a LeaderWorkerSet."""
    leaders = f"leaderTemplate: {{spec: {leader}}}, " if leader else ""
    groups_of = f"{{size: {size}, {leaders}workerTemplate: {{spec: {GPU}}}}}"
    spec = f"{{replicas: {groups}, leaderWorkerTemplate: {groups_of}}}"
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, metadata)


def role_based(*roles: str, metadata: str = "") -> str:
    """Return a RoleBasedGroup."""
    return workload("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", f"{{roles: [{', '.join(roles)}]}}", metadata)


def standalone(name: str, replicas: int, pod: str = GPU, metadata: str = "") -> str:
    """Return one of its roles."""
    return f"{{name: {name}, replicas: {replicas}, standalonePattern: {{{template(pod, metadata)}}}}}"


LWS_RACK = f", annotations: {{leaderworkerset.sigs.k8s.io/exclusive-topology: {RACK}}}"
JOB_SET_RACK = f", annotations: {{alpha.jobset.sigs.k8s.io/exclusive-topology: {RACK}}}"
RBG_RACK = f", annotations: {{rbg.workloads.x-k8s.io/group-exclusive-topology: {RACK}}}"
IN_ONE_RACK = f"annotations: {{kueue.x-k8s.io/podset-required-topology: {RACK}, kueue.x-k8s.io/podset-group-name: g}}"


def _under(scheduler: str) -> str:
    return GPU.replace("{containers", f"{{schedulerName: {scheduler}, containers", 1)


_NAMED = _under("kai-scheduler").replace("{", "{restartPolicy: Never, subdomain: w, ", 1)
_WAITS = "and all known nodes hold 3 such; write fewer, or they wait for nodes"
_TOO_MANY = f"in one {RACK}: no known domain holds more than 2; write a wider level or fewer pods"

WRONG: tuple[Scene, ...] = (
    *SCENES,
    # ---- minimums ---------------------------------------------------------------------------------------------------
    Scene(
        LEAST,
        cliques(clique("decode", 2, ", minAvailable: 3")),
        "spec.template.cliques[0].spec.minAvailable: got 3, want 2 at most, its replicas: the group never starts",
    ),
    Scene(
        LEAST,
        cliques(
            clique("decode", 1),
            more=", podCliqueScalingGroups: [{name: s, cliqueNames: [decode], replicas: 1, minAvailable: 2}]",
        ),
        "spec.template.podCliqueScalingGroups[0].minAvailable: got 2, want 1 at most, its replicas: the group never "
        "starts",
    ),
    Scene(
        LEAST,
        workload(
            "apps/v1",
            "Deployment",
            "{replicas: 2, selector: {matchLabels: {team: a}}, "
            f"{template(GPU.replace('{c', '{schedulerName: volcano, c', 1), 'labels: {team: a}')}}}",
            ", annotations: {scheduling.volcano.sh/group-min-member: '4'}",
        ),
        "metadata.annotations[scheduling.volcano.sh/group-min-member]: got 4, want 2 at most, the pods of the "
        "workload: the group never starts",
    ),
    # ---- launchers --------------------------------------------------------------------------------------------------
    Scene(
        LAUNCHER,
        volcano(f"{task('master', 1, CPU)}, {task('worker', 2)}", ", minAvailable: 2"),
        "spec.minAvailable: got 2, the workers alone; the master belongs to the group, too; write 3",
    ),
    Scene(
        LAUNCHER,
        volcano(
            f"{task('mpimaster', 1, CPU, ', dependsOn: {name: [mpiworker]}')}, {task('mpiworker', 2)}",
            ", minAvailable: 3",
        ),
        "spec.minAvailable: got 3, with the mpimaster, which waits for 2 workers to be ready (dependsOn); write 2",
    ),
    # ---- exclusive --------------------------------------------------------------------------------------------------
    Scene(
        EXCLUSIVE,
        role_based(standalone("prefill", 1, together(HOST), "labels: {team: a}"), metadata=RBG_RACK),
        "prefill: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: got "
        f"{HOST}, but exclusive-topology already keeps each group in one {RACK}; remove one of the two",
    ),
    # ---- domains ----------------------------------------------------------------------------------------------------
    Scene(
        DOMAIN,
        leader_worker_set(3, GPU, LWS_RACK),
        "metadata.annotations[leaderworkerset.sigs.k8s.io/exclusive-topology]: 3 pods of leader and worker "
        f"{_TOO_MANY}",
    ),
    Scene(
        DOMAIN,
        role_based(standalone("prefill", 1), standalone("decode", 2), metadata=RBG_RACK),
        "metadata.annotations[rbg.workloads.x-k8s.io/group-exclusive-topology]: 3 pods of prefill and decode "
        f"{_TOO_MANY}",
    ),
    Scene(
        DOMAIN,
        job_set(replicated("left", 1, jobs=1), replicated("right", 1, jobs=2), metadata=JOB_SET_RACK),
        f"metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]: 3 groups, each alone in one {RACK}: 2 "
        "known hold one; write a narrower level or fewer groups",
    ),
    Scene(
        DOMAIN,
        kubeflow("PyTorchJob", f"{role('Master', 1, GPU, IN_ONE_RACK)}, {role('Worker', 2, GPU, IN_ONE_RACK)}"),
        "Master: metadata.annotations[kueue.x-k8s.io/podset-required-topology]: 3 pods of Master and Worker "
        f"{_TOO_MANY}",
    ),
    Scene(
        DOMAIN,
        kubeflow(
            "PyTorchJob",
            f"{role('Master', 1, together(RACK), 'labels: {team: a}')}, "
            f"{role('Worker', 2, together(RACK), 'labels: {team: a}')}",
        ),
        "Master: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: 3 pods of "
        f"Master and Worker {_TOO_MANY}",
    ),
    Scene(
        DOMAIN,
        kubeflow("PyTorchJob", f"{role('Master', 1)}, {role('Worker', 3)}"),
        f"Worker: spec.containers: 4 pods of Master and Worker start together, {_WAITS}",
    ),
    Scene(
        DOMAIN,
        job_set(replicated("left", 2), replicated("right", 2)),
        f"left: spec.containers: 4 pods of left and right start together, {_WAITS}",
    ),
    Scene(
        DOMAIN,
        volcano(task("worker", 8), ", minAvailable: 4"),
        f"worker: spec.containers: 4 pods start together, {_WAITS}",
    ),
    Scene(
        DOMAIN,
        leader_worker_set(5),
        f"worker: spec.containers: 5 pods start together, {_WAITS}",
    ),
    Scene(
        DOMAIN,
        cliques(clique("prefill", 2), clique("decode", 3, ", minAvailable: 2")),
        f"decode: spec.containers: 4 pods of prefill and decode start together, {_WAITS}",
    ),
    Scene(
        DOMAIN,
        role_based(
            standalone("prefill", 2),
            standalone("decode", 2),
            metadata=", annotations: {rbg.workloads.x-k8s.io/group-gang-scheduling: 'true'}",
        ),
        f"prefill: spec.containers: 4 pods of prefill and decode start together, {_WAITS}",
    ),
    Scene(
        DOMAIN,
        ray(workers(3), ONE_GPU),
        "gpus: spec.containers: 4 pods of head and gpus with 25 nvidia.com/gpu start together, and all known nodes "
        "have 24; write fewer, or they wait for nodes",
    ),
    # ---- parts ------------------------------------------------------------------------------------------------------
    Scene(
        PARTS,
        job(pod=_under("volcano")),
        "metadata.annotations[scheduling.volcano.sh/group-min-member]: got none, so Volcano starts the 2 pods of this "
        "gang one by one; write 2",
    ),
    Scene(
        PARTS,
        job_set(replicated("node", 2, _under("volcano"))),
        "spec.replicatedJobs[0].template.metadata.annotations[scheduling.volcano.sh/group-min-member]: got none, so "
        "Volcano starts the 2 pods of this gang one by one; write 2",
    ),
    Scene(
        PARTS,
        job_set(replicated("node", 1, _under("volcano"), jobs=3)),
        "spec.replicatedJobs: Volcano makes a group for each Job, so the 3 pods of this gang start in parts; make a "
        "PodGroup of 3 pods, and name it in annotation scheduling.k8s.io/group-name of the pod templates",
    ),
    Scene(
        PARTS,
        job(pod=_under("kai-scheduler")),
        "metadata.annotations[kai.scheduler/batch-min-member]: got none, so KAI Scheduler starts the 2 pods of this "
        "gang one by one; write 2",
    ),
    Scene(
        PARTS,
        workload(
            "batch/v1",
            "CronJob",
            "{schedule: '@daily', jobTemplate: {metadata: {annotations: {kai.scheduler/batch-min-member: '2'}}, spec: "
            f"{{completionMode: Indexed, parallelism: 2, completions: 2, {template(_NAMED)}}}}}}}",
        ),
        "spec.schedulerName: got kai-scheduler, which starts the 2 pods of this gang one by one, whatever the CronJob "
        "states; let another workload make them",
    ),
    Scene(
        PARTS,
        workload("v1", "Pod", _under("kai-scheduler"), ", labels: {podberth.io/gang: ring}"),
        "metadata.labels[podberth.io/gang]: got ring, of which KAI Scheduler makes no group: it starts bare pods one "
        "by one; let one workload make them",
    ),
)
