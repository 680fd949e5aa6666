"""Kinds of batch systems: JobSet, Volcano's Job, AppWrapper, Argo's workflows, Spark's applications."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ..kinds.forms import CONTAINER_FIELDS
from ..kinds.members import job_pods
from ..kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Form, Found, Place, Scene, Steps, WorkloadKind, unknown
from ..kinds.roles import read_once
from ..kinds.stamping import add_annotations, add_labels, owned_by_workload, set_name
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, count, mapping_at, text, text_at
from .core_kinds import stamp_job

ANY_KEY: Final = PLACEHOLDER_HASH * 4
"""Stands for a SHA-1 that is another for every replica."""

JOB_TEMPLATE: Final = ("template", "spec", "template")


# ---- JobSet ---------------------------------------------------------------------------------------------------------
def stamp_job_set(pod: dict[str, Any], name: str, uid: str, replicated: Found, before: Mapping[str, int]) -> None:
    """As for the first pod of a replicated job's first Job; ``before`` is what ``jobs_before`` says of them all.

    Sources: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go (labelAndAnnotateObject), pkg/webhooks
    jobset_webhook.go: a Job of a JobSet is Indexed, and its pods restart on failure, unless it says otherwise.
    """
    role = text(replicated.get("name"))
    job_name = f"{name}-{role}-0"
    replicas = count(replicated.get("replicas"), 1)
    said = {
        "jobset-name": name,
        "jobset-uid": uid,
        "replicatedjob-name": role,
        "replicatedjob-replicas": str(replicas),
        "global-replicas": str(before[EVERY]),
        "job-index": "0",
        "job-global-index": str(before.get(role, before[EVERY])),
        "job-key": ANY_KEY,
        "restart-attempt": "0",
    }
    keys = {f"jobset.sigs.k8s.io/{key}": value for key, value in said.items()}
    add_labels(pod, keys)
    add_annotations(pod, keys)
    pod["spec"]["restartPolicy"] = pod["spec"].get("restartPolicy") or "OnFailure"
    pod["spec"]["subdomain"] = pod["spec"].get("subdomain") or name
    spec = mapping_at(replicated, "template", "spec")
    stamp_job(pod, job_name, PLACEHOLDER_UID, {"completionMode": "Indexed", **spec})


EVERY: Final = "*"
"""No replicated job is called so."""


def jobs_before(jobs: object) -> Mapping[str, int]:
    """Return how many Jobs stand before those of each replicated job, by its name, and under EVERY how many there are.

    Where two have one name it is the first's.
    """
    before: dict[str, int] = {}
    every = 0
    for each in jobs if isinstance(jobs, list) else ():
        before.setdefault(text(at(each, "name")), every)
        every += count(at(each, "replicas"), 1)
    return {**before, EVERY: every}


def _jobs_before(job_set: Found) -> Mapping[str, int]:
    return jobs_before(at(job_set, "spec", "replicatedJobs"))


def _stamp_job_set(pod: dict[str, Any], scene: Scene) -> None:
    for key in ("exclusive-topology", "node-selector"):
        name = f"alpha.jobset.sigs.k8s.io/{key}"
        # Of one replicated job, or of all (pkg/controllers/jobset_controller.go, labelAndAnnotateObject).
        own = text_at(scene.item, "template", "metadata", "annotations", name)
        said = own or at(scene.document, "metadata", "annotations", name)
        if isinstance(said, str):
            add_annotations(pod, {name: said})
    stamp_job_set(pod, scene.name, scene.uid, scene.item, read_once(scene.document, _jobs_before))


def replicated_pods(replicated: Found) -> int:
    """Return how many pods one replicated job runs at once."""
    return count(replicated.get("replicas"), 1) * job_pods(mapping_at(replicated, "template", "spec"))


# ---- Volcano --------------------------------------------------------------------------------------------------------
def _stamp_volcano_job(pod: dict[str, Any], scene: Scene) -> None:
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


def item_replicas(scene: Scene) -> int:
    """Return the replicas of the innermost item, one by default."""
    return count(scene.item.get("replicas"), 1)


# ---- Argo -----------------------------------------------------------------------------------------------------------
# Of a workflow's spec and of a template (argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_types.go Template,
# WorkflowSpec; workflow/controller/workflowpod.go takes the template's where it says something, else the workflow's).
_ARGO_FIELDS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "hostAliases",
        "initContainers",
        "nodeSelector",
        "priorityClassName",
        "schedulerName",
        "securityContext",
        "serviceAccountName",
        "tolerations",
        "volumes",
    }
)
_ARGO_INHERITED: Final = frozenset(
    {
        "affinity",
        "nodeSelector",
        "priorityClassName",
        "schedulerName",
        "securityContext",
        "serviceAccountName",
        "tolerations",
    }
)
_ARGO_SEATS: Final[tuple[tuple[Steps, Steps], ...]] = (
    (("metadata", "labels"), ("metadata", "labels")),
    (("metadata", "annotations"), ("metadata", "annotations")),
    (("spec",), ()),
)
_ARGO_CONTAINER: Final = Form(
    seats=_ARGO_SEATS,
    fields=_ARGO_FIELDS - {"containers"},
    front=(("container",), ("script",)),
    front_name="main",
    front_fields=CONTAINER_FIELDS,
)
_ARGO_SET: Final = Form(
    seats=(*_ARGO_SEATS, (("spec", "containers"), ("containerSet", "containers"))), fields=_ARGO_FIELDS
)


def _stamp_workflow(pod: dict[str, Any], scene: Scene) -> None:
    """As createWorkflowPod (argoproj/argo-workflows workflow/controller/workflowpod.go), without its own containers."""
    generated = f"{text(at(scene.document, 'metadata', 'generateName'))}{PLACEHOLDER_HASH}"
    name = scene.name if scene.document.get("kind") == "Workflow" and scene.name else generated
    add_labels(pod, {"workflows.argoproj.io/workflow": name, "workflows.argoproj.io/completed": "false"})
    owned_by_workload(pod, scene)
    pod["metadata"]["ownerReferences"][0].update(kind="Workflow", name=name)
    set_name(pod, f"{name}-{scene.key}-{PLACEHOLDER_HASH}")
    pod["spec"]["restartPolicy"] = "Never"


def _has(*fields: str) -> Callable[[Scene], bool]:
    return lambda scene: any(isinstance(scene.item.get(field), Mapping) for field in fields)


def _argo_places(*base: str) -> tuple[Place, ...]:
    def place(form: Form, *fields: str) -> Place:
        return Place(
            path=(*base, "templates", ELEMENT),
            form=form,
            stamp=_stamp_workflow,
            when=_has(*fields),
            replicas=unknown,
            base=base,
            inherited=_ARGO_INHERITED,
        )

    return (place(_ARGO_CONTAINER, "container", "script"), place(_ARGO_SET, "containerSet"))


_ARGO: Final = "argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_types.go"


def _argo(kind: str, *base: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset({"argoproj.io/v1alpha1"}), kind=kind, source=_ARGO, places=_argo_places(*base)
    )


# ---- Spark ----------------------------------------------------------------------------------------------------------
# kubeflow/spark-operator api/v1beta2/sparkapplication_types.go SparkPodSpec, DriverSpec, ExecutorSpec
_SPARK_POD: Final = Form(
    seats=((("metadata", "labels"), ("labels",)), (("metadata", "annotations"), ("annotations",)), (("spec",), ())),
    fields=frozenset(
        {
            "affinity",
            "dnsConfig",
            "hostAliases",
            "hostNetwork",
            "initContainers",
            "nodeSelector",
            "priorityClassName",
            "schedulerName",
            "shareProcessNamespace",
            "terminationGracePeriodSeconds",
            "tolerations",
        }
    ),
    front=((),),
    front_name="spark-kubernetes",
    front_fields={name: name for name in ("env", "envFrom", "image", "lifecycle", "volumeMounts")},
    front_always=True,
)


def _stamp_spark(pod: dict[str, Any], scene: Scene) -> None:
    """As the operator's webhook and spark-submit do.

    Sources: kubeflow/spark-operator pkg/common/spark.go (labels), internal/webhook/sparkpod_defaulter.go (addGPU: a
    limit of the container), api/v1beta2/sparkapplication_types.go GPUSpec.
    """
    role = str(scene.path[-1])
    add_labels(
        pod,
        {
            # Spark's own, made of the time of the submission
            "spark-app-selector": f"spark-{PLACEHOLDER_HASH}",
            "sparkoperator.k8s.io/app-name": scene.name,
            "spark-role": role,
            "sparkoperator.k8s.io/launched-by-spark-operator": "true",
        },
    )
    owned_by_workload(pod, scene)
    set_name(pod, f"{scene.name}-{role}")
    item = mapping_at(scene.spec, role)
    spec, main = pod["spec"], pod["spec"]["containers"][0]
    main["image"] = main.get("image") or text(scene.spec.get("image"))
    name, quantity = at(item, "gpu", "name"), at(item, "gpu", "quantity")
    if isinstance(name, str) and type(quantity) is int and quantity > 0:
        main["resources"] = {"limits": {name: str(quantity)}}
    spec["restartPolicy"] = "Never"
    spec["schedulerName"] = spec.get("schedulerName") or text(scene.spec.get("batchScheduler")) or "default-scheduler"


def _spark_gpu(scene: Scene) -> Iterator[tuple[Steps, str]]:
    if at(scene.spec, str(scene.path[-1]), "gpu") is not None:
        yield (
            ("spec", "containers", 0, "resources"),
            f"asked for in {'.'.join(map(str, scene.path))}.gpu; change it there",
        )


def _instances(scene: Scene) -> int:
    return count(at(scene.spec, str(scene.path[-1]), "instances"), 1)


def _spark_place(*path: str) -> Place:
    return Place(
        path=path,
        form=_SPARK_POD,
        stamp=_stamp_spark,
        optional=True,
        role=path[-1],
        replicas=_instances,
        fixed=_spark_gpu,
    )


BATCH_KINDS: Final[tuple[WorkloadKind, ...]] = (
    WorkloadKind(
        api_versions=frozenset({"jobset.x-k8s.io/v1alpha2", "jobset.x-k8s.io/v1alpha1"}),
        kind="JobSet",
        source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go",
        places=(
            Place(
                path=("spec", "replicatedJobs", ELEMENT, *JOB_TEMPLATE),
                stamp=_stamp_job_set,
                replicas=lambda scene: replicated_pods(scene.item),
            ),
        ),
    ),
    WorkloadKind(
        api_versions=frozenset({"batch.volcano.sh/v1alpha1"}),
        kind="Job",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go",
        places=(Place(path=("spec", "tasks", ELEMENT, "template"), stamp=_stamp_volcano_job, replicas=item_replicas),),
    ),
    WorkloadKind(
        api_versions=frozenset({"workload.codeflare.dev/v1beta2", "workload.codeflare.dev/v1beta1"}),
        kind="AppWrapper",
        source="project-codeflare/appwrapper api/v1beta2/appwrapper_types.go; v1beta1 is the older mcad's",
        nested=(
            ("spec", "components", ELEMENT, "template"),
            ("spec", "resources", "GenericItems", ELEMENT, "generictemplate"),
        ),
    ),
    _argo("Workflow", "spec"),
    _argo("WorkflowTemplate", "spec"),
    _argo("ClusterWorkflowTemplate", "spec"),
    _argo("CronWorkflow", "spec", "workflowSpec"),
    WorkloadKind(
        api_versions=frozenset({"sparkoperator.k8s.io/v1beta2", "sparkoperator.k8s.io/v1beta1"}),
        kind="SparkApplication",
        source="kubeflow/spark-operator api/v1beta2/sparkapplication_types.go",
        places=(_spark_place("spec", "driver"), _spark_place("spec", "executor")),
    ),
)
