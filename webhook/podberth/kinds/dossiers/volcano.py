"""Volcano: Jobs with tasks, which its own scheduler lets in as a whole.

A PodGroup is let in by its sum of resources (``minResources``); HyperNodes are its topology. For pods without a group
Volcano's controller makes one of the first pod's annotations, for one pod unless
``group-min-member`` of their owner says more.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.pod import annotations
from ...kube.unchecked import at, count, list_at, text, text_at
from ..dossier import TEMPLATE_ASKS, Dossier, Finished, KindNote, OwnerKind
from ..group_rules import GroupRules, above, items
from ..members import Member, Membership, Subject, completion_index, index_of, named
from ..places import Found, Place, Scene, Steps, WorkloadKind, item_replicas
from ..queues import VOLCANO_QUEUE, Queue, QueueForm
from ..roles import Role, counted, read_once, role_of
from ..stamping import add_annotations, add_labels, owned_by_workload, set_name
from ..systems import Dialect, PodGroupKind, System
from ..words import under, words


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write what createJobPod (pkg/controllers/job/job_controller_util.go) writes on a task's first pod."""
    task = scene.key or "default0"
    keys = {
        "volcano.sh/job-name": scene.name,
        "volcano.sh/job-namespace": scene.namespace,
        "volcano.sh/queue-name": text(scene.spec.get("queue")) or "default",
        "volcano.sh/task-spec": task,
        "volcano.sh/task-index": "0",
    }
    add_labels(pod, keys)
    group = {"scheduling.k8s.io/group-name": f"{scene.name}-{scene.uid}", "volcano.sh/job-version": "0"}
    add_annotations(pod, {**keys, **group})
    owned_by_workload(pod, scene)
    set_name(pod, f"{scene.name}-{task}-0")
    scheduler = text(scene.spec.get("schedulerName")) or "volcano"
    pod["spec"]["schedulerName"] = pod["spec"].get("schedulerName") or scheduler


def _volcano_job(pod: Subject) -> Member:
    name = pod.labels.get("volcano.sh/job-name") or pod.annotations.get("volcano.sh/job-name") or ""
    roles = read_once(pod.owner("Job"), _tasks)
    index = pod.labels.get("volcano.sh/task-index") or pod.annotations.get("volcano.sh/task-index")
    role = pod.labels.get("volcano.sh/task-spec") or pod.annotations.get("volcano.sh/task-spec") or ""
    identity = pod.controller.uid if pod.controller else name
    return Member("VolcanoJob", named("vcjob", identity), counted(roles), index_of(index), role, roles=roles)


def _tasks(job: Mapping[str, Any] | None) -> tuple[Role, ...]:
    return tuple(map(role_of, list_at(job, "spec", "tasks")))


def _volcano_group(pod: Subject) -> Member:
    """A group of Volcano's, whose size no pod says: of ``group-min-member`` only a pod's owner is asked.

    Source: volcano-sh/volcano pkg/controllers/podgroup/pg_controller_handler.go getMinMemberFromUpperRes.
    """
    key, volcanos_own = "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"
    name = pod.annotations.get(key) or pod.annotations[volcanos_own]
    return Member("PodGroup", name, pod.group_size(name, _API_GROUP), completion_index(pod))


def _named(pod: Mapping[str, Any]) -> object:
    keys = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
    return next((found for key in keys if (found := annotations(pod).get(key))), None)


def _queue(document: Mapping[str, Any]) -> Queue:
    state = text_at(document, "status", "state")
    # types.go QueueState: Open, Closed, Closing, Unknown
    return Queue("", f"status.state {state}" if state in ("Closed", "Closing") else "")


_API_GROUP: Final = "scheduling.volcano.sh"
_TYPES: Final = "volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1"


def _minimums(job: Found) -> Iterator[tuple[Steps, str]]:
    """Find values that volcano-sh/volcano pkg/webhooks/admission/jobs/validate refuses, where its webhook runs."""
    total, tasks = 0, at(job, "spec", "tasks")
    for index, task in items(tasks):
        replicas, least = count(task.get("replicas"), 1), count(task.get("minAvailable"))
        total += replicas
        if least > replicas:
            yield ("spec", "tasks", index, "minAvailable"), above(least, replicas, "its replicas")
    least = count(at(job, "spec", "minAvailable"))
    if tasks and least > total:
        yield ("spec", "minAvailable"), above(least, total, "the pods of its tasks")


DOSSIER: Final = Dossier(
    name="Volcano",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"batch.volcano.sh/v1alpha1"}),
            kind="Job",
            source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go",
            places=(Place(path=("spec", "tasks", ELEMENT, "template"), stamp=_stamp, replicas=item_replicas),),
        ),
    ),
    memberships=(
        Membership(
            name="Volcano Job",
            source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/labels.go",
            read=_volcano_job,
            size="the job: `replicas` of its tasks",
            sized_by=("Job",),
            label="volcano.sh/job-name",
            role_from="label or annotation `volcano.sh/task-spec`",
            annotation="volcano.sh/job-name",
        ),
    ),
    pod_keys=frozenset({"volcano.sh/task-index", "volcano.sh/task-spec"}),
    notes=(
        KindNote(
            key="volcano.sh/job-name",
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
            spec={"tasks": {ELEMENT: {"replicas": None, "template": TEMPLATE_ASKS}}},
        ),
    ),
    finished=(
        # One that is Aborted may be resumed.
        Finished(
            source="volcano-sh/volcano pkg/controllers/garbagecollector/garbagecollector.go isJobFinished",
            group="batch.volcano.sh",
            kind="Job",
            field=("state", "phase"),
            words=frozenset({"Completed", "Failed", "Terminated"}),
        ),
    ),
    podless_groups=frozenset({"scheduling.volcano.sh", "topology.volcano.sh"}),
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
        elsewhere=(
            "`spec.minMember`, `spec.queue` of the PodGroup or `spec.minAvailable`, `spec.queue` of the Volcano Job",
            "`spec.networkTopology` of either",
            "`metadata.annotations[scheduling.volcano.sh/group-min-member]` of what owns pods without a group",
        ),
        topology="set spec.networkTopology of its PodGroup or Volcano Job",
        keeps="the sum of resources in the PodGroup's `minResources`, made of the first pod or the job's template",
    ),
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
    ),
    queues=(
        QueueForm(
            source=f"{_TYPES}/types.go",
            kind=VOLCANO_QUEUE,
            title="Volcano Queue",
            versions=("v1beta1",),
            read=_queue,
        ),
    ),
    dialects=(
        Dialect(
            name="volcano-vgpu",
            source="volcano-sh/volcano docs/user-guide/how_to_use_volcano_vgpu.md, how_to_use_gpu_sharing.md",
            resources=words(
                "volcano.sh/vgpu-number volcano.sh/vgpu-memory volcano.sh/vgpu-memory-percentage "
                "volcano.sh/vgpu-cores volcano.sh/gpu-number volcano.sh/gpu-memory"
            ),
        ),
    ),
    group_rules=(
        GroupRules(
            kind=("batch.volcano.sh", "Job"),
            minimums=_minimums,
            # Their default names in Volcano's plugins (volcano-sh/volcano pkg/controllers/job/plugins/
            # distributed-framework), and in its examples.
            fronts=frozenset({"chief", "head", "launcher", "master", "mpimaster"}),
            queue=("spec", "queue"),
        ),
    ),
)
