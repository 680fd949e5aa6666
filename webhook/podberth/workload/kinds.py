"""The table of the kinds that podberth knows: those that make pods, and those that are known to make none."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.places import PLACEHOLDER_UID, WorkloadKind
from ..kube.paths import ELEMENT
from .batch_kinds import BATCH_KINDS
from .core_kinds import CORE_KINDS
from .graph_kinds import GRAPH_KINDS
from .serving_kinds import SERVING_KINDS
from .trainer_kinds import TRAINER_KINDS
from .training_kinds import TRAINING_KINDS

__all__ = ["KINDS", "PLACEHOLDER_UID", "is_known", "row_for"]

KINDS: Final[tuple[WorkloadKind, ...]] = (
    *CORE_KINDS,
    *BATCH_KINDS,
    *TRAINING_KINDS,
    *TRAINER_KINDS,
    *SERVING_KINDS,
    *GRAPH_KINDS,
)

_BY_NAME: Final = {(version, row.kind): row for row in KINDS for version in row.api_versions}

# Groups of which no kind has a pod template of its user's, and single kinds of groups of which others have one.
PODLESS_GROUPS: Final = frozenset(
    {
        "admissionregistration.k8s.io",
        "aigateway.envoyproxy.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "autoscaling.aibrix.ai",
        "autoscaling.x-k8s.io",
        "azmonitoring.coreos.com",
        "cert-manager.io",
        "certificates.k8s.io",
        "cloud.google.com",
        "config.kueue.x-k8s.io",
        "configsync.gke.io",
        "constraints.gatekeeper.sh",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "eksctl.io",
        "events.k8s.io",
        "external-secrets.io",
        "flowcontrol.apiserver.k8s.io",
        "gateway.networking.k8s.io",
        "gpu.resource.nvidia.com",
        "inference.networking.k8s.io",
        "inference.networking.x-k8s.io",
        "kai.scheduler",
        "karpenter.k8s.aws",
        "karpenter.sh",
        "kind.x-k8s.io",
        "kueue.x-k8s.io",
        "kustomize.config.k8s.io",
        "model.aibrix.ai",
        "monitoring.coreos.com",
        "monitoring.googleapis.com",
        "mutations.gatekeeper.sh",
        "networking.gke.io",
        "networking.istio.io",
        "networking.k8s.io",
        "networking.serving.volcano.sh",
        "nfd.k8s-sigs.io",
        "node.k8s.io",
        "podberth.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "resource.nvidia.com",
        "scheduling.k8s.io",
        "scheduling.run.ai",
        "scheduling.sigs.k8s.io",
        "scheduling.volcano.sh",
        "scheduling.x-k8s.io",
        "secrets-store.csi.x-k8s.io",
        "security.istio.io",
        "security.openshift.io",
        "snapshot.storage.k8s.io",
        "sriovnetwork.openshift.io",
        "storage.k8s.io",
        "topology.volcano.sh",
    }
)
PODLESS_KINDS: Final = frozenset(
    {
        "v1/APIResourceList",  # what discovery says, among the files of a snapshot
        "v1/ConfigMap",
        "v1/Endpoints",
        "v1/Event",
        "v1/LimitRange",
        "v1/Namespace",
        "v1/Node",
        "v1/PersistentVolume",
        "v1/PersistentVolumeClaim",
        "v1/ResourceQuota",
        "v1/Secret",
        "v1/Service",
        "v1/ServiceAccount",
        "apps/v1/ControllerRevision",
        "apps.nvidia.com/v1alpha1/NIMCache",
        "argoproj.io/v1alpha1/AppProject",
        "argoproj.io/v1alpha1/Application",
        "argoproj.io/v1alpha1/ApplicationSet",
        "keda.sh/v1alpha1/ScaledObject",
        "keda.sh/v1alpha1/TriggerAuthentication",
        "serving.kserve.io/v1alpha1/ClusterStorageContainer",
        "serving.kserve.io/v1alpha1/InferenceGraph",
        "serving.kserve.io/v1alpha1/TrainedModel",
        "workload.serving.volcano.sh/v1alpha1/AutoscalingPolicy",
        "workload.serving.volcano.sh/v1alpha1/AutoscalingPolicyBinding",
    }
)


def row_for(workload: Mapping[str, Any]) -> WorkloadKind | None:
    """Return the row of an object by its apiVersion and kind, or None where its pods cannot be foretold."""
    version, kind = workload.get("apiVersion"), workload.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    return _BY_NAME.get((version, kind))


def nested_in(document: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the paths of an object to other whole objects in it: an AppWrapper's, and those of a list of any kind."""
    row, kind = row_for(document), document.get("kind")
    if row is not None:
        return row.nested
    is_list = isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list)
    return (("items", ELEMENT),) if is_list else ()


def is_known(document: Mapping[str, Any]) -> bool:
    """Say whether podberth knows what pods the object makes, none included."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    if (version, kind) == ("v1", "Pod") or row_for(document) is not None or nested_in(document):
        return True
    return version.rpartition("/")[0] in PODLESS_GROUPS or f"{version}/{kind}" in PODLESS_KINDS
