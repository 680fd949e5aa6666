"""Facts about ModelBoosters, from each of which Kthena makes one ModelServing."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at
from ..dossier import Dossier, KindNote
from ..model_servings import MODEL_SERVING_GROUP, MODEL_SERVING_KEYS, MODEL_SERVING_VERSION, stamp_member
from ..name_sets import words
from ..places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Form, Found, Scene, TemplatePlace, WorkloadKind
from ..roles import predicted, read_once
from ..stamping import add_labels

_CONVERT: Final = "volcano-sh/kthena pkg/model-booster-controller/convert"

_WORKER: Final = Form(
    # pkg/apis/workload/v1alpha1/model_booster_types.go ModelWorker
    seats=((("spec",), ()),),
    fields=words("affinity tolerations"),
    front=((),),
    front_fields={name: name for name in ("image", "resources")},
    front_always=True,
)
"""The ``Form`` of a ModelBooster's worker, whose fields become a container, affinity and tolerations of a pod."""

_ROLES_OF: Final[Mapping[str, Mapping[str, str]]] = {
    "vLLM": {"server": "leader"},
    "vLLMDisaggregated": {"prefill": "prefill", "decode": "decode"},
}
"""A mapping from the backend's type to a mapping from worker type to role, for the workers that become pods
(convert/templates).
"""


def _type_of(worker: object) -> str:
    return text(at(worker, "type")) or "server"


def _is(role: str) -> Callable[[Scene], bool]:
    return lambda scene: _role_of(scene) == role


def _role_of(scene: Scene) -> str:
    roles = _ROLES_OF.get(text_at(scene.spec, "backend", "type"), {})
    return roles.get(_type_of(scene.item), "")


def _workers_beside(worker: object) -> int:
    """Return the number of worker pods for each entry pod of ``worker``, an item of a backend's ``workers``.

    Only an item of the type "server" has worker pods (convert/model_serving.go).
    """
    return max(count(at(worker, "pods")) - 1, 0) if _type_of(worker) == "server" else 0


def _serving(scene: Scene) -> Found:
    """Return the ModelServing that Kthena makes from a ModelBooster."""
    return read_once(scene.document, _serving_of)


def _serving_of(booster: Found) -> Found:
    """Return the ModelServing that Kthena makes from a ModelBooster, with only the fields from which gangs are read.

    Source: convert/model_serving.go BuildModelServing.
    """
    backend = mapping_at(booster, "spec", "backend")
    kinds = _ROLES_OF.get(text(backend.get("type")), {})
    roles: list[dict[str, Any]] = []
    for worker in list_at(backend, "workers"):
        if _type_of(worker) in kinds:
            main = {"name": "engine", "resources": at(worker, "resources")}
            choice = {key: at(worker, key) for key in ("affinity", "tolerations")}
            template = {"spec": {**choice, "containers": [main]}}
            numbers = {"replicas": count(at(worker, "replicas")), "workerReplicas": _workers_beside(worker)}
            templates = {"entryTemplate": template, "workerTemplate": template}
            roles.append({"name": kinds[_type_of(worker)], **numbers, **templates})
    # pkg/model-booster-controller/utils/template.go GetBackendResourceName
    name = "-".join(filter(None, (text_at(booster, "metadata", "name"), text(backend.get("name")))))
    spec = {
        "replicas": count(backend.get("replicas")),
        # An empty name is left out of the JSON (SchedulerName, omitempty), and the CRD has a default.
        "schedulerName": text(backend.get("schedulerName")) or None,
        "template": {"roles": roles},
    }
    metadata = {"name": name, "uid": PLACEHOLDER_UID}
    return predicted(MODEL_SERVING_VERSION, "ModelServing", metadata, spec)


def _stamp_booster(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that Kthena writes on an entry pod.

    podberth counts worker pods as entry pods, because both request the same resources (convert/templates). The source
    of the labels is pkg/model-booster-controller/utils/template.go GetModelControllerLabels.
    """
    add_labels(
        pod,
        {
            f"{MODEL_SERVING_GROUP}/model-name": scene.name,
            f"{MODEL_SERVING_GROUP}/backend-name": text_at(scene.spec, "backend", "name"),
            f"{MODEL_SERVING_GROUP}/managed-by": MODEL_SERVING_GROUP,
            f"{MODEL_SERVING_GROUP}/revision": PLACEHOLDER_HASH,
            f"{MODEL_SERVING_GROUP}/model-uid": scene.uid,
        },
    )
    main = pod["spec"]["containers"][0]
    main["name"] = "engine" if _role_of(scene) == "leader" else "vllm"
    role = {"name": _role_of(scene), "workerReplicas": _workers_beside(scene.item)}
    stamp_member(pod, _serving(scene), role, entry=True)


def _booster_pods(scene: Scene) -> int:
    backend = mapping_at(scene.spec, "backend")
    return count(backend.get("replicas")) * count(scene.item.get("replicas")) * (1 + _workers_beside(scene.item))


DOSSIER: Final = Dossier(
    name="ModelBooster",
    versions={"volcano-sh/kthena": "3cc05728, after v1.0.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({MODEL_SERVING_VERSION}),
            kind="ModelBooster",
            source=f"volcano-sh/kthena pkg/apis/workload/v1alpha1/model_booster_types.go; {_CONVERT}",
            places=tuple(
                TemplatePlace(
                    path=("spec", "backend", "workers", ELEMENT),
                    form=_WORKER,
                    stamp=_stamp_booster,
                    role=role,
                    when=_is(role),
                    replicas=_booster_pods,
                    owner=_serving,
                    base=("spec", "backend"),
                    inherited=frozenset({"runtimeClassName"}),
                )
                for roles in _ROLES_OF.values()
                for role in roles.values()
            ),
        ),
    ),
    notes=(
        KindNote(
            key=f"{MODEL_SERVING_KEYS}/group-name",
            kind=f"{MODEL_SERVING_GROUP}/ModelBooster",
            title="ModelBooster (Kthena)",
            keeps="likewise; the ModelServing that Kthena makes of it and corrects: of its pods an author writes only "
            "`affinity`, `tolerations`, `image` and `resources`",
            source=f"{_CONVERT}/model_serving.go, templates",
        ),
    ),
)
