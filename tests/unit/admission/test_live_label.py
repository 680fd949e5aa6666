"""A live label shows how a node is now: no policy takes it for the node's kind, and preferences over it count nodes."""

import json

import pytest

from builders import JSON, gpu_pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.conventions import Conventions
from podberth.facts.cluster import collect
from podberth.topology.index import TopologyIndex
from podberth.wellknown import FREE_LINKED_LABEL
from snapshots import Texts, cluster, library, over

LARGE = gpu_pod(1, annotations={"podberth.io/gpu-memory": "60Gi"})
LINKED = gpu_pod(4)
FREE = {"hgx-h100-8": "8", "a100-pcie-4": "0"}


def mutate(pod: JSON, *, key: str, texts: Texts, mode: str = "preferred") -> Outcome:
    """Mutate a pod among three nodes of each shape with no label but their names and ``key``; none will be added."""
    documents = cluster(hgx_h100_8=3, a100_pcie_4=3)
    for each in documents:
        if each["kind"] == "Node":
            name = each["metadata"]["name"]
            each["metadata"]["labels"] = {"kubernetes.io/hostname": name, key: FREE[name.rpartition("-")[0]]}
    for policy in ("product-affinity", "multi-gpu-nvlink"):
        metadata = {"name": f"podberth-{policy}", "namespace": "podberth-system"}
        documents.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"mode": mode}})
    facts = collect(documents, now=None)
    index = TopologyIndex.build(facts.nodes, Conventions(node_groups_grow=False))
    return decide.mutate(decode_review(review(pod)), over(texts, facts).with_topology(index))


@pytest.mark.parametrize("mode", ["required", "preferred"])
@pytest.mark.parametrize("pod", [LARGE, LINKED], ids=["product-affinity", "multi-gpu-nvlink"])
def test_a_label_of_pools_selects_the_nodes_that_fit_and_a_live_label_does_not(pod: JSON, mode: str) -> None:
    by_pool, by_live = (mutate(pod, key=key, texts=library(), mode=mode) for key in ("pool", FREE_LINKED_LABEL))
    assert f"{mode}DuringScheduling" in json.dumps(by_pool.patch)
    assert '"key": "pool"' in json.dumps(by_pool.patch)
    assert "nodeAffinity" not in json.dumps(by_live.patch)


def test_the_policy_that_prefers_free_linked_gpus_counts_the_nodes_that_have_them() -> None:
    outcome = mutate(LINKED, key=FREE_LINKED_LABEL, texts=library("free-linked"))
    [said] = outcome.warnings
    assert said.endswith("; prefers podberth.io/free-linked-gpus > 3: prefers 3 of 6 nodes")
