"""Facts about Argo Workflows, in which each step is a pod without a gang."""

from collections.abc import Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, number, text
from ..dossier import Dossier, FilledIn, Finished, KindNote
from ..forms import CONTAINER_FIELDS
from ..name_sets import words
from ..places import PLACEHOLDER_HASH, Form, Scene, TemplatePlace, WorkloadKind, unknown
from ..stamping import add_labels, owned_by_workload, set_name

# Fields of a workflow's spec and of a template (argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_types.go
# Template, WorkflowSpec). The template's field takes precedence over the workflow's
# (workflow/controller/workflowpod.go). activeDeadlineSeconds is a number or a text there: ``_stamp`` reads it.
_FIELDS: Final = words(
    "affinity automountServiceAccountToken containers hostAliases initContainers "
    "nodeSelector priorityClassName schedulerName securityContext serviceAccountName tolerations volumes"
)


_INHERITED: Final = words(
    "affinity nodeSelector priorityClassName schedulerName securityContext serviceAccountName tolerations"
)


_SEATS: Final[tuple[tuple[Path, Path], ...]] = (
    (("metadata", "labels"), ("metadata", "labels")),
    (("metadata", "annotations"), ("metadata", "annotations")),
    (("spec",), ()),
)


# Fields that a Container lacks (the same file: UserContainer, ContainerNode, ScriptTemplate).
_ADDS: Final = words("dependencies mirrorVolumeMounts source")


_CONTAINER: Final = Form(
    seats=_SEATS,
    fields=_FIELDS - {"containers"},
    adds=_ADDS,
    front=(("container",), ("script",)),
    front_name="main",
    front_fields=CONTAINER_FIELDS,
    front_whole=True,
)


_SET: Final = Form(
    seats=(*_SEATS, (("spec", "containers"), ("containerSet", "containers"))), fields=_FIELDS, adds=_ADDS
)


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that createWorkflowPod writes, without Argo's own containers.

    Source: workflow/controller/workflowpod.go.
    """
    generated = f"{text(at(scene.document, 'metadata', 'generateName'))}{PLACEHOLDER_HASH}"
    name = scene.name if scene.document.get("kind") == "Workflow" and scene.name else generated
    add_labels(pod, {"workflows.argoproj.io/workflow": name, "workflows.argoproj.io/completed": "false"})
    owned_by_workload(pod, scene)
    pod["metadata"]["ownerReferences"][0].update(kind="Workflow", name=name)
    set_name(pod, f"{name}-{scene.key}-{PLACEHOLDER_HASH}")
    pod["spec"]["restartPolicy"] = "Never"
    deadline = scene.item.get("activeDeadlineSeconds")
    seconds = number(deadline) if isinstance(deadline, str) else deadline
    if type(seconds) is int:
        pod["spec"]["activeDeadlineSeconds"] = seconds


def _places(*base: str) -> tuple[TemplatePlace, ...]:
    def place(form: Form, *fields: str) -> TemplatePlace:
        return TemplatePlace(
            path=(*base, "templates", ELEMENT),
            form=form,
            stamp=_stamp,
            when=lambda scene: any(isinstance(scene.item.get(field), Mapping) for field in fields),
            replicas=unknown,
            base=base,
            inherited=_INHERITED,
        )

    return (place(_CONTAINER, "container", "script"), place(_SET, "containerSet"))


_SOURCE: Final = "argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_types.go"


def _kind(kind: str, *base: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset({"argoproj.io/v1alpha1"}),
        kind=kind,
        source=_SOURCE,
        places=_places(*base),
        only_template=kind.endswith("Template"),
        of_cluster=kind.startswith("Cluster"),
    )


DOSSIER: Final = Dossier(
    name="Argo Workflows",
    versions={"argoproj/argo-workflows": "f016ad89, after v4.1.2", "argoproj/argo-cd": "37ee0097, after v3.5.1"},
    kinds=(
        _kind("Workflow", "spec"),
        _kind("WorkflowTemplate", "spec"),
        _kind("ClusterWorkflowTemplate", "spec"),
        _kind("CronWorkflow", "spec", "workflowSpec"),
    ),
    notes=(
        KindNote(
            kind="argoproj.io/Workflow",
            title="step of an Argo workflow",
            sign="an owner of kind Workflow",
            keeps="what a step creates is a gang by its own row",
            source="argoproj/argo-workflows workflow/controller/workflowpod.go createWorkflowPod",
        ),
    ),
    finished=(
        Finished(
            source="argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_phase.go WorkflowPhase.Completed",
            group="argoproj.io",
            kind="Workflow",
            field=("phase",),
            words=frozenset({"Succeeded", "Failed", "Error"}),
        ),
    ),
    filled_in=(
        FilledIn(
            # activeDeadlineSeconds is an IntOrString
            source="argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_types.go Template",
            is_own=lambda document, path, _text: (
                path[-1] == "activeDeadlineSeconds" and str(document.get("apiVersion")).startswith("argoproj.io/")
            ),
        ),
    ),
    # argoproj/argo-cd pkg/apis/application/v1alpha1, in the same API group
    podless_kinds=frozenset(
        {"argoproj.io/v1alpha1/AppProject", "argoproj.io/v1alpha1/Application", "argoproj.io/v1alpha1/ApplicationSet"}
    ),
)
