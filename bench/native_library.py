"""The library's fifteen as policies of the API server's own, and a pod for each that shows it at work.

``native_library.yaml`` has what they say; here they get what all have alike, so that they can be applied.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podberth.kube.documents import load_documents

JSON = dict[str, Any]

_FILE = Path(__file__).with_name("native_library.yaml")
_GROUP = "admissionregistration.k8s.io/v1"
_RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
_GPU = "nvidia.com/gpu"


def policies(namespaces: JSON) -> list[JSON]:
    """Return six mutating and nine validating policies with their bindings; ``namespaces`` is the namespaceSelector."""
    found = []
    for document in _read():
        kind, name = document["kind"], f"library-{document['metadata']['name']}"
        spec = {
            "matchConstraints": {"resourceRules": [_RULE], "namespaceSelector": namespaces},
            "failurePolicy": "Fail",
            **document["spec"],
        }
        binding: JSON = {"policyName": name}
        if kind == "MutatingAdmissionPolicy":
            spec["reinvocationPolicy"] = "IfNeeded"  # as podberth's webhook has it
        else:
            binding["validationActions"] = document["actions"]
        found += [
            {"apiVersion": _GROUP, "kind": each, "metadata": {"name": name}, "spec": content}
            for each, content in ((kind, spec), (f"{kind}Binding", binding))
        ]
    return found


def _read() -> list[JSON]:
    documents, problems = load_documents(_FILE.read_text(), str(_FILE))
    if problems:
        raise SystemExit("\n".join(map(str, problems)))
    return [each.document for each in documents]


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a pod; of a refused one ``pod`` has nothing in it."""

    refused: bool
    heard: str
    """Warnings, or the error."""
    pod: JSON
    """As it would be stored."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A pod that one policy is about, and how to see that it has been at work."""

    name: str
    pod: JSON
    at_work: Callable[[Said], bool]


def probes() -> list[Probe]:
    """Return one for each policy."""
    return [
        Probe("mig-right-size, writing", _pod(annotations={"podberth.io/gpu-memory": "10Gi"}), _has_slice),
        Probe("spot-and-priority, writing", _pod(nodeSelector={_SPOT: "true"}), lambda said: _SPOT in _tolerated(said)),
        Probe("gpu-tolerations", _pod(), lambda said: _GPU in _tolerated(said)),
        Probe("product-affinity", _pod(annotations={"podberth.io/gpu-product": "H100"}), _has_node_affinity),
        Probe("multi-gpu-nvlink", _pod({_GPU: "4"}), _has_node_affinity),
        Probe("gang-topology", _pod(labels=_OF_A_JOB), _has_gang),
        Probe("mig-right-size", _pod({"nvidia.com/mig-9g.99gb": "1"}), _refused),
        Probe("requests-equal-limits", _pod(requests={_GPU: "2"}), _refused),
        Probe("shared-gpu-count", _pod({"nvidia.com/gpu.shared": "2"}), _refused),
        Probe("vendor-names", _pod({"nvidia.com/gpus": "1"}), _refused),
        Probe("inference-roles", _pod(labels={"podberth.io/role": "router"}), _warned),
        Probe("shm-and-limits", _pod({_GPU: "2"}, image="nvcr.io/nim/meta/llama-3.3-70b-instruct"), _warned),
        Probe("idle-guard", _pod(labels={"notebook-name": "a"}), _warned),
        Probe("model-fits-memory", _serving_pod(), _warned),
        Probe("spot-and-priority", _pod(priorityClassName="system-node-critical"), _warned),
    ]


_SPOT = "cloud.google.com/gke-spot"
_UID = "5f1e6a10-5a53-4f27-b3f3-6c2f5f1d0b11"
_OF_A_JOB = {
    "batch.kubernetes.io/controller-uid": _UID,
    "batch.kubernetes.io/job-name": "probe",
    "batch.kubernetes.io/job-completion-index": "0",
}


def _pod(
    limits: JSON | None = None, *, requests: JSON | None = None, labels: JSON | None = None, **fields: Any
) -> JSON:
    annotations, image = fields.pop("annotations", {}), fields.pop("image", "busybox")
    limits = limits or {_GPU: "1"}
    container = {"name": "main", "image": image, "resources": {"limits": limits, "requests": requests or limits}}
    metadata: JSON = {"name": "probe", "labels": labels or {"app": "probe"}, "annotations": annotations}
    if labels is _OF_A_JOB:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "probe", "uid": _UID, "controller": True}
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **fields}}


def _serving_pod() -> JSON:
    pod = _pod(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    pod["spec"]["containers"][0]["args"] = ["vllm", "serve", "--model=meta-llama/Llama-3.3-70B-Instruct"]
    return pod


def _refused(said: Said) -> bool:
    return said.refused


def _warned(said: Said) -> bool:
    return "Warning: " in said.heard and not said.refused


def _tolerated(said: Said) -> set[str]:
    return {each.get("key", "") for each in said.pod.get("spec", {}).get("tolerations", ())}


def _has_gang(said: Said) -> bool:
    return "podberth.io/gang" in said.pod.get("metadata", {}).get("labels", {})


def _has_node_affinity(said: Said) -> bool:
    return bool(said.pod.get("spec", {}).get("affinity", {}).get("nodeAffinity"))


def _has_slice(said: Said) -> bool:
    containers = said.pod.get("spec", {}).get("containers", ())
    return any("mig-" in name for container in containers for name in container["resources"]["limits"])
