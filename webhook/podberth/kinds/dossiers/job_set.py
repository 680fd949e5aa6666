"""Facts about JobSets, whose replicated Jobs are one gang."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, list_at, mapping_at, text_at, unread
from ..dossier import TEMPLATE_ASKS, Dossier, Finished, KindNote, OwnerKind
from ..forms import find
from ..group_rules import GroupRules, items, job_minimums
from ..job_sets import JOB_TEMPLATE, REPLICATED_JOBS, jobs_before, replicated_pods, stamp_job_set
from ..jobs import job_pods
from ..members import Member, Membership, Subject, completion_index, index_of, named
from ..places import Found, Scene, TemplatePlace, WorkloadKind
from ..roles import Role, asks_of, counted, read_once
from ..stamping import add_annotations
from ..starts import together


def _jobs_before(job_set: Found) -> Mapping[str, int]:
    return jobs_before(at(job_set, "spec", "replicatedJobs"))


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    for key in ("exclusive-topology", "node-selector"):
        name = f"alpha.jobset.sigs.k8s.io/{key}"
        # The replicated job's annotation, or else that of the JobSet (pkg/controllers/jobset_controller.go,
        # labelAndAnnotateObject).
        own = text_at(scene.item, "template", "metadata", "annotations", name)
        said = own or at(scene.document, "metadata", "annotations", name)
        if isinstance(said, str):
            add_annotations(pod, {name: said})
    stamp_job_set(pod, scene.name, scene.uid, scene.item, read_once(scene.document, _jobs_before))


def _job_set(pod: Subject) -> Member:
    uid, name = (pod.labels.get(f"jobset.sigs.k8s.io/jobset-{field}") or "" for field in ("uid", "name"))
    owner = pod.labelled_owner("jobset.x-k8s.io", "JobSet", name, uid) or pod.owner("JobSet")
    jobs = list_at(owner, "spec", "replicatedJobs")
    roles = read_once(owner, _replicated_jobs)
    index = _replicated_index(pod, jobs)
    return Member("JobSet", named("jobset", uid or name), counted(roles), index, owner=owner, roles=roles)


def _replicated_jobs(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    return tuple(map(_replicated_job, list_at(owner, "spec", "replicatedJobs")))


def _replicated_index(pod: Subject, jobs: list[Any]) -> int:
    """Return the pod's index among the pods of all Jobs of the pod's replicated job.

    Each Job numbers its own pods from 0, so the pod's index within its Job is the result only in the first Job.
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
    spec = at(job, "template", "spec")
    pods = count(at(job, "replicas"), 1) * job_pods(spec)
    said = unread(at(job, "replicas"), at(spec, "parallelism"), at(spec, "completions"))
    return Role(pods, asks_of(at(spec, "template")), said)


def _stages(owner: Mapping[str, Any]) -> str:
    # kubernetes-sigs/jobset pkg/controllers/jobset_controller.go reconcileReplicatedJobs
    jobs = at(owner, "spec", "replicatedJobs")
    if not isinstance(jobs, list) or len(jobs) <= 1:
        return ""
    if any(at(job, "dependsOn") for job in jobs):
        return "spec.replicatedJobs[].dependsOn"
    order = at(owner, "spec", "startupPolicy", "startupPolicyOrder")
    return "spec.startupPolicy.startupPolicyOrder InOrder" if order == "InOrder" else ""


def _minimums(document: Found) -> Iterator[tuple[Path, str]]:
    for index, each in items(at(document, "spec", "replicatedJobs")):
        # pkg/webhooks/jobset_webhook.go: Indexed is the default.
        for steps, message in job_minimums({"spec": mapping_at(each, "template", "spec")}, "spec", mode="Indexed"):
            yield ("spec", "replicatedJobs", index, "template", *steps), message


def _jobs_of(document: Found, place: Path) -> int:
    """Return the number of Jobs of a replicated job; 0 if there is no such replicated job.

    The replicated job is the one with the pod template at the path ``place``.
    """
    return count(at(find(document, place[:3]), "replicas"), 1) if place[:2] == REPLICATED_JOBS else 0


def _job_of(place: Path) -> Path:
    """Return the path of the Job template that has the pod template at the path ``place``."""
    return (*place[:3], "template") if place[:2] == REPLICATED_JOBS else ()


DOSSIER: Final = Dossier(
    name="JobSet",
    versions={
        "kubernetes-sigs/jobset": "08dfbdfd, after v0.12.0",
        "kubeflow/trainer": "8c0f5059, after v2.3.0",
    },
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"jobset.x-k8s.io/v1alpha2", "jobset.x-k8s.io/v1alpha1"}),
            kind="JobSet",
            source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go",
            places=(
                TemplatePlace(
                    path=("spec", "replicatedJobs", ELEMENT, *JOB_TEMPLATE),
                    stamp=_stamp,
                    replicas=lambda scene: replicated_pods(scene.item),
                ),
            ),
        ),
    ),
    memberships=(
        Membership(
            name="JobSet, and TrainJob (Trainer v2), which makes one",
            source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go; kubeflow/trainer pkg/runtime/framework/"
            "plugins/jobset",
            read=_job_set,
            size="the JobSet: `replicas` of each replicated job, times `parallelism`, or `completions` if they are "
            "fewer",
            sized_by=("JobSet",),
            label="jobset.sigs.k8s.io/jobset-name",
            role="jobset.sigs.k8s.io/replicatedjob-name",
        ),
    ),
    pod_keys=frozenset(
        {"jobset.sigs.k8s.io/job-index", "jobset.sigs.k8s.io/jobset-uid", "jobset.sigs.k8s.io/replicatedjob-replicas"}
    ),
    notes=(
        KindNote(
            key="jobset.sigs.k8s.io/jobset-name",
            kind="jobset.x-k8s.io/JobSet",
            keeps="the affinity of pods with `alpha.jobset.sigs.k8s.io/exclusive-topology`: its webhook draws the "
            "pod of index 0 to a domain, and the others after it by `nodeSelector`",
            source="kubernetes-sigs/jobset pkg/webhooks/pod_webhook.go patchPod",
        ),
    ),
    owners=(
        OwnerKind(
            source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go",
            group="jobset.x-k8s.io",
            versions=("v1alpha2",),
            stages=_stages,
            stages_of_roles=True,
            kind="JobSet",
            spec={
                "replicatedJobs": {
                    ELEMENT: {
                        "name": None,
                        "replicas": None,
                        "template": {"spec": {"parallelism": None, "completions": None, "template": TEMPLATE_ASKS}},
                        "dependsOn": {ELEMENT: {"status": None}},
                    }
                },
                "startupPolicy": {"startupPolicyOrder": None},
            },
        ),
    ),
    affinity_keys=frozenset({"alpha.jobset.sigs.k8s.io/exclusive-topology"}),
    finished=(
        Finished(
            source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go JobSetConditionType",
            group="jobset.x-k8s.io",
            kind="JobSet",
            words=frozenset({"Completed", "Failed"}),
        ),
    ),
    group_rules=(
        GroupRules(
            kind=("jobset.x-k8s.io", "JobSet"),
            minimums=_minimums,
            starts=together,
            groups=_jobs_of,
            exclusive={"alpha.jobset.sigs.k8s.io/exclusive-topology": ""},
            annotated_part=_job_of,
        ),
    ),
)
