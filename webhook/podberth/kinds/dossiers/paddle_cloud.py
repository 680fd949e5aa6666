"""PaddleJobs of PaddleCloud, PaddlePaddle's own operator; Kubeflow's Training Operator has PaddleJobs, too."""

from typing import Any, Final

from ...kube.unchecked import at, count, text
from ..dossier import Dossier
from ..name_sets import under
from ..places import Scene, TemplatePlace, WorkloadKind
from ..stamping import add_annotations, add_labels, owned_by_workload, set_name

_VERSION: Final = "batch.paddlepaddle.org/v1"


def _role(scene: Scene) -> str:
    return str(scene.path[1])


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write on a pod the fields that PaddleCloud writes; podberth leaves out environment variables and ports.

    Source: pkg/paddlejob/paddlejob_helper.go constructPod. With Volcano, which the operator uses if it is started with
    ``--scheduling=volcano``, the pods also name a PodGroup of Volcano.
    """
    role, spec = _role(scene), pod["spec"]
    name = f"{scene.name}-{role}-0"
    add_labels(pod, {"paddle-res-name": name, "paddle-res-type": role})
    add_annotations(pod, {"paddle-resource": role})
    owned_by_workload(pod, scene)
    set_name(pod, name)
    spec["hostname"] = spec["subdomain"] = name
    intranet = text(scene.spec.get("intranet"))
    if intranet == "Host":
        spec["hostNetwork"] = True
    if at(scene.document, "spec", "elastic") is not None:
        spec["restartPolicy"] = "OnFailure"
    elif not spec.get("restartPolicy"):
        spec["restartPolicy"] = "OnFailure" if (role, intranet) == ("worker", "Service") else "Never"


def _replicas(scene: Scene) -> int:
    return count(at(scene.spec, _role(scene), "replicas"), 0)


def _place(role: str) -> TemplatePlace:
    return TemplatePlace(path=("spec", role, "template"), stamp=_stamp, optional=True, role=role, replicas=_replicas)


DOSSIER: Final = Dossier(
    name="PaddleCloud",
    versions={"PaddlePaddle/PaddleCloud": "b4f3a91b"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({_VERSION}),
            kind="PaddleJob",
            source="PaddlePaddle/PaddleCloud pkg/apis/paddlejob/v1/paddlejob_types.go",
            places=tuple(map(_place, ("ps", "worker", "heter"))),
        ),
    ),
    # PaddlePaddle/PaddleCloud pkg/apis/sampleset/v1alpha1
    podless_kinds=under("batch.paddlepaddle.org/v1alpha1", "SampleJob SampleSet"),
)
