"""Wrong groups of one role, each with the warning that the webhook says. docs/groups.md has each warning.

The file is one table.
"""

from group_scenes import (
    CPU,
    DOMAIN,
    ELSEWHERE,
    EXCLUSIVE,
    GPU,
    HOST,
    LAUNCHER,
    LEAST,
    MINIMUM,
    MIXED,
    QUEUE,
    QUEUES,
    RACK,
    Scene,
    job,
    job_set,
    kubeflow,
    role,
    together,
)


def _of_one_job(job_set: str) -> str:
    """Return a JobSet whose exclusive topology one of its replicated jobs says, and the whole does not."""
    said = f"{{alpha.jobset.sigs.k8s.io/exclusive-topology: {RACK}}}"
    whole = job_set.replace(f", annotations: {said}", "", 1)
    return whole.replace("        template:\n", f"        template:\n          metadata: {{annotations: {said}}}\n", 1)


def _volcanic(pod: str) -> str:
    return pod.replace("{containers", "{schedulerName: volcano, containers", 1)


_BELOW_RESEARCH = """
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: vision}
spec: {parent: research}
"""

SCENES: tuple[Scene, ...] = (
    # ---- queues -----------------------------------------------------------------------------------------------------
    Scene(
        QUEUE,
        job(", labels: {kueue.x-k8s.io/queue-name: reserch}"),
        "metadata.labels[kueue.x-k8s.io/queue-name]: got reserch, no LocalQueue in ml; have astray, held, idle, …",
        QUEUES,
    ),
    Scene(
        QUEUE,
        job(", labels: {kueue.x-k8s.io/queue-name: held}"),
        "metadata.labels[kueue.x-k8s.io/queue-name]: got held, a LocalQueue that is stopped: spec.stopPolicy Hold; "
        "nothing starts until it goes on",
        QUEUES,
    ),
    Scene(
        QUEUE,
        job(", labels: {kueue.x-k8s.io/queue-name: astray}"),
        "metadata.labels[kueue.x-k8s.io/queue-name]: got astray, a LocalQueue of ClusterQueue gone, which does not "
        "exist; make it, or write another",
        QUEUES,
    ),
    Scene(
        QUEUE,
        job(", labels: {kueue.x-k8s.io/queue-name: idle}"),
        "metadata.labels[kueue.x-k8s.io/queue-name]: got idle, whose ClusterQueue inactive admits nothing: condition "
        "Active is False (FlavorNotFound); fix it, or write another",
        QUEUES,
    ),
    Scene(
        QUEUE,
        job(", labels: {kueue.x-k8s.io/queue-name: office}"),
        "metadata.labels[kueue.x-k8s.io/queue-name]: got office, whose ClusterQueue processors has no quota of "
        "nvidia.com/gpu; add one, or write another",
        QUEUES,
    ),
    Scene(
        QUEUE,
        f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: train, namespace: ml}}
        spec: {{queue: reserch, tasks: [{{name: worker, replicas: 2, template: {{spec: {GPU}}}}}]}}
        """,
        "spec.queue: got reserch, no Volcano Queue; have research, shut",
        QUEUES,
    ),
    Scene(
        QUEUE,
        f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: train, namespace: ml}}
        spec: {{queue: shut, tasks: [{{name: worker, replicas: 2, template: {{spec: {GPU}}}}}]}}
        """,
        "spec.queue: got shut, a Volcano Queue that takes no jobs: status.state Closed; open it, or write another",
        QUEUES,
    ),
    Scene(
        QUEUE,
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: p, namespace: ml, labels: {{kai.scheduler/queue: reserch}}}}
        spec: {GPU}
        """,
        "metadata.labels[kai.scheduler/queue]: got reserch, no KAI Queue; have research, vision",
        QUEUES,
    ),
    Scene(
        QUEUE,
        job(", labels: {kai.scheduler/queue: research}"),
        "metadata.labels[kai.scheduler/queue]: got research, a parent of KAI Queues: only leaf queues take pods; "
        "write one below it",
        QUEUES,
    ),
    Scene(
        QUEUE,
        f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: train, namespace: ml}}
        spec: {{queue: research, tasks: [{{name: worker, replicas: 2, template: {{spec: {GPU}}}}}]}}
        """,
        "spec.queue: got research, a parent of Volcano Queues: only leaf queues take pods; write one below it",
        QUEUES + _BELOW_RESEARCH,
    ),
    Scene(
        QUEUE,
        job(
            ", annotations: {scheduling.volcano.sh/group-min-member: '2'}",
            "annotations: {scheduling.volcano.sh/queue-name: root}",
            _volcanic(GPU),
        ),
        "metadata.annotations[scheduling.volcano.sh/queue-name]: got root, the parent of all Volcano Queues: only leaf "
        "queues take pods; write one below it",
    ),
    # ---- minimums ---------------------------------------------------------------------------------------------------
    Scene(
        LEAST,
        f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: train, namespace: ml}}
        spec: {{minAvailable: 3, tasks: [{{name: worker, replicas: 2, template: {{spec: {GPU}}}}}]}}
        """,
        "spec.minAvailable: got 3, want 2 at most, the pods of its tasks: the group never starts",
    ),
    Scene(
        LEAST,
        f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: train, namespace: ml}}
        spec: {{tasks: [{{name: worker, replicas: 2, minAvailable: 4, template: {{spec: {GPU}}}}}]}}
        """,
        "spec.tasks[0].minAvailable: got 4, want 2 at most, its replicas: the group never starts",
    ),
    Scene(
        LEAST,
        kubeflow("PyTorchJob", role("Worker", 2), MINIMUM % 3),
        "spec.runPolicy.schedulingPolicy.minAvailable: got 3, want 2 at most, the pods of its roles: the group never "
        "starts",
    ),
    Scene(
        LEAST,
        kubeflow("PyTorchJob", role("Worker", 2), ", elasticPolicy: {minReplicas: 4, maxReplicas: 2}"),
        "spec.elasticPolicy.minReplicas: got 4, want 2 at most, maxReplicas: the group never starts",
    ),
    Scene(
        LEAST,
        job(parallelism=3),
        "spec.completions: got 2, want 3, as parallelism: of 3 pods only 2 are ever made",
    ),
    Scene(
        LEAST,
        f"""
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {{name: train, namespace: ml}}
        spec:
          headGroupSpec: {{template: {{spec: {CPU}}}}}
          workerGroupSpecs:
          - {{groupName: gpus, replicas: 1, minReplicas: 3, maxReplicas: 2, template: {{spec: {GPU}}}}}
        """,
        "spec.workerGroupSpecs[0].minReplicas: got 3, want 2 at most, maxReplicas: the cluster cannot be scaled",
    ),
    Scene(
        LEAST,
        f"""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {{name: serve, namespace: ml}}
        spec:
          leaderWorkerTemplate: {{size: 2, subGroupPolicy: {{subGroupSize: 4}}, workerTemplate: {{spec: {GPU}}}}}
        """,
        "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize: got 4, want 2 at most, the size of a group: the group "
        "never starts",
    ),
    Scene(
        LEAST,
        job(", annotations: {kai.scheduler/batch-min-member: '3'}"),
        "metadata.annotations[kai.scheduler/batch-min-member]: got 3, want 2 at most, the pods of the workload: the "
        "group never starts",
    ),
    Scene(
        LEAST,
        job(template="annotations: {podberth.io/gang-size: '3'}"),
        "metadata.annotations[podberth.io/gang-size]: got 3, want 2 at most, the pods that the workload makes: the "
        "group never starts",
    ),
    Scene(
        LEAST,
        job(template="labels: {scheduling.x-k8s.io/pod-group: ring}"),
        "metadata.labels[scheduling.x-k8s.io/pod-group]: got ring, a group of 3 at the least, and this workload makes "
        "2: raise replicas or lower the minimum",
        """
        apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: PodGroup
        metadata: {name: ring, namespace: ml}
        spec: {minMember: 3}
        """,
    ),
    # ---- launchers --------------------------------------------------------------------------------------------------
    Scene(
        LAUNCHER,
        kubeflow("MPIJob", f"{role('Launcher', 1, CPU)}, {role('Worker', 2)}", MINIMUM % 2, "v2beta1"),
        "spec.runPolicy.schedulingPolicy.minAvailable: got 2, the workers alone; the launcher belongs to the group, "
        "too; write 3",
    ),
    Scene(
        LAUNCHER,
        kubeflow(
            "MPIJob",
            f"{role('Launcher', 1, CPU)}, {role('Worker', 2)}",
            f"{MINIMUM % 3}, launcherCreationPolicy: WaitForWorkersReady",
            "v2beta1",
        ),
        "spec.runPolicy.schedulingPolicy.minAvailable: got 3, with the launcher, which waits for 2 workers to be ready "
        "(launcherCreationPolicy); write 2",
    ),
    Scene(
        LAUNCHER,
        f"""
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {{name: train, namespace: ml}}
        spec:
          headGroupSpec: {{template: {{spec: {CPU}}}}}
          workerGroupSpecs:
          - groupName: gpus
            replicas: 2
            template: {{metadata: {{annotations: {{podberth.io/gang-size: "2"}}}}, spec: {GPU}}}
        """,
        "gpus: metadata.annotations[podberth.io/gang-size]: got 2, the workers alone; the head belongs to the group, "
        "too; write 3",
    ),
    # ---- schedulers -------------------------------------------------------------------------------------------------
    Scene(
        MIXED,
        kubeflow("PyTorchJob", f"{role('Master', 1)}, {role('Worker', 2, _volcanic(GPU))}"),
        "Master: spec.schedulerName: got default-scheduler, but Worker has volcano: volcano does not place this "
        "part of the group; write volcano in both",
    ),
    # ---- namespaces -------------------------------------------------------------------------------------------------
    Scene(
        ELSEWHERE,
        job(pod=GPU.replace("{containers", "{schedulingGroup: {podGroupName: ring}, containers", 1)),
        "spec.schedulingGroup: got ring, a PodGroup known in prod only: pods join groups of their own namespace; make "
        "it in ml",
        """
        apiVersion: scheduling.k8s.io/v1beta1
        kind: PodGroup
        metadata: {name: ring, namespace: prod}
        spec: {schedulingPolicy: {gang: {minCount: 2}}}
        """,
    ),
    Scene(
        ELSEWHERE,
        job(template="labels: {scheduling.x-k8s.io/pod-group: ring}"),
        "metadata.labels[scheduling.x-k8s.io/pod-group]: got ring, a PodGroup known in 2 other namespaces only: pods "
        "join groups of their own namespace; make it in ml",
        "\n---\n".join(
            f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {space}}}}}\n---\n"
            "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, "
            f"metadata: {{name: ring, namespace: {space}}}, spec: {{minMember: 2}}}}"
            for space in ("prod", "stage")
        ),
    ),
    Scene(
        ELSEWHERE,
        job(template="labels: {pod-group.scheduling.sigs.k8s.io: ring}"),
        "metadata.labels[pod-group.scheduling.sigs.k8s.io]: got ring, a PodGroup known in prod only: pods join groups "
        "of their own namespace; make it in ml",
        """
        apiVersion: v1
        kind: Namespace
        metadata: {name: prod}
        ---
        apiVersion: scheduling.sigs.k8s.io/v1alpha1
        kind: PodGroup
        metadata: {name: ring, namespace: prod}
        spec: {minMember: 2}
        """,
    ),
    Scene(
        ELSEWHERE,
        kubeflow("PyTorchJob", f"{role('Master', 1)}, {role('Worker', 1, GPU, 'namespace: prod')}"),
        "Worker: metadata.namespace: got prod, but its pods come in ml; remove it",
    ),
    Scene(
        ELSEWHERE,
        f"""
        apiVersion: workload.codeflare.dev/v1beta2
        kind: AppWrapper
        metadata: {{name: train, namespace: ml}}
        spec:
          components:
          - template:
              apiVersion: batch/v1
              kind: Job
              metadata: {{name: train, namespace: prod}}
              spec: {{template: {{spec: {GPU[:-1]}, restartPolicy: Never}}}}}}
        """,
        "spec.components[0].template.metadata.namespace: got prod, but what wraps it is in ml; write ml",
    ),
    # ---- exclusive --------------------------------------------------------------------------------------------------
    Scene(
        EXCLUSIVE,
        job_set(RACK, f"annotations: {{kueue.x-k8s.io/podset-required-topology: {HOST}}}", parallelism=1),
        f"node: metadata.annotations[kueue.x-k8s.io/podset-required-topology]: got {HOST}, but exclusive-topology "
        f"already keeps each group in one {RACK}; remove one of the two",
    ),
    Scene(
        EXCLUSIVE,
        job_set(RACK, "labels: {team: a}", parallelism=1, pod=together(HOST)),
        "node: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: got "
        f"{HOST}, but exclusive-topology already keeps each group in one {RACK}; remove one of the two",
    ),
    # ---- domains ----------------------------------------------------------------------------------------------------
    Scene(
        DOMAIN,
        _of_one_job(job_set(RACK, parallelism=3)),
        "spec.replicatedJobs[0].template.metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]: 3 pods in "
        f"one {RACK}: no known domain holds more than 2; write a wider level or fewer pods",
    ),
    Scene(
        DOMAIN,
        job_set(RACK, parallelism=3),
        f"metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]: 3 pods in one {RACK}: no known domain "
        "holds more than 2; write a wider level or fewer pods",
    ),
    Scene(
        DOMAIN,
        job_set(RACK, parallelism=1, replicas=3),
        f"metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]: 3 groups, each alone in one {RACK}: 2 "
        "known hold one; write a narrower level or fewer groups",
    ),
    Scene(
        DOMAIN,
        job(template=f"annotations: {{kueue.x-k8s.io/podset-required-topology: {HOST}}}"),
        f"metadata.annotations[kueue.x-k8s.io/podset-required-topology]: 2 pods in one {HOST}: no known domain holds "
        "more than 1; write a wider level or fewer pods",
    ),
    Scene(
        DOMAIN,
        job(template="annotations: {kueue.x-k8s.io/podset-required-topology: example.com/row}"),
        "metadata.annotations[kueue.x-k8s.io/podset-required-topology]: got example.com/row, a label that no known "
        "node has that fits; write one that nodes have",
    ),
    Scene(
        DOMAIN,
        f"""
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: serve, namespace: ml}}
        spec:
          replicas: 2
          selector: {{matchLabels: {{team: a}}}}
          template: {{metadata: {{labels: {{team: a}}}}, spec: {together(HOST)}}}
        """,
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: 2 pods in one "
        f"{HOST}: no known domain holds more than 1; write a wider level or fewer pods",
    ),
    Scene(
        DOMAIN,
        job(parallelism=4, completions=4),
        "spec.containers: 4 pods start together, and all known nodes hold 3 such; write fewer, or they wait for nodes",
    ),
)
"""The wrong groups, each with the line that the webhook says."""
