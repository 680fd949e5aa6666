"""The API groups and kinds without a pod template that are in no other dossier, such as cert-manager's."""

from collections.abc import Mapping
from typing import Final

from ..dossier import Dossier

_GROUPS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Azure/prometheus-collector": ("39583fd5", ("azmonitoring.coreos.com",)),
    "GoogleCloudPlatform/gke-networking-api": ("34c617f2", ("networking.gke.io",)),
    "GoogleCloudPlatform/prometheus-engine": ("2ffde4ec", ("monitoring.googleapis.com",)),
    "GoogleContainerTools/kpt-config-sync": ("bd5fadf7", ("configsync.gke.io",)),
    "aws/karpenter-provider-aws": ("1d927085", ("karpenter.k8s.aws",)),
    "cert-manager/cert-manager": ("2d0d7f7f", ("cert-manager.io",)),
    "eksctl-io/eksctl": ("99984adb", ("eksctl.io",)),
    "envoyproxy/ai-gateway": ("c217da8a", ("aigateway.envoyproxy.io",)),
    "external-secrets/external-secrets": ("cc5bfbc2", ("external-secrets.io",)),
    "istio/api": ("b8f8791d", ("networking.istio.io", "security.istio.io")),
    "k8snetworkplumbingwg/sriov-network-operator": ("249e2001", ("sriovnetwork.openshift.io",)),
    "kubernetes-sigs/gateway-api": ("4564255a", ("gateway.networking.k8s.io",)),
    "kubernetes-sigs/gateway-api-inference-extension": (
        "84436a96",
        ("inference.networking.k8s.io", "inference.networking.x-k8s.io"),
    ),
    "kubernetes-sigs/karpenter": ("22664681", ("karpenter.sh",)),
    "kubernetes-sigs/kind": ("fed26882", ("kind.x-k8s.io",)),
    "kubernetes-sigs/kustomize": ("12f9e639", ("kustomize.config.k8s.io",)),
    "kubernetes-sigs/node-feature-discovery": ("76e6cc8c", ("nfd.k8s-sigs.io",)),
    "kubernetes-sigs/secrets-store-csi-driver": ("0aad886f", ("secrets-store.csi.x-k8s.io",)),
    "kubernetes/autoscaler": ("55c37cd5", ("autoscaling.x-k8s.io",)),
    "kubernetes/ingress-gce": ("acbcf5d6", ("cloud.google.com",)),
    "kubernetes/kube-scheduler": ("e87dbddd", ("kubescheduler.config.k8s.io",)),
    "loft-sh/vcluster-docs": ("0f45a068", ("management.loft.sh",)),
    "open-policy-agent/gatekeeper": ("dd8507eb", ("constraints.gatekeeper.sh", "mutations.gatekeeper.sh")),
    "opendatahub-io/odh-dashboard": ("b9d09633", ("dashboard.opendatahub.io",)),
    "opendatahub-io/opendatahub-operator": ("0c0c9913", ("infrastructure.opendatahub.io",)),
    "openshift/api": ("2a3d7391", ("security.openshift.io",)),
    "openshift/cluster-autoscaler-operator": ("5673ba0d", ("autoscaling.openshift.io",)),
    "prometheus-operator/prometheus-operator": ("6adcebc5", ("monitoring.coreos.com",)),
}
"""A mapping from repository to (the commit that was read, the API groups of the repository)."""

DOSSIER: Final = Dossier(
    name="things without pods",
    versions={repository: version for repository, (version, _) in _GROUPS.items()}
    | {
        "AMD-AGI/Primus-SaFE": "01e8d9e9",
        "kedacore/keda": "8b4f083c",
        # infrastructure/setup/manifests/azureml-instance-types.yaml: a job of Azure ML chooses among them
        "microsoft/physical-ai-toolchain": "a8580d83",
    },
    podless_groups=frozenset(group for _, groups in _GROUPS.values() for group in groups) | {"podberth.io"},
    podless_kinds=frozenset(
        {
            "amd.com/v1/NodeFlavor",
            "amlarc.azureml.com/v1alpha1/InstanceType",
            "keda.sh/v1alpha1/ScaledObject",
            "keda.sh/v1alpha1/TriggerAuthentication",
        }
    ),
)
