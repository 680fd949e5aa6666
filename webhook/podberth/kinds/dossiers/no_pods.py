"""What stands beside workloads in clusters and repositories, and makes no pods of a user's template."""

from typing import Final

from ..dossier import Dossier

DOSSIER: Final = Dossier(
    name="things without pods",
    podless_groups=frozenset(
        {
            "aigateway.envoyproxy.io",
            "autoscaling.x-k8s.io",
            "azmonitoring.coreos.com",
            "cert-manager.io",
            "cloud.google.com",
            "config.kueue.x-k8s.io",
            "configsync.gke.io",
            "constraints.gatekeeper.sh",
            "eksctl.io",
            "external-secrets.io",
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
            "monitoring.coreos.com",
            "monitoring.googleapis.com",
            "mutations.gatekeeper.sh",
            "networking.gke.io",
            "networking.istio.io",
            "nfd.k8s-sigs.io",
            "podberth.io",
            "resource.nvidia.com",
            "scheduling.run.ai",
            "scheduling.sigs.k8s.io",
            "scheduling.x-k8s.io",
            "secrets-store.csi.x-k8s.io",
            "security.istio.io",
            "security.openshift.io",
            "sriovnetwork.openshift.io",
        }
    ),
    podless_kinds=frozenset({"keda.sh/v1alpha1/ScaledObject", "keda.sh/v1alpha1/TriggerAuthentication"}),
)
