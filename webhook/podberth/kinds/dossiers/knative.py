"""Facts about Knative Serving: services whose pods scale with the requests."""

from dataclasses import replace
from typing import Any, Final

from ..dossier import Dossier
from ..forms import POD_SPEC_FIELDS
from ..name_sets import words
from ..places import LABELLED, PLACEHOLDER_HASH, Scene, TemplatePlace, WorkloadKind, unknown
from ..stamping import add_labels, own_by_deployment

_REVISION: Final = replace(
    LABELLED,
    fields=POD_SPEC_FIELDS,
    others=words("containerConcurrency idleTimeoutSeconds responseStartTimeoutSeconds timeoutSeconds"),
)
"""The ``Form`` of a RevisionTemplateSpec: the fields of a PodSpec, mixed with fields of the revision."""


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that Knative writes for a revision, without Knative's proxy.

    A label ``app`` in the template is kept. Source: pkg/reconciler/configuration/resources/revision.go,
    pkg/reconciler/revision/resources/{deploy,meta}.go.
    """
    revision = f"{scene.name}-{PLACEHOLDER_HASH}"
    labels = {"serving.knative.dev/configuration": scene.name, "serving.knative.dev/revision": revision}
    if scene.document.get("kind") == "Service":
        labels["serving.knative.dev/service"] = scene.name
    add_labels(pod, {"app": revision, **(pod["metadata"].get("labels") or {}), **labels})
    for container in pod["spec"].get("containers") or ():
        container["name"] = container.get("name") or "user-container"
    own_by_deployment(pod, f"{revision}-deployment")


def _kind(kind: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset(
            {"serving.knative.dev/v1", "serving.knative.dev/v1beta1", "serving.knative.dev/v1alpha1"}
        ),
        kind=kind,
        source="knative/serving pkg/apis/serving/v1/{service,configuration,revision}_types.go",
        places=(TemplatePlace(path=("spec", "template"), form=_REVISION, stamp=_stamp, replicas=unknown),),
    )


DOSSIER: Final = Dossier(
    name="Knative Serving",
    versions={"knative/serving": "98e5ef90, after knative-v1.23.0"},
    kinds=(_kind("Service"), _kind("Configuration")),
    # knative/serving pkg/reconciler/configuration/resources/revision.go (NewControllerRef)
    links=frozenset({("serving.knative.dev", "Revision")}),
)
