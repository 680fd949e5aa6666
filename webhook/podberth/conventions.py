"""Presets for names that differ between clusters: topology levels, taints of GPU nodes, and meanings of node labels.

The names are presets, not constants of the code: a cluster with other names passes its own ``Conventions``. Accelerator
resource names have a table of their own (``devices.resources``). This module reads no node and no pod.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .wellknown import HOSTNAME_LABEL, LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL, LIVE_LABELS

# Widest first (Kueue and KAI order their levels so). Providers' keys share one list because no cluster has two
# providers; within a provider the order is the provider's.
LEVELS: tuple[str, ...] = (
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    # topograph since 1.0: tier-0 is nearest to the node, and there are as many as the provider reports (its
    # docs/reference/node-labels.md). Most report three; a Slurm tree of eight tiers has not been met
    "fabric.topograph.run/tier-7",
    "fabric.topograph.run/tier-6",
    "fabric.topograph.run/tier-5",
    "fabric.topograph.run/tier-4",
    "fabric.topograph.run/tier-3",
    "fabric.topograph.run/tier-2",
    "fabric.topograph.run/tier-1",
    "fabric.topograph.run/tier-0",
    # the same before topograph 1.0; core and leaf were at first datacenter and block (docs/engines/k8s.md of v0.1.0)
    "network.topology.nvidia.com/datacenter",
    "network.topology.nvidia.com/core",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/block",
    "network.topology.nvidia.com/leaf",
    # AWS EC2 instance topology: layer 1 is the top of the tree, and some instance types have a fourth
    # (kubernetes/cloud-provider-aws pkg/providers/v1/well_known_labels.go)
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "topology.k8s.aws/network-node-layer-4",
    # compact placement on GKE
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    # AKS proximity placement group
    "kubernetes.azure.com/ppg",
    # OCI
    "oci.oraclecloud.com/host.network_block_id",
    "oci.oraclecloud.com/host.rack_id",
    # CoreWeave: of InfiniBand and of any fabric (docs.coreweave.com/products/networking/hpc-interconnect/
    # infiniband-roce-labels), a superpod within a fabric, a leaf group within that (products/sunk/discover_sunk)
    "ib.coreweave.cloud/fabric",
    "backend.coreweave.cloud/fabric",
    "ib.coreweave.cloud/superpod",
    "ib.coreweave.cloud/leafgroup",
    "backend.coreweave.cloud/leafgroup",
    "node.coreweave.cloud/rack",
    # Alibaba's high-performance network
    "alibabacloud.com/hpn-zone",
    # NVLink across nodes: HyperPod's UltraServer, CoreWeave's NVL72 rack (docs.coreweave.com/products/sunk/
    # optimize_workloads/topology-scheduling), topograph's accelerator domain (old and new key), then NVIDIA's
    # clique, its partition
    "topology.k8s.aws/ultraserver-id",
    "ds.coreweave.com/nvlink.domain",
    "network.topology.nvidia.com/accelerator",
    "accelerator.topograph.run/domain",
    "accelerator.topograph.run/sub-domain",
    "nvidia.com/gpu.clique",
    HOSTNAME_LABEL,
)

# A value of None tolerates the key with any value. Others use `sku`, too: only AKS' own value counts.
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

MACHINE_LABELS: frozenset[str] = frozenset(
    {
        HOSTNAME_LABEL,
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
"""The labels that identify one machine."""

STATE_LABELS: frozenset[str] = frozenset(
    {
        "nvidia.com/gfd.timestamp",
        "nvidia.com/mig.config.state",
        "nvidia.com/gpu-driver-upgrade-state",
        *LIVE_LABELS,
    }
)
"""The labels that show the age or the state of a node; every live label of the agent is one of them."""

IGNORED_LABELS: frozenset[str] = MACHINE_LABELS | STATE_LABELS
"""The labels that do not describe a node's kind: two nodes that differ only here are of one class."""

Trait: TypeAlias = Literal["memory", "links", "cut"]
"""The name of a property of a node's GPUs that a label's value can determine.

memory: the memory size. links: whether NVLink connects the GPUs. cut: whether the GPUs are partitioned or shared.
"""


@dataclass(frozen=True, slots=True)
class LabelKey:
    """A node label key, and what the label's value says about the GPUs of the node."""

    key: str
    provisioned: bool = False
    """Whether a cluster autoscaler's node template, for a node group of size zero, has the label."""
    settles: frozenset[Trait] = frozenset()
    """The traits that are equal on all nodes with one value of the label.

    A required node affinity term may exclude a value because of such a trait: every node with that value has the trait.
    """
    number: bool = False
    """Whether the label's value is a number of which a larger value is better."""


def _settles(*traits: Trait) -> frozenset[Trait]:
    return frozenset(traits)


# Most meaningful first: a label that describes the hardware comes before one that describes place or owner.
#
# `provisioned`: kubernetes/autoscaler cluster-autoscaler/cloudprovider/<provider> builds template nodes with the
# instance type, zone and region, and the provider's accelerator label; Karpenter with the labels of its instance types
# (aws/karpenter-provider-aws pkg/apis/v1/labels.go, Azure/karpenter-provider-azure pkg/apis/v1beta1/labels.go). What
# GFD, the node agent and topograph write exists only once a node runs. tests/templates.yaml has the label sets.
#
# `settles`: GFD's product ends in -MIG-<profile> or -SHARED where GPUs are partitioned or shared, so it settles all; a
# cloud's accelerator or machine type does not show how its GPUs are partitioned later. Karpenter calls every A100 a100,
# whatever its memory.
LABEL_KEYS: tuple[LabelKey, ...] = (
    LabelKey("nvidia.com/gpu.product", settles=_settles("memory", "links", "cut")),
    LabelKey("cloud.google.com/gke-accelerator", provisioned=True, settles=_settles("memory", "links")),
    LabelKey("gpu.nvidia.com/model"),
    LabelKey("gpu.nvidia.com/class"),
    LabelKey("k8s.amazonaws.com/accelerator", provisioned=True),
    LabelKey("karpenter.k8s.aws/instance-gpu-name", provisioned=True, settles=_settles("links")),
    LabelKey("karpenter.azure.com/sku-gpu-name", provisioned=True),
    LabelKey("amd.com/gpu.product-name"),
    LabelKey(LINK_SHAPE_LABEL),
    LabelKey(LINK_DOMAIN_LABEL, settles=_settles("links"), number=True),
    LabelKey("nvidia.com/mig.strategy"),
    LabelKey("nvidia.com/gpu.count", number=True),
    LabelKey("cloud.google.com/gke-accelerator-count", provisioned=True, number=True),
    LabelKey("karpenter.k8s.aws/instance-gpu-count", provisioned=True, number=True),
    LabelKey("karpenter.azure.com/sku-gpu-count", provisioned=True, number=True),
    LabelKey("nvidia.com/gpu.memory", settles=_settles("memory", "cut"), number=True),
    LabelKey("karpenter.k8s.aws/instance-gpu-memory", provisioned=True, settles=_settles("memory"), number=True),
    LabelKey("nvidia.com/gpu.family"),
    LabelKey("nvidia.com/gpu.sharing-strategy"),
    LabelKey("cloud.google.com/gke-gpu-partition-size", provisioned=True, settles=_settles("memory", "links", "cut")),
    LabelKey("cloud.google.com/gke-gpu-sharing-strategy", provisioned=True, settles=_settles("links", "cut")),
    LabelKey("node.kubernetes.io/instance-type", provisioned=True, settles=_settles("memory", "links")),
    LabelKey("nvidia.com/gpu.machine"),
    LabelKey("nvidia.com/gpu.clique"),
    LabelKey("topology.kubernetes.io/zone", provisioned=True),
)


@dataclass(frozen=True, slots=True)
class GroupSystem:
    """A scheduler or queue whose own webhook runs after podberth's and takes over all pods of some namespaces."""

    system: str
    """The name of the group system in ``workload.systems``."""
    namespace_selector: Mapping[str, Any]
    """The label selector (meta/v1, as JSON) of the namespaces whose pods the group system takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """The names that one cluster uses for levels, taints and labels; the defaults cover all known providers."""

    levels: tuple[str, ...] = LEVELS
    """The node label keys of the topology levels, widest first."""
    tolerable_taints: Mapping[str, str | None] = field(default_factory=lambda: dict(TOLERABLE_TAINTS))
    """The keys of taints that mark accelerator nodes, each with the taint's value, or None for any value.

    Only taints with the effect NoSchedule count.
    """
    ignored_labels: frozenset[str] = IGNORED_LABELS
    """The keys of labels that podberth ignores when it divides nodes into classes and when it generates terms."""
    label_keys: tuple[LabelKey, ...] = LABEL_KEYS
    """Label keys in the order of how well they describe the hardware, best first; keys not listed here come last."""
    group_systems: tuple[GroupSystem, ...] = ()
    """The group systems that take over the pods of whole namespaces."""
    node_groups_grow: bool = True
    """Whether an autoscaler may add nodes of a kind that is not known yet.

    If so, a required node affinity term never lists wanted values and only excludes unsuitable values.
    """

    def marks_accelerators(self, key: str, value: str, effect: str) -> bool:
        """Return whether a taint with this key, value and effect only marks a node as an accelerator node.

        The arguments may also come from a toleration. The result is then whether the toleration tolerates only such
        taints.
        """
        tolerable = self.tolerable_taints
        return effect == "NoSchedule" and key in tolerable and tolerable[key] in (None, value)
