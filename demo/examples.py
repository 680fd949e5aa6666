"""The manifests of ``examples/``: their documents, what the table in their README says about them, and their pods."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from podberth.kube.documents import load_documents
from podberth.workload.kinds import row_for
from podberth.workload.templates import templates

Document = dict[str, Any]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"

_ROW = re.compile(r"^\| \[(?P<file>[^\]]+)\]\([^)]+\) \| (?P<what>.+?) \| (?P<does>.+?) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Example:
    """One file."""

    path: Path
    what: str
    """What it is, in a phrase."""
    does: str
    """What podberth does with it, in a phrase."""
    documents: tuple[Document, ...]

    @property
    def replicas(self) -> int:
        """How many pods it asks for; those of DaemonSets are not counted."""
        return sum(replicas(document) for document in self.documents)

    @property
    def shown_path(self) -> Path:
        """The path as a person in the repository's root types it."""
        return self.path.relative_to(ROOT)


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The pods that one document leads to."""

    owner: Document
    """The document, as the API server would send it to a webhook."""
    pod: Document
    """Likewise."""
    replicas: int
    """How many there will be; 0: one for each node."""

    @property
    def title(self) -> str:
        """Name them for people."""
        kind, name = self.owner["kind"], self.owner["metadata"]["name"]
        if kind == "Pod":
            return f"Pod {name}"
        number = {0: "the pods", 1: "the pod"}.get(self.replicas, f"each of the {self.replicas} pods")
        return f"{number} of {kind} {name}"


def load() -> list[Example]:
    """Read every example of the README's table, in its order."""
    rows = _ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))
    return [_read(FOLDER / row["file"], row["what"], row["does"]) for row in rows]


def pods(example: Example, namespace: str) -> Iterator[PodTemplate]:
    """Yield the pods of each document that leads to some."""
    for document in example.documents:
        owner = {**document, "metadata": {**document["metadata"], "namespace": namespace, "uid": _uid(document)}}
        if document["kind"] == "DaemonSet":
            yield PodTemplate(owner, _daemon_pod(owner, namespace), replicas(document))
        elif document["kind"] == "Pod" or row_for(document):
            yield PodTemplate(owner, templates(owner, namespace=namespace)[0].pod, replicas(document))


def replicas(document: Document) -> int:
    """Count the pods that a document asks for at once; 0 for a DaemonSet, whose number the nodes decide."""
    spec = document.get("spec", {})
    counts = {"Pod": 1, "Deployment": spec.get("replicas", 1), "Job": spec.get("parallelism", 1)}
    return int(counts.get(document["kind"], 0))


def tolerating(document: Document) -> Document:
    """Return a workload with the toleration that most GPU nodes ask for, as its author might have written it."""
    if row_for(document) is None:
        return document
    changed = deepcopy(document)
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    changed["spec"]["template"]["spec"]["tolerations"] = [toleration]
    return changed


def _read(path: Path, what: str, does: str) -> Example:
    documents, problems = load_documents(path.read_text(encoding="utf-8"), str(path))
    if problems:
        raise ValueError("\n".join(map(str, problems)))
    return Example(path, what, does, tuple(each.document for each in documents))


def _uid(document: Document) -> str:
    """Give an object the uid that a cluster would; always the same one."""
    return str(uuid5(NAMESPACE_DNS, f"{document['metadata']['name']}.{document['kind']}.podberth.io"))


def _daemon_pod(owner: Document, namespace: str) -> Document:
    """Make a DaemonSet's pod but for the node that its controller names in it."""
    template = owner["spec"]["template"]
    reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "controller": True, "blockOwnerDeletion": True}
    metadata = {
        **template["metadata"],
        "generateName": f"{owner['metadata']['name']}-",
        "ownerReferences": [{**reference, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    return templates(pod, namespace=namespace)[0].pod
