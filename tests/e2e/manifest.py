"""Manifests of the end-to-end tests: the examples, wrapped in workloads, and what podberth changes of a pod."""

import re
from pathlib import Path
from typing import Any

from builders import deployment, job
from podberth.kube.documents import load_documents
from podberth.wellknown import APPLIED_ANNOTATION

from .podberth_process import ROOT

Document = dict[str, Any]

EXAMPLES = ROOT / "examples"

# What the fleet's nodes ask for, and what the DefaultTolerationSeconds plugin of the apiserver adds to every pod.
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
SKU_TOLERATION = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
_SEAL = re.compile(r',"=":"[\w-]{22}"}$')
_DEFAULT_KEYS = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


def read(file: Path) -> list[Document]:
    """Return the documents of a manifest."""
    return [one.document for one in load_documents(file.read_text(), file.name)[0]]


def example(name: str) -> Document:
    """Return the one Pod of an example."""
    [document] = read(EXAMPLES / f"{name}.yaml")
    return document


def as_deployment(pod: Document) -> Document:
    """Return a Deployment of the pod; its pods always restart."""
    spec = {key: value for key, value in pod["spec"].items() if key != "restartPolicy"}
    return deployment({**pod, "spec": spec}, name=pod["metadata"]["name"])


def as_job(pod: Document) -> Document:
    """Return a Job of the pod; its pods never restart."""
    return job({**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}, name=pod["metadata"]["name"])


def copy_of(pod: Document, name: str) -> Document:
    """Return a manifest made from a live pod, as people make one from `kubectl get -o yaml`."""
    metadata = {key: value for key, value in pod["metadata"].items() if key in {"labels", "annotations"}}
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": name}, "spec": spec}


def tolerations(pod: Document) -> list[Document]:
    """Return the tolerations that every pod does not have."""
    return [each for each in pod["spec"].get("tolerations", ()) if each.get("key") not in _DEFAULT_KEYS]


def placement(pod: Document) -> Document:
    """Return all that podberth's policies may have written into a pod's spec."""
    containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]
    return {
        "tolerations": tolerations(pod),
        "affinity": pod["spec"].get("affinity", {}),
        "resources": {each["name"]: each.get("resources") for each in containers},
    }


def record(pod: Document) -> str:
    """Return podberth's record on a pod, without its seal, which is each pod's own; empty where there is none."""
    return _SEAL.sub("}", annotation(pod))


def annotation(pod: Document) -> str:
    """Return podberth's record on a pod as it is, with its seal; empty where there is none."""
    return str((pod["metadata"].get("annotations") or {}).get(APPLIED_ANNOTATION, ""))


def preferred_products(pod: Document) -> list[str]:
    """Return the GPU products that the pod's node affinity prefers."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = [each["preference"] for each in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())]
    expressions = [one for term in terms for one in term.get("matchExpressions", ())]
    return [value for one in expressions if one["key"] == "nvidia.com/gpu.product" for value in one["values"]]
