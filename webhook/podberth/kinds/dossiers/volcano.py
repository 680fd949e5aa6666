"""Volcano: Jobs with tasks, which its own scheduler lets in as a whole."""

from collections.abc import Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import list_at, text
from ..dossier import TEMPLATE_ASKS, Dossier, Finished, KindNote, OwnerKind
from ..members import Member, Membership, Subject, index_of, named
from ..places import Place, Scene, WorkloadKind, item_replicas
from ..roles import Role, counted, read_once, role_of
from ..stamping import add_annotations, add_labels, owned_by_workload, set_name


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """As createJobPod (volcano-sh/volcano pkg/controllers/job/job_controller_util.go) for a task's first pod."""
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
            plural="jobs",
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
)
