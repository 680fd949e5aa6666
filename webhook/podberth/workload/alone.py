"""Kinds whose pods are each by itself and no gang, for docs/systems.md: they have no row in ``operators``."""

from typing import Final

from ..kinds.members import Maker

_REPLICAS: Final = "kubernetes/api apps/v1/types.go"

EACH_ALONE: Final[tuple[Maker, ...]] = (
    Maker(
        kind="batch/Job",
        title="Job that is not Indexed, or has more completions than run at once",
        sign="an owner of kind Job, without an index, or with a Job of that many completions",
        keeps="the finalizer that the Job controller takes off",
        source="kubernetes/api batch/v1/types.go JobSpec.CompletionMode",
    ),
    Maker(
        kind="argoproj.io/Workflow",
        title="step of an Argo workflow",
        sign="an owner of kind Workflow",
        keeps="what a step creates is a gang by its own row",
        source="argoproj/argo-workflows workflow/controller/workflowpod.go createWorkflowPod",
    ),
    Maker(
        kind="serving.kserve.io/InferenceService",
        title="InferenceService on one node",
        sign="label `serving.kserve.io/inferenceservice` without `isvc.generation`",
        keeps="its Deployment's template, of which `pod-template-hash` is made",
        templates="`spec.predictor`",
        source="kserve/kserve pkg/controller/v1beta1/inferenceservice/components/predictor.go",
    ),
    *(
        Maker(
            kind=f"apps/{kind}",
            title=title,
            sign=f"an owner of kind {owner}",
            keeps="its template, whose revision is hashed",
            source=_REPLICAS,
        )
        for kind, title, owner in (
            ("Deployment", "Deployment, ReplicaSet", "ReplicaSet"),
            ("DaemonSet", "DaemonSet", "DaemonSet"),
            ("StatefulSet", "StatefulSet that says nothing", "StatefulSet"),
        )
    ),
)
