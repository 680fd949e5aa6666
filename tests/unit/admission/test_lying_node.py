"""A node that claims GPUs that it does not have is believed; a pod is bound to it only if a policy requires."""

from typing import Any

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.kube.patch import apply
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE
from shipped import POLICIES
from snapshots import cluster, snapshot

HONEST = cluster(a100_pcie_4=2)
LIE = [*simulate("hgx-h100-8", "liar")]
"""A Node and its topology: eight GPUs that share NVLink, whatever the machine has."""


def affinity(mode: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    """Return the node affinity that a pod of four GPUs gets in a cluster of these nodes."""
    text = (POLICIES / "multi-gpu-nvlink" / "policy.yaml").read_text()
    metadata = {"name": "podberth-multi-gpu-nvlink", "namespace": NAMESPACE}
    params = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"mode": mode}}
    document = gpu_pod(4)
    outcome = decide.mutate(decode_review(review(document)), snapshot(text, objects=(params, *nodes)))
    spec = apply(document, outcome.patch)["spec"]
    found: dict[str, Any] = spec.get("affinity", {}).get("nodeAffinity", {})
    return found


def test_a_pod_prefers_the_node_that_lies_and_is_not_bound_to_it() -> None:
    assert affinity("preferred", *HONEST) == {}
    found = affinity("preferred", *HONEST, *LIE)
    assert list(found) == ["preferredDuringSchedulingIgnoredDuringExecution"]
    [preferred] = found["preferredDuringSchedulingIgnoredDuringExecution"]
    [expression] = preferred["preference"]["matchExpressions"]
    assert expression["values"] == [LIE[0]["metadata"]["labels"]["nvidia.com/gpu.product"]]


def test_a_pod_is_bound_to_the_node_that_lies_where_a_policy_requires() -> None:
    assert list(affinity("required", *HONEST, *LIE)) == ["requiredDuringSchedulingIgnoredDuringExecution"]
