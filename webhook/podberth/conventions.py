"""What names mean in a cluster: topology levels, tolerable taints, and how much a node label says.

These are presets, not constants of the code: a cluster that spells things differently passes its own ``Conventions``.
Accelerator resource names have a table of their own (``devices.resources``). Nothing here reads a node or a pod.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .wellknown import HOSTNAME_LABEL

# Widest first (Kueue and KAI order their levels so). Providers' keys stand in one list because no cluster carries two
# providers; within a provider the order is the provider's.
LEVELS: tuple[str, ...] = (
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    # topograph since 1.0: tier-0 is nearest to the node
    "fabric.topograph.run/tier-3",
    "fabric.topograph.run/tier-2",
    "fabric.topograph.run/tier-1",
    "fabric.topograph.run/tier-0",
    # the same before topograph 1.0
    "network.topology.nvidia.com/core",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/leaf",
    # AWS EC2 instance topology: layer 1 is the top of the tree
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    # compact placement on GKE
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    # AKS proximity placement group
    "kubernetes.azure.com/ppg",
    # OCI
    "oci.oraclecloud.com/host.network_block_id",
    "oci.oraclecloud.com/host.rack_id",
    # CoreWeave
    "backend.coreweave.cloud/fabric",
    "backend.coreweave.cloud/leafgroup",
    "node.coreweave.cloud/rack",
    # NVLink across nodes: topograph's accelerator domain (old and new key), then NVIDIA's clique, its partition
    "network.topology.nvidia.com/accelerator",
    "accelerator.topograph.run/domain",
    "accelerator.topograph.run/sub-domain",
    "nvidia.com/gpu.clique",
    HOSTNAME_LABEL,
)

# A value of None tolerates the key with any value. `sku` is a word that others use too: only AKS' own value counts.
TOLERABLE_TAINTS: Mapping[str, str | None] = {
    "nvidia.com/gpu": None,  # GKE, OKE, the GPU operator's convention
    "amd.com/gpu": None,
    "gpu.intel.com/i915": None,
    "gpu.intel.com/xe": None,
    "habana.ai/gaudi": None,
    "google.com/tpu": None,  # GKE TPU node pools
    "aws.amazon.com/neuron": None,
    "huawei.com/Ascend910": None,
    "sku": "gpu",  # AKS documentation's node pools
}

# Labels that identify or age a node, or say what is being done to it, instead of describing its kind. Two nodes that
# differ only here are of one class.
IGNORED_LABELS: frozenset[str] = frozenset(
    {
        HOSTNAME_LABEL,
        "nvidia.com/gfd.timestamp",
        "nvidia.com/mig.config.state",
        "nvidia.com/gpu-driver-upgrade-state",
        "topology.ebs.csi.aws.com/node",
        "node.kubernetes.io/instance-id",
        "alpha.eksctl.io/instance-id",
        "cloud.google.com/gce-topology-host",
        "topology.gke.io/host",
        "csi.volume.kubernetes.io/nodeid",
        "kubernetes.azure.com/nodename",
        "oci.oraclecloud.com/host.id",
        "machine.openshift.io/machine",
        "cluster.x-k8s.io/machine",
        "karpenter.sh/nodeclaim",
    }
)

# Most meaningful first: a label that says what the hardware is beats one that says where or whose it is.
LABEL_RANKS: tuple[str, ...] = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "gpu.nvidia.com/model",
    "gpu.nvidia.com/class",
    "k8s.amazonaws.com/accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.azure.com/sku-gpu-name",
    "amd.com/gpu.product-name",
    "podberth.io/link-shape",
    "podberth.io/link-domain-size",
    "nvidia.com/mig.strategy",
    "nvidia.com/gpu.count",
    "cloud.google.com/gke-accelerator-count",
    "nvidia.com/gpu.memory",
    "nvidia.com/gpu.family",
    "nvidia.com/gpu.sharing-strategy",
    "cloud.google.com/gke-gpu-partition-size",
    "cloud.google.com/gke-gpu-sharing-strategy",
    "node.kubernetes.io/instance-type",
    "nvidia.com/gpu.machine",
    "nvidia.com/gpu.clique",
    "topology.kubernetes.io/zone",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """The names one cluster uses; the defaults are the presets of all known providers."""

    levels: tuple[str, ...] = LEVELS
    """Node label keys of the topology levels, widest first."""
    tolerable_taints: Mapping[str, str | None] = field(default_factory=lambda: dict(TOLERABLE_TAINTS))
    """Taint keys that mark accelerator nodes, with the one value meant, or None for any value. NoSchedule only."""
    ignored_labels: frozenset[str] = IGNORED_LABELS
    """Label keys that never enter an equivalence class or a generated term."""
    label_ranks: tuple[str, ...] = LABEL_RANKS
    """Label keys by how much they say of the hardware, most first; a key that is not listed ranks last."""
