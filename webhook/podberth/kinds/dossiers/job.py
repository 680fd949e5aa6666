"""Facts about Kubernetes' own Jobs and CronJobs.

An Indexed Job whose pods communicate is a gang; the pods of any other Job are single tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, mapping_at, number, text_at, unread
from ...wellknown import GANG_SIZE_ANNOTATION, JOB_COMPLETION_INDEX
from ..dossier import Dossier, Finished, KindNote, OwnerKind
from ..group_rules import JOB_SCHEDULING, GroupRules, job_minimums
from ..jobs import job_pods, stamp_job
from ..members import Member, Membership, Subject, completion_index, named
from ..name_sets import under
from ..places import PLACEHOLDER_MINUTES, PLACEHOLDER_UID, Found, Scene, TemplatePlace, WorkloadKind
from ..starts import Start, all_of, none_of


def _job_spec(scene: Scene) -> Mapping[str, Any]:
    cron = scene.document.get("kind") == "CronJob"
    return mapping_at(scene.spec, "jobTemplate", "spec") if cron else scene.spec


def _stamp_job(pod: dict[str, Any], scene: Scene) -> None:
    stamp_job(pod, scene.name, scene.uid, scene.spec)


def _stamp_cron_job(pod: dict[str, Any], scene: Scene) -> None:
    stamp_job(pod, f"{scene.name}-{PLACEHOLDER_MINUTES}", PLACEHOLDER_UID, _job_spec(scene))


def _job_replicas(scene: Scene) -> int:
    return job_pods(_job_spec(scene))


def _indexed_job(pod: Subject) -> Member | None:
    """Return a pod's membership in an Indexed Job; None if the Job's pods are independent tasks.

    The pods are independent if completions is above parallelism, or if the Job is an array of tasks. Kubernetes, too,
    requires completions equal to parallelism for a gang (KEP-5547). The Job controller never makes more pods than
    completions (pkg/controller/job/job_controller.go manageJob).
    """
    if pod.controller is None or pod.controller.kind != "Job":
        return None
    # If the CronJob has made no Job yet, the Job template of the CronJob is read.
    spec = at(pod.owner("Job"), "spec") or at(pod.owner("CronJob"), "spec", "jobTemplate", "spec")
    size = 0
    if isinstance(spec, Mapping):
        parallelism = count(spec.get("parallelism"), 1)
        size = count(spec.get("completions"), parallelism)
        if unread(spec.get("parallelism"), spec.get("completions")):
            size = 0
        elif size > parallelism or _is_array(spec):
            return None
    return Member("Job", named("job", pod.controller.uid), size, completion_index(pod))


def _is_array(job: Found) -> bool:
    """Return whether an Indexed Job is an array of independent tasks: no field shows that the Job's pods communicate.

    Pods have names in DNS only with a subdomain (kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication), and
    with ``backoffLimitPerIndex`` each index fails by itself. A Job that asks for a gang or a topology is no array.
    """
    if job.get("backoffLimitPerIndex") is not None:
        return True
    said = mapping_at(job, "template", "metadata", "annotations")
    asks = at(job, *JOB_SCHEDULING, "gang") is not None or any(key in said for key in _ASKS)
    pods = at(job, "template", "spec")
    return pods is not None and not asks and not at(pods, "subdomain")


_ASKS: Final = {GANG_SIZE_ANNOTATION} | under(
    "kueue.x-k8s.io", "podset-required-topology podset-preferred-topology podset-unconstrained-topology"
)
_SOURCE: Final = "kubernetes/api batch/v1/types.go"


# kubernetes-sigs/kueue pkg/controller/jobs/job: fewer pods of a Job may start.
_PARTIAL: Final = "kueue.x-k8s.io/job-min-parallelism"


def _minimums(job: Found, *path: str) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each minimum of a Job that Kueue refuses, or that contradicts the Job's parallelism.

    ``path`` leads to the Job, as in a CronJob. Kueue's minimum has to be below the number of the Job's pods
    (kubernetes-sigs/kueue pkg/controller/jobs/job/job_webhook.go validatePartialAdmissionCreate).
    """
    yield from job_minimums(job, *path, "spec")
    made, steps = mapping_at(job, *path), ("metadata", "annotations", _PARTIAL)
    pods, least = job_pods(mapping_at(made, "spec")), number(text_at(made, *steps))
    if pods and least is not None and not 0 < least < pods:
        want = f"want 1 to {pods - 1}, fewer than its {pods} pods" if pods > 1 else "want none, for it has one pod"
        yield (*path, *steps), f"got {least}, {want}: Kueue refuses the Job"


def _starts(job: Found, pods: Sequence[Any]) -> Start[Any]:
    """Return the number of a Job's pods that start together: all, or none if the Job's schedulingPolicy is ``basic``.

    The field ``minCount`` of the schedulingPolicy ``gang``, or Kueue's annotation for partial admission, makes the
    number smaller.
    """
    if at(job, "spec", *JOB_SCHEDULING, "basic") is not None:
        return none_of(pods)
    start = all_of(pods)
    if (least := count(at(job, "spec", *JOB_SCHEDULING, "gang", "minCount"))) > 0:
        start = start.at_least(least)
    return start.at_least(number(text_at(job, "metadata", "annotations", _PARTIAL)) or start.least)


DOSSIER: Final = Dossier(
    name="Job",
    versions={
        "kubernetes-sigs/kueue": "ff69552e, after v0.19.2",
        "kubernetes/api": "v0.36.3",
        "kubernetes/kubernetes": "v1.36.3",
    },
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"batch/v1", "extensions/v1beta1"}),
            kind="Job",
            source=_SOURCE,
            places=(TemplatePlace(path=("spec", "template"), stamp=_stamp_job, replicas=_job_replicas),),
        ),
        WorkloadKind(
            api_versions=frozenset({"batch/v1", "batch/v1beta1", "batch/v2alpha1"}),
            kind="CronJob",
            source=_SOURCE,
            places=(
                TemplatePlace(
                    path=("spec", "jobTemplate", "spec", "template"), stamp=_stamp_cron_job, replicas=_job_replicas
                ),
            ),
        ),
    ),
    last_memberships=(
        Membership(
            name="Indexed Job",
            source="kubernetes/api batch/v1/types.go JobCompletionIndexAnnotation",
            read=_indexed_job,
            size="the Job: `completions`, where `parallelism` is not less",
            sized_by=("Job", "CronJob"),
            alike=True,
            label=JOB_COMPLETION_INDEX,
            annotation=JOB_COMPLETION_INDEX,
        ),
    ),
    notes=(
        KindNote(
            key=JOB_COMPLETION_INDEX,
            kind="batch/Job",
            title="Indexed Job",
            keeps="the finalizer that the Job controller takes off; `schedulingGroup` and PodGroup, where it makes "
            "them itself (gate `WorkloadWithJob`)",
            source="kubernetes/kubernetes pkg/controller/job/job_controller.go; KEP-5547",
        ),
        KindNote(
            kind="batch/Job",
            title="Job of independent tasks",
            sign="an owner of kind Job, without an index, with more completions than run at once, with "
            "`backoffLimitPerIndex`, or without `subdomain`, a gang in `scheduling` and Kueue's topology",
            keeps="the finalizer that the Job controller takes off",
            source="kubernetes/api batch/v1/types.go JobSpec.CompletionMode",
        ),
    ),
    owners=(
        OwnerKind(
            # A Job also links a pod to the owner of the Job: a JobSet, an MPIJob.
            source="kubernetes/api batch/v1/types.go JobSpec",
            group="batch",
            versions=("v1",),
            kind="Job",
            spec={
                "parallelism": None,
                "completions": None,
                "backoffLimit": None,
                "backoffLimitPerIndex": None,
                "podFailurePolicy": {
                    "rules": {ELEMENT: {"action": None, "onPodConditions": {ELEMENT: {"type": None}}}},
                },
                "scheduling": {"schedulingPolicy": {"gang": {}}},
                "template": {
                    "metadata": {"annotations": dict.fromkeys(sorted(_ASKS))},
                    "spec": {"subdomain": None},
                },
            },
        ),
    ),
    finished=(
        Finished(
            source="kubernetes/api batch/v1/types.go JobConditionType",
            group="batch",
            kind="Job",
            words=frozenset({"Complete", "Failed"}),
        ),
    ),
    group_rules=(
        GroupRules(
            kind=("batch", "Job"),
            minimums=_minimums,
            starts=lambda gang: _starts(gang.document, gang.pods),
        ),
        GroupRules(
            kind=("batch", "CronJob"),
            minimums=lambda cron_job: _minimums(cron_job, "spec", "jobTemplate"),
            starts=lambda gang: _starts(mapping_at(gang.document, "spec", "jobTemplate"), gang.pods),
        ),
    ),
)
