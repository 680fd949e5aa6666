"""Facts about Kubeflow Trainer v2: runtimes with the template of a JobSet, and TrainJobs that refer to a runtime.

The runtime has the templates of a TrainJob's pods. The TrainJob itself has an image, a command, variables, and the
resources of a node. The runtime is searched for among the other documents; if no runtime is found, the pod is made from
the TrainJob's fields alone. With MPI a TrainJob makes a launcher pod, and a pod for each node.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.shape import template_problems
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at
from ..dossier import Dossier, Finished, KindNote
from ..forms import find
from ..group_rules import GroupRules
from ..job_sets import JOB_TEMPLATE, jobs_before, replicated_pods, stamp_job_set
from ..places import PLACEHOLDER_UID, Form, Found, Scene, TemplatePlace, WorkloadKind
from ..roles import predicted, read_once
from ..runtime_patches import PATCHED_PODS, patched
from ..stamping import add_annotations, add_labels
from ..starts import together

_NODE: Final = "node"


# kubeflow/trainer pkg/constants/constants.go LabelTrainJobAncestor, AncestorTrainer
_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"


def _jobs_of_runtime(runtime: Found, train_job: Found) -> list[dict[str, Any]]:
    """Return the replicated jobs of the JobSet that Trainer makes from a runtime and a TrainJob.

    If the TrainJob is empty, the result is the runtime's own replicated jobs. Sources: kubeflow/trainer
    pkg/apis/trainer/v1alpha1/trainingruntime_types.go, pkg/runtime/core/trainingruntime.go newRuntimeInfo,
    pkg/runtime/framework/plugins/jobset/jobset.go SyncParallelCount.
    """
    nodes = at(train_job, "spec", "trainer", "numNodes")
    found = []
    for job in patched(list_at(runtime, "spec", "template", "spec", "replicatedJobs"), train_job):
        if not isinstance(job, Mapping):
            continue
        pods = _pods(job, runtime, nodes)
        if pods is not None:
            template = mapping_at(job, "template")
            spec = {**mapping_at(template, "spec"), "parallelism": pods, "completions": pods}
            job = {**job, "template": {**template, "spec": spec}}  # noqa: PLW2901 - the job as the operator makes it
        found.append(dict(job))
    return found


def _pods(job: Found, runtime: Found, nodes: object) -> object:
    """Return the number of pods of a replicated job that a TrainJob or its runtime states; None if neither states one.

    ``nodes`` is the number of nodes in the TrainJob, or None. If the result is None, the number in the job's own
    template counts.

    Without MPI, each pod of the trainer is a node: the number is that of the TrainJob, else that of the runtime. With
    MPI (plugins/mpi/mpi.go EnforceMLPolicy), the replicated job called ``node`` has the nodes of the TrainJob, less one
    if the launcher runs on a node. The trainer then is the launcher, and the runtime states the number of its pods.
    """
    said = at(runtime, "spec", "mlPolicy", "numNodes")
    if not _runs_mpi(runtime):
        return (said if nodes is None else nodes) if _trains(job) else None
    if nodes is not None and job.get("name") == _NODE:
        return max(count(nodes) - 1, 1) if _launches_on_node(runtime) else nodes
    return count(said, 1) if _step(job) == "trainer" else None


def _runs_mpi(runtime: Found) -> bool:
    return isinstance(at(runtime, "spec", "mlPolicy", "mpi"), Mapping)


def _launches_on_node(runtime: Found) -> bool:
    return at(runtime, "spec", "mlPolicy", "mpi", "runLauncherAsNode") is True


def _step(job: Found) -> object:
    return at(job, "template", "metadata", "labels", _STEP)


def _trains(job: Found) -> bool:
    step = _step(job)
    return step == "trainer" or (step is None and job.get("name") == _NODE)


def _job_set(document: Found, jobs: list[dict[str, Any]]) -> Found:
    metadata = {"name": text_at(document, "metadata", "name"), "labels": at(document, "metadata", "labels")}
    return predicted("jobset.x-k8s.io/v1alpha2", "JobSet", metadata, {"replicatedJobs": jobs})


def _job_set_of_runtime(runtime: Found) -> Found:
    return _job_set(runtime, _jobs_of_runtime(runtime, {}))


def _jobs_by_name(runtime: Found) -> Mapping[str, Found]:
    jobs = _jobs_of_runtime(runtime, {})
    return {job["name"]: job for job in reversed(jobs) if isinstance(job.get("name"), str)}


def _same_job(scene: Scene) -> Found:
    return read_once(scene.document, _jobs_by_name).get(text(scene.item.get("name")), scene.item)


def _jobs_before(runtime: Found) -> Mapping[str, int]:
    return jobs_before(_jobs_of_runtime(runtime, {}))


def _stamp_runtime(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that Trainer writes for a TrainJob of unknown name that only names this runtime."""
    stamp_job_set(pod, scene.name, PLACEHOLDER_UID, _same_job(scene), read_once(scene.document, _jobs_before))


# kubeflow/trainer pkg/apis/trainer/v1alpha1/trainjob_types.go Trainer
_TRAINER: Final = Form(
    seats=((("spec",), ()),),
    fields=frozenset(),
    front=(("trainer",),),
    front_name=_NODE,
    front_fields={
        "image": "image",
        "command": "command",
        "args": "args",
        "env": "env",
        "resources": "resourcesPerNode",
    },
    front_always=True,
)


# The fields of the trainer that the other nodes get if the launcher is a node itself: variables and resources, but no
# command (pkg/runtime/core/trainingruntime.go newRuntimeInfo, plugins/jobset/builder.go Trainer).
_TRAINERS_NODES: Final = replace(_TRAINER, front_fields={"env": "env", "resources": "resourcesPerNode"})


_RUNTIMES_NODES: Final = Form(seats=_TRAINER.seats, fields=_TRAINER.fields)


def _runtime_of(scene: Scene) -> Found:
    """Return the runtime that a TrainJob refers to; empty if the runtime is not among the known documents."""
    reference = mapping_at(scene.spec, "runtimeRef")
    kind, name = text(reference.get("kind")) or "ClusterTrainingRuntime", text(reference.get("name"))
    for each in scene.known:
        if at(each, "kind") == kind and at(each, "metadata", "name") == name:
            return each
    return {}


def _jobs(scene: Scene) -> list[dict[str, Any]]:
    return _jobs_of_runtime(_runtime_of(scene), scene.document)


def _trainer(scene: Scene) -> Found:
    """Return the replicated job of the trainer; for an unknown runtime, a job with the TrainJob's number of nodes."""
    nodes = at(scene.spec, "trainer", "numNodes")
    alone = {"name": _NODE, "template": {"spec": {"parallelism": nodes, "completions": nodes}}}
    jobs = _jobs(scene)
    labelled = (job for job in jobs if _step(job) == "trainer")
    return (
        next(labelled, None)
        or next((job for job in jobs if _trains(job)), None)
        or dict(patched([alone], scene.document)[0])
    )


def _nodes(scene: Scene) -> Found:
    """Return the replicated job that has the MPI nodes; empty without MPI, or if the trainer itself is this job."""
    jobs = _jobs(scene) if _runs_mpi(_runtime_of(scene)) and _trainer(scene).get("name") != _NODE else []
    return next((job for job in jobs if job.get("name") == _NODE), {})


def _nodes_have_the_trainers(scene: Scene) -> bool:
    return bool(_nodes(scene)) and _launches_on_node(_runtime_of(scene))


def _nodes_are_the_runtimes(scene: Scene) -> bool:
    return bool(_nodes(scene)) and not _launches_on_node(_runtime_of(scene))


def _all_jobs(scene: Scene) -> list[dict[str, Any]]:
    return _jobs(scene) or [dict(_trainer(scene))]


def _train_owner(scene: Scene) -> Found:
    return _job_set(scene.document, _all_jobs(scene))


def _stamp_train_job(pod: dict[str, Any], scene: Scene) -> None:
    """Add Trainer's fields to the pod of the first node.

    A field of the TrainJob replaces the field of the runtime's template. Source: kubeflow/trainer
    pkg/runtime/framework/plugins/jobset (the container is called node).
    """
    _stamp_replicated(pod, scene, _trainer(scene))
    add_labels(pod, {_STEP: "trainer"})


def _stamp_nodes(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that Trainer writes on the first MPI node that is not the launcher."""
    _stamp_replicated(pod, scene, _nodes(scene))


def _stamp_replicated(pod: dict[str, Any], scene: Scene, job: Found) -> None:
    template = mapping_at(job, *JOB_TEMPLATE)
    below = {"metadata": template.get("metadata"), "spec": template.get("spec")}
    if template and not template_problems(below) and below["spec"]:
        _lay_under(pod, deepcopy(below))
    stamp_job_set(pod, scene.name, PLACEHOLDER_UID, job, jobs_before(_all_jobs(scene)))


def _lay_under(pod: dict[str, Any], below: dict[str, Any]) -> None:
    """Add to a pod the fields of the runtime's template that the pod lacks.

    The container called node becomes the first.
    """
    metadata, spec = below["metadata"] or {}, below["spec"]
    add_labels(pod, metadata.get("labels") or {})
    add_annotations(pod, metadata.get("annotations") or {})
    theirs = spec.get("containers") or []
    if not pod["spec"]["containers"]:  # the TrainJob has no fields for these pods
        pod["spec"] = {**spec, "containers": theirs}
        return
    [main] = pod["spec"]["containers"]
    node: dict[str, Any] = next((each for each in theirs if each.get("name") == _NODE), {})
    said = {key: value for key, value in main.items() if value is not None}
    own_names = {find(entry, ("name",)) for entry in said.get("env") or ()}
    env = [entry for entry in node.get("env") or () if entry.get("name") not in own_names]
    merged = {**node, **said, **({"env": [*env, *(said.get("env") or ())]} if env else {})}
    pod["spec"] = {**spec, "containers": [merged, *(each for each in theirs if each is not node)]}


def _runtime_kind(kind: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset({"trainer.kubeflow.org/v1alpha1"}),
        kind=kind,
        source="kubeflow/trainer pkg/apis/trainer/v1alpha1/trainingruntime_types.go",
        only_template=True,
        of_cluster=kind.startswith("Cluster"),
        places=(
            TemplatePlace(
                path=("spec", "template", "spec", "replicatedJobs", ELEMENT, *JOB_TEMPLATE),
                stamp=_stamp_runtime,
                replicas=lambda scene: replicated_pods(_same_job(scene)),
                owner=lambda scene: read_once(scene.document, _job_set_of_runtime),
            ),
        ),
    )


DOSSIER: Final = Dossier(
    name="Trainer v2",
    versions={"kubeflow/trainer": "8c0f5059, after v2.3.0"},
    parent_groups=frozenset({"trainer.kubeflow.org"}),
    kinds=(
        _runtime_kind("TrainingRuntime"),
        _runtime_kind("ClusterTrainingRuntime"),
        WorkloadKind(
            api_versions=frozenset({"trainer.kubeflow.org/v1alpha1"}),
            kind="TrainJob",
            source="kubeflow/trainer pkg/apis/trainer/v1alpha1/trainjob_types.go",
            places=(
                TemplatePlace(
                    path=("spec",),
                    form=_TRAINER,
                    stamp=_stamp_train_job,
                    role="trainer",
                    replicas=lambda scene: replicated_pods(_trainer(scene)),
                    owner=_train_owner,
                    elsewhere=PATCHED_PODS,
                ),
                *(
                    TemplatePlace(
                        path=("spec",),
                        form=form,
                        stamp=_stamp_nodes,
                        role=_NODE,
                        when=when,
                        replicas=lambda scene: replicated_pods(_nodes(scene)),
                        owner=_train_owner,
                        elsewhere=PATCHED_PODS,
                    )
                    for form, when in (
                        (_TRAINERS_NODES, _nodes_have_the_trainers),
                        (_RUNTIMES_NODES, _nodes_are_the_runtimes),
                    )
                ),
            ),
        ),
    ),
    finished=(
        Finished(
            source="kubeflow/trainer pkg/apis/trainer/v1alpha1/trainjob_types.go TrainJobComplete",
            group="trainer.kubeflow.org",
            kind="TrainJob",
            words=frozenset({"Complete", "Failed"}),
        ),
    ),
    group_rules=(GroupRules(kind=("trainer.kubeflow.org", "TrainJob"), starts=together),),
    notes=(
        KindNote(
            key="jobset.sigs.k8s.io/jobset-name",
            kind="trainer.kubeflow.org/TrainJob",
            title="TrainJob (Trainer v2)",
            keeps="the JobSet that Trainer makes of it; the group that a runtime's `podGroupPolicy` names on its pods",
            source="kubeflow/trainer pkg/runtime/framework/plugins/{jobset,coscheduling,volcano}",
            templates="`spec.trainer`, and `spec.template.spec.replicatedJobs.*.template.spec.template` of its runtime",
        ),
    ),
)
