"""API groups and kinds that have no pod template of the user and belong to no other dossier, such as cert-manager's."""

from typing import Final

from ..dossier import Dossier
from ..words import words

DOSSIER: Final = Dossier(
    name="things without pods",
    podless_groups=words(
        "aigateway.envoyproxy.io autoscaling.openshift.io autoscaling.x-k8s.io azmonitoring.coreos.com cert-manager.io "
        "cloud.google.com configsync.gke.io constraints.gatekeeper.sh dashboard.opendatahub.io eksctl.io "
        "external-secrets.io infrastructure.opendatahub.io kubescheduler.config.k8s.io "
        "gateway.networking.k8s.io inference.networking.k8s.io "
        "inference.networking.x-k8s.io karpenter.k8s.aws karpenter.sh kind.x-k8s.io kustomize.config.k8s.io "
        "monitoring.coreos.com monitoring.googleapis.com mutations.gatekeeper.sh networking.gke.io "
        "networking.istio.io nfd.k8s-sigs.io podberth.io secrets-store.csi.x-k8s.io "
        "security.istio.io security.openshift.io sriovnetwork.openshift.io"
    ),
    podless_kinds=frozenset({"keda.sh/v1alpha1/ScaledObject", "keda.sh/v1alpha1/TriggerAuthentication"}),
)
