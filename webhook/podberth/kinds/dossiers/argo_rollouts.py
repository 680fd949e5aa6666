"""Facts about Argo Rollouts: Rollouts, whose pods are replaced step by step and are no gang.

Each version of a Rollout is a ReplicaSet. A Rollout with ``workloadRef`` has no pod template: its pods are made from
the template of the Deployment, ReplicaSet or PodTemplate that it names, and podberth checks that object.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import Path
from ...kube.positions import render_path
from ...kube.unchecked import mapping_at
from ..dossier import Dossier
from ..name_sets import words
from ..places import LABELLED, Found, Scene, TemplatePlace, WorkloadKind, spec_replicas
from ..stamping import add_annotations, add_labels, own_by_replica_set

_TYPES: Final = "argoproj/argo-rollouts pkg/apis/rollouts/v1alpha1/types.go"
# The same file, DefaultRolloutUniqueLabelKey
_HASH: Final = "rollouts-pod-template-hash"
_METADATA: Final[Mapping[str, tuple[str, ...]]] = {
    "canary": ("spec", "strategy", "canary", "stableMetadata"),
    "blueGreen": ("spec", "strategy", "blueGreen", "activeMetadata"),
}
"""The paths of labels and annotations for the pods of the stable version, by strategy; the first strategy counts."""

# _TYPES: RolloutSpec, CanaryStrategy, BlueGreenStrategy, PodTemplateMetadata, ObjectRef
_NAMES: Final[Mapping[tuple[str, ...], str]] = {
    ("spec",): "analysis minReadySeconds paused progressDeadlineAbort progressDeadlineSeconds replicas restartAt "
    "revisionHistoryLimit rollbackWindow selector strategy template workloadRef",
    ("spec", "workloadRef"): "apiVersion kind name scaleDown",
    ("spec", "strategy"): "blueGreen canary",
    ("spec", "strategy", "canary"): "abortScaleDownDelaySeconds analysis antiAffinity canaryMetadata canaryService "
    "dynamicStableScale maxSurge maxUnavailable minPodsPerReplicaSet pingPong replicaProgressThreshold "
    "scaleDownDelayRevisionLimit scaleDownDelaySeconds stableMetadata stableService steps trafficRouting",
    ("spec", "strategy", "blueGreen"): "abortScaleDownDelaySeconds activeMetadata activeService antiAffinity "
    "autoPromotionEnabled autoPromotionSeconds maxUnavailable postPromotionAnalysis prePromotionAnalysis "
    "previewMetadata previewReplicaCount previewService scaleDownDelayRevisionLimit scaleDownDelaySeconds",
    **dict.fromkeys(_METADATA.values(), "annotations labels"),
}


def _metadata(scene: Scene) -> tuple[tuple[str, ...], Found]:
    """Return the path and the value of the metadata that Argo Rollouts adds to the pods of the first version."""
    strategy = mapping_at(scene.spec, "strategy")
    path = _METADATA["canary" if strategy.get("canary") is not None else "blueGreen"]
    return path, mapping_at(scene.document, *path)


def _texts(said: Found, key: str) -> dict[str, str]:
    return {name: value for name, value in mapping_at(said, key).items() if isinstance(value, str)}


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write on a pod the fields that Argo Rollouts writes on the pods of a Rollout's first version.

    The pods of later versions get ``canaryMetadata`` or ``previewMetadata`` in place of the stable metadata, and the
    ``antiAffinity`` to the stable version; both are left out. Source: rollout/sync.go createDesiredReplicaSet,
    utils/replicaset/canary.go SyncEphemeralPodMetadata, utils/replicaset/replicaset.go GenerateReplicaSetAffinity.
    """
    own_by_replica_set(pod, scene.name, _HASH)
    _, said = _metadata(scene)
    add_labels(pod, _texts(said, "labels"))
    if annotations := _texts(said, "annotations"):
        add_annotations(pod, annotations)


def _replaced(scene: Scene) -> Iterator[tuple[Path, str]]:
    """Yield (path in the pod, message) for each label and annotation that replaces the template's own."""
    path, said = _metadata(scene)
    for key in ("labels", "annotations"):
        for name in _texts(said, key):
            yield ("metadata", key, name), f"{render_path((*path, key))} replaces it; change it there"


DOSSIER: Final = Dossier(
    name="Argo Rollouts",
    versions={"argoproj/argo-rollouts": "9f8d111d, after v1.9.1"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"argoproj.io/v1alpha1"}),
            kind="Rollout",
            source=f"{_TYPES}, rollout/sync.go",
            places=(
                TemplatePlace(
                    path=("spec", "template"),
                    # manifests/crds/rollout-crd.yaml, whose template has no other metadata
                    form=LABELLED,
                    stamp=_stamp,
                    optional=True,
                    # rollout/templateref.go Resolve
                    when=lambda scene: scene.spec.get("workloadRef") is None,
                    replicas=spec_replicas,
                    lacks=words("schedulingGroup workloadRef"),
                    fixed=_replaced,
                ),
            ),
            names=tuple((*path, name) for path, names in _NAMES.items() for name in names.split()),
        ),
    ),
    replica_sets={_HASH: "Rollout"},
)
