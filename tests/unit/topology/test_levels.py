"""The presets of topology levels: whose keys are known, and that a provider's own order is kept."""

import pytest

from podberth.conventions import LEVELS

# Each widest first, by its source.
TREES = {
    # https://kubernetes.io/docs/reference/labels-annotations-taints/
    "kubernetes": ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", "kubernetes.io/hostname"),
    # topograph docs/reference/node-labels.md, since 1.0
    "topograph": (
        *(f"fabric.topograph.run/tier-{tier}" for tier in range(7, -1, -1)),
        "accelerator.topograph.run/domain",
    ),
    # topograph docs/engines/k8s.md of v0.5.0 and of v0.1.0
    "topograph before 1.0": tuple(
        f"network.topology.nvidia.com/{key}" for key in ("core", "spine", "leaf", "accelerator")
    ),
    "topograph at first": tuple(
        f"network.topology.nvidia.com/{key}" for key in ("datacenter", "spine", "block", "accelerator")
    ),
    # kubernetes/cloud-provider-aws pkg/providers/v1/well_known_labels.go
    "AWS": tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3, 4)),
    # https://docs.coreweave.com/docs/products/networking/reference/infiniband-labels
    "CoreWeave, InfiniBand": (
        *(f"ib.coreweave.cloud/{key}" for key in ("fabric", "superpod", "leafgroup")),
        "node.coreweave.cloud/rack",
        "ds.coreweave.com/nvlink.domain",
    ),
    # https://docs.coreweave.com/products/networking/hpc-interconnect/infiniband-roce-labels
    "CoreWeave": tuple(f"backend.coreweave.cloud/{key}" for key in ("fabric", "leafgroup")),
    "GKE": ("cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"),
    "OCI": ("oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"),
}


@pytest.mark.parametrize("keys", TREES.values(), ids=TREES.keys())
def test_a_providers_tree_is_known_in_its_order(keys: tuple[str, ...]) -> None:
    places = [LEVELS.index(key) for key in keys]
    assert places == sorted(places)


def test_no_level_is_reported_twice() -> None:
    assert len(set(LEVELS)) == len(LEVELS)
