"""Facts about Volcano: Jobs with tasks, which Volcano's scheduler admits as a whole.

Volcano admits a PodGroup by the PodGroup's sum of resources (``minResources``). HyperNodes are Volcano's topology. For
a pod without a group, Volcano's controller makes a PodGroup from the created pod's resources and annotations. The
minimum of such a PodGroup is one pod, unless the pod's own controller has the annotation ``group-min-member``
(pkg/controllers/podgroup/pg_controller_handler.go buildPodGroupFromPod).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...devices.resources import MODIFIERS
from ...kube.paths import ELEMENT, Path
from ...kube.pod import annotations, labels
from ...kube.unchecked import at, count, list_at, mapping_at, number, text, text_at
from ...wellknown import GANG_LABEL
from ..dossier import TEMPLATE_ASKS, Dossier, Finished, KindNote, OwnerKind
from ..group_rules import GroupRules, StatedMinimum, above, items
from ..job_sets import REPLICATED_JOBS, annotations_of_job
from ..members import Member, Membership, Subject, completion_index, index_of, named
from ..name_sets import under
from ..places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Found, Scene, TemplatePlace, WorkloadKind
from ..queues import VOLCANO_QUEUE, FullQueue, Queue, QueueForm
from ..roles import Predicted, Role, counted, predicted, read_once, role_of
from ..stamping import add_annotations, add_labels, own, owned_by_workload, set_name
from ..starts import Share, Start, StartingGang
from ..systems import Dialect, PodGroupKind, System


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that createJobPod writes on the first pod of a task.

    Source: pkg/controllers/job/job_controller_util.go.
    """
    _stamp_task(pod, scene, scene.name, scene.uid, scene.spec)
    owned_by_workload(pod, scene)
    set_name(pod, f"{scene.name}-{scene.key or 'default0'}-0")


def _stamp_made(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that Volcano writes if a CronJob or a JobFlow makes the Job; the Job's name is unknown.

    Source: pkg/controllers/cronjob/cronjob_controller_util.go, pkg/controllers/jobflow/jobflow_controller_util.go.
    """
    name = f"{scene.name}-{PLACEHOLDER_HASH}"
    _stamp_task(pod, scene, name, PLACEHOLDER_UID, mapping_at(_job(scene), "spec"))
    own(pod, "batch.volcano.sh/v1alpha1", "Job", name, PLACEHOLDER_UID)
    set_name(pod, f"{name}-{scene.key or 'default0'}-0")


def _job(scene: Scene) -> Found:
    return read_once(scene.document, _job_made)


def _job_made(document: Found | None) -> Predicted:
    """Return the Job that Volcano makes from a CronJob, or from a JobTemplate that a JobFlow names."""
    cron = at(document, "kind") == "CronJob"
    made = mapping_at(document, "spec", "jobTemplate") if cron else mapping_at(document)
    metadata = {**mapping_at(document, "metadata"), "labels": mapping_at(made, "metadata", "labels")}
    return predicted("batch.volcano.sh/v1alpha1", "Job", metadata, mapping_at(made, "spec"))


def _stamp_task(pod: dict[str, Any], scene: Scene, name: str, uid: str, job: Found) -> None:
    task = scene.key or "default0"
    keys = {
        "volcano.sh/job-name": name,
        "volcano.sh/job-namespace": scene.namespace,
        "volcano.sh/queue-name": text(job.get("queue")) or "default",
        "volcano.sh/task-spec": task,
        "volcano.sh/task-index": "0",
    }
    add_labels(pod, keys)
    group = {"scheduling.k8s.io/group-name": f"{name}-{uid}", "volcano.sh/job-version": "0"}
    add_annotations(pod, {**keys, **group})
    scheduler = text(job.get("schedulerName")) or "volcano"
    pod["spec"]["schedulerName"] = pod["spec"].get("schedulerName") or scheduler


def _volcano_job(pod: Subject) -> Member:
    name = pod.labels.get(_JOB_NAME) or pod.annotations.get(_JOB_NAME) or ""
    roles = read_once(pod.owner("Job"), _tasks)
    index = pod.labels.get("volcano.sh/task-index") or pod.annotations.get("volcano.sh/task-index")
    role = pod.labels.get("volcano.sh/task-spec") or pod.annotations.get("volcano.sh/task-spec") or ""
    identity = pod.controller.uid if pod.controller else name
    return Member("VolcanoJob", named("vcjob", identity), counted(roles), index_of(index), role, roles=roles)


def _tasks(job: Mapping[str, Any] | None) -> tuple[Role, ...]:
    return tuple(role_of(task, _NO_REPLICAS) for task in list_at(job, "spec", "tasks"))


def _replicas(task: object) -> int:
    return count(at(task, "replicas"), _NO_REPLICAS)


def _volcano_group(pod: Subject) -> Member:
    """Return a pod's membership in a PodGroup of Volcano; no pod states the size.

    Volcano reads the annotation ``group-min-member`` only on owners. Source: volcano-sh/volcano
    pkg/controllers/podgroup/pg_controller_handler.go getMinMemberFromUpperRes.
    """
    key, volcanos_own = "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"
    name = pod.annotations.get(key) or pod.annotations[volcanos_own]
    return Member("PodGroup", name, pod.group_size(name, _API_GROUP), completion_index(pod))


def _named(pod: Mapping[str, Any]) -> object:
    keys = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
    return next((found for key in keys if (found := annotations(pod).get(key))), None)


def _names_a_group(pod: Mapping[str, Any]) -> bool:
    return bool(_named(pod)) or _JOB_NAME in labels(pod) or _JOB_NAME in annotations(pod)


def _starts_alone(pod: Subject) -> bool:
    """Return whether the PodGroup that Volcano makes for the pod certainly has a minimum of one pod.

    The minimum is one for a bare pod with the label ``GANG_LABEL``, and for a pod of a known Job unless the annotation
    ``group-min-member`` states more. It is one for a pod that an operator has created, because Volcano reads no
    annotations of operators' objects. It is not certain for a pod that an operator will create from a template, because
    the operator may name a group on the pod. Source: pg_controller_handler.go getAnnotationsFromUpperRes,
    getMinMemberFromUpperRes.
    """
    if pod.spec.get("schedulerName") != "volcano" or _names_a_group({"metadata": _metadata(pod)}):
        return False
    if pod.controller is None:
        return GANG_LABEL in pod.labels
    owner = next(pod.lineage(), None)
    if pod.controller.kind not in _READ_OWNERS:
        return not isinstance(owner, Predicted)
    said = annotations_of_job(pod, owner) if pod.controller.kind == "Job" and owner is not None else None
    return said is not None and (number(text(said.get(_LEAST))) or 1) == 1


def _starts_with_fewer(pod: Subject) -> bool:
    """Return whether a Volcano Job above the pod starts with fewer pods than one of its tasks has.

    The result is False if the Job's minimum is the number of its workers, as with the MPI plugin.
    """
    for job in pod.lineage():
        most = max((_replicas(task) for _, task in items(at(job, "spec", "tasks"))), default=0)
        if 0 < count(at(job, "spec", "minAvailable")) < most:
            return True
    return False


def _metadata(pod: Subject) -> Mapping[str, Any]:
    return {"labels": pod.labels, "annotations": pod.annotations}


def _queue(document: Mapping[str, Any]) -> Queue:
    state = text_at(document, "status", "state")
    # types.go QueueState: Open, Closed, Closing, Unknown
    return Queue(text_at(document, "spec", "parent"), f"status.state {state}" if state in ("Closed", "Closing") else "")


_API_GROUP: Final = "scheduling.volcano.sh"
# The pods of a task that states no `replicas`: neither the CRD nor pkg/webhooks/admission/jobs/mutate has a default.
_NO_REPLICAS: Final = 0
_JOB_NAME: Final = "volcano.sh/job-name"
_LEAST: Final = f"{_API_GROUP}/group-min-member"
_READ_OWNERS: Final = frozenset({"DaemonSet", "Job", "ReplicaSet", "StatefulSet"})
"""The kinds of owners whose annotations Volcano reads (pg_controller_handler.go getAnnotationsFromUpperRes)."""
_TYPES: Final = "volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1"


def _minimums(job: Found) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each minimum that Volcano's webhook refuses.

    Source: volcano-sh/volcano pkg/webhooks/admission/jobs/validate.
    """
    total, tasks = 0, at(job, "spec", "tasks")
    for index, task in items(tasks):
        replicas, least = _replicas(task), count(task.get("minAvailable"))
        total += replicas
        if least > replicas:
            yield ("spec", "tasks", index, "minAvailable"), above(least, replicas, "its replicas")
    least = count(at(job, "spec", "minAvailable"))
    if tasks and least > total:
        yield ("spec", "minAvailable"), above(least, total, "the pods of its tasks")


def _counts_workers_alone(document: Found) -> bool:
    """Return whether a Job has the MPI plugin; the Job's minimum may then count only the workers.

    Source: docs/user-guide/how_to_use_mpi_plugin.md.
    """
    return at(document, "spec", "plugins", "mpi") is not None


def _task_waits(_document: Found, task: object) -> str:
    """Return "dependsOn" if a task waits until another task has started; else an empty text.

    Source: job_controller_actions.go waitDependsOnTaskMeetCondition.
    """
    return "dependsOn" if at(task, "dependsOn", "name") else ""


def _starts(gang: StartingGang) -> Start[Any]:
    """Return the number of pods of a Volcano Job that start together, with the defaults of Volcano's webhook.

    If the Job's minimum is below the sum of the tasks' minimums, any of the Job's pods may start first. Sources:
    volcano-sh/volcano pkg/webhooks/admission/jobs/mutate, pkg/scheduler/api/job_info.go CheckTaskReady.
    """
    shares = []
    for each in gang.pods:
        task = gang.item(each, -1)
        least = each.replicas
        parts = mapping_at(task, "partitionPolicy")
        if task.get("minAvailable") is not None:
            least = count(task.get("minAvailable"))
        elif count(parts.get("minPartitions")):
            least = count(parts.get("minPartitions")) * count(parts.get("partitionSize"), 1)
        shares.append(Share(pods=each, most=each.replicas, least=min(least, each.replicas)))
    tasks = sum(each.least for each in shares)
    stated = min(count(at(gang.document, "spec", "minAvailable")) or tasks, sum(each.most for each in shares))
    return Start(shares=tuple(shares), least=max(tasks, stated)).at_least(stated)


DOSSIER: Final = Dossier(
    name="Volcano",
    versions={"volcano-sh/volcano": "ed72c7c8, after v1.15.1"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"batch.volcano.sh/v1alpha1"}),
            kind="Job",
            source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go",
            places=(
                TemplatePlace(
                    path=("spec", "tasks", ELEMENT, "template"),
                    stamp=_stamp,
                    replicas=lambda scene: _replicas(scene.item),
                ),
            ),
            names=(
                ("spec", "minAvailable"),
                ("spec", "schedulerName"),
                *(("spec", "tasks", ELEMENT, name) for name in ("replicas", "minAvailable")),
            ),
        ),
        *(
            WorkloadKind(
                api_versions=frozenset({f"{group}/v1alpha1"}),
                kind=kind,
                source=f"volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/{file}",
                only_template=kind == "JobTemplate",
                places=(
                    TemplatePlace(
                        path=(*path, "tasks", ELEMENT, "template"),
                        stamp=_stamp_made,
                        replicas=lambda scene: _replicas(scene.item),
                        owner=_job,
                    ),
                ),
            )
            for group, kind, file, path in (
                ("batch.volcano.sh", "CronJob", "batch/v1alpha1/job.go", ("spec", "jobTemplate", "spec")),
                ("flow.volcano.sh", "JobTemplate", "flow/v1alpha1/jobtemplate_types.go", ("spec",)),
            )
        ),
    ),
    memberships=(
        Membership(
            name="Volcano Job",
            source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/labels.go",
            read=_volcano_job,
            size="the job: `replicas` of its tasks",
            sized_by=("Job",),
            label=_JOB_NAME,
            role_from="label or annotation `volcano.sh/task-spec`",
            annotation=_JOB_NAME,
        ),
    ),
    pod_keys=frozenset({"volcano.sh/task-index", "volcano.sh/task-spec"}),
    notes=(
        KindNote(
            key=_JOB_NAME,
            kind="batch.volcano.sh/Job",
            title="Volcano Job",
            keeps="its PodGroup and the annotation that names it; `schedulerName`; resources, which `minResources` "
            "sums; affinity, for Volcano places it",
            source="volcano-sh/volcano pkg/controllers/job/{job_controller_util,job_controller_actions}.go",
            templates="`spec.tasks.*.template`, for topology `spec.networkTopology`",
        ),
    ),
    owners=(
        OwnerKind(
            source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go",
            group="batch.volcano.sh",
            versions=("v1alpha1",),
            kind="Job",
            spec={
                "minAvailable": None,
                "tasks": {ELEMENT: {"replicas": None, "template": TEMPLATE_ASKS}},
                "networkTopology": {"mode": None, "highestTierAllowed": None, "highestTierName": None},
            },
        ),
    ),
    finished=(
        # An Aborted Job is not finished: it may be resumed.
        Finished(
            source="volcano-sh/volcano pkg/controllers/garbagecollector/garbagecollector.go isJobFinished",
            group="batch.volcano.sh",
            kind="Job",
            field=("state", "phase"),
            words=frozenset({"Completed", "Failed", "Terminated"}),
        ),
    ),
    podless_groups=frozenset({"scheduling.volcano.sh", "topology.volcano.sh"}),
    podless_kinds=frozenset({"flow.volcano.sh/v1alpha1/JobFlow"}),
    system=System(
        name="volcano",
        precedence=3,
        title="Volcano",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/{scheduling/v1beta1,batch/v1alpha1}/labels.go, "
        "scheduling/v1beta1/types.go PodGroupSpec, pkg/controllers/podgroup",
        schedulers=frozenset({"volcano"}),
        labels=under("volcano.sh", "job-name queue-name"),
        annotations=under(
            "scheduling.volcano.sh", "group-name group-min-member group-min-resources queue-name queue-allocation-gate"
        )
        | under(
            "volcano.sh", "job-name queue-name network-topology-mode network-topology-highest-tier numa-topology-policy"
        )
        | {"scheduling.k8s.io/group-name"},
        reads=(
            "`spec.schedulerName`",
            "annotations `scheduling.k8s.io/group-name`, `scheduling.volcano.sh/queue-name`",
            "of pods without a group annotations `volcano.sh/network-topology-{mode,highest-tier}`",
        ),
        writes="nothing of gangs; where it starts pods one by one, as `plain`",
        elsewhere=(
            "`spec.minMember`, `spec.queue` of the PodGroup or `spec.minAvailable`, `spec.queue` of the Volcano Job",
            "`spec.networkTopology` of either",
            "`metadata.annotations[scheduling.volcano.sh/group-min-member]` of what owns pods without a group",
        ),
        asked=under("volcano.sh", "network-topology-mode network-topology-highest-tier"),
        asked_above=(("spec", "networkTopology"), ("spec", "template", "networkTopology")),  # the latter is Kthena's
        topology="set spec.networkTopology of its PodGroup",
        alone_topology="set annotation volcano.sh/network-topology-mode of the pod template",
        keeps="of pods that name a group the sum of resources in the PodGroup's `minResources`; of others nothing, for "
        "the PodGroup is made of the created pod",
        keeps_of=_names_a_group,
        tolerates="it sums resources alone. Not with `predicate.CacheEnable` of the plugin predicates, off by default, "
        "which takes what it found for one pod of a task for all of them (pkg/scheduler/plugins/predicates/cache.go)",
        starts_alone=_starts_alone,
        starts_with_fewer=_starts_with_fewer,
        run="ed72c7c8: scheduler, controllers and webhooks, on Kubernetes 1.36.3",
    ),
    own_topology={("volcano", "VolcanoJob"): "set spec.networkTopology of the Volcano Job"},
    groups=tuple(
        Membership(
            name="Volcano PodGroup",
            source=f"{_TYPES}/labels.go",
            read=_volcano_group,
            size="its PodGroup",
            annotation=key,
            api_groups=(_API_GROUP,),
        )
        for key in ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
    ),
    pod_groups=PodGroupKind(
        name="volcano",
        source=f"{_TYPES}/labels.go",
        api_groups=(_API_GROUP,),
        versions=("v1beta1",),
        named_by="annotation scheduling.k8s.io/group-name",
        read=_named,
        asked="networkTopology",
        parts="subGroupPolicy",
    ),
    queues=(
        QueueForm(
            source=f"{_TYPES}/types.go",
            kind=VOLCANO_QUEUE,
            annotation="scheduling.volcano.sh/queue-name",
            scheduler="volcano",
            stopped="a Volcano Queue that takes no jobs: {}; open it, or write another",
            # Volcano's scheduler makes these queues when it starts (pkg/scheduler/cache/cache.go
            # newDefaultAndRootQueue). Its webhook writes the first if a Job names none.
            of_its_own=frozenset({"default", "root"}),
            # Volcano's webhook refuses a Volcano Job in a queue with children
            # (pkg/webhooks/admission/jobs/validate/admit_job.go); nothing checks other pods.
            only_leaves=True,
            root="root",
            title="Volcano Queue",
            versions=("v1beta1",),
            read=_queue,
            full=(
                FullQueue(
                    source="volcano-sh/volcano pkg/scheduler/plugins/{capacity,proportion} JobEnqueueableFn",
                    message=re.compile(r"queue resource quota insufficient(?:: (?P<said>.*))?"),
                    in_events=True,
                    # The scheduler sets the phase Inqueue once the queue has room (pkg/scheduler/actions/enqueue).
                    phase="Pending",
                    title="its quota has no room for this group",
                    do=(
                        "wait, ask for less, or name another queue: kubectl get queues.scheduling.volcano.sh",
                        "or have the quota raised: spec.capability of the Queue",
                    ),
                ),
            ),
        ),
    ),
    dialects=(
        Dialect(
            name="volcano-vgpu",
            source="volcano-sh/volcano docs/user-guide/how_to_use_volcano_vgpu.md, how_to_use_gpu_sharing.md",
            resources=frozenset({"volcano.sh/gpu-number", "volcano.sh/gpu-memory", *MODIFIERS["volcano-vgpu"]}),
        ),
    ),
    stated_minimums=(
        StatedMinimum(
            key=_LEAST,
            # Read from the owners of pods that name no group. A ReplicaSet has its Deployment's annotations (kubernetes
            # pkg/controller/deployment/util SetNewReplicaSetAnnotations).
            source="volcano-sh/volcano pkg/controllers/podgroup/pg_controller_handler.go getMinMemberFromUpperRes",
            kinds=frozenset(
                {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("batch", "Job")}
            ),
            scheduler="volcano",
            unless="scheduling.k8s.io/group-name",
            needed_under="volcano",
            needed_at={
                ("apps", "StatefulSet"): ("metadata", "annotations"),
                ("batch", "Job"): ("metadata", "annotations"),
                ("batch", "CronJob"): ("spec", "jobTemplate", "metadata", "annotations"),
                ("jobset.x-k8s.io", "JobSet"): (*REPLICATED_JOBS, ELEMENT, "template", "metadata", "annotations"),
            },
        ),
    ),
    group_rules=(
        GroupRules(
            kind=("batch.volcano.sh", "Job"),
            minimums=_minimums,
            starts=_starts,
            # The names of fronts in Volcano's plugins, by default, and in its examples (volcano-sh/volcano
            # pkg/controllers/job/plugins/distributed-framework).
            fronts=frozenset({"chief", "head", "launcher", "master", "mpimaster"}),
            queue=("spec", "queue"),
            minimum=("spec", "minAvailable"),
            workers_alone=_counts_workers_alone,
            front_waits=_task_waits,
        ),
    ),
)
