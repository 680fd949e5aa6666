"""One try of the examples in one namespace of a real cluster: kubectl's own words, and where each pod came to be."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cli.terminal import Terminal
from podberth.wellknown import JOB_COMPLETION_INDEX
from podberth.workload.gpus import gpu_facts

from .examples import replicas

Document = dict[str, Any]

# Less than a second here; the bound is for a machine under load.
_SETTLE_SECONDS = 60.0
_NOT_YET = sys.maxsize
# What kubectl writes to stderr begins so; the rest says what was created.
_STYLES = {"Warning:": "yellow", "Error": "red", "The request": "red"}


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one pod."""

    node: str
    """Empty: it waits."""
    reason: str
    """Why it waits, in the scheduler's words; empty where it runs."""
    wants_gpus: bool


@dataclass(slots=True)
class Trial:
    """A namespace of its own, and what has been applied to it."""

    control_plane: ControlPlane
    namespace: str
    directory: Path
    """Where its kubectl is typed."""
    applied: list[Document] = field(default_factory=list)

    def apply(self, terminal: Terminal, file: Path, documents: Sequence[Document], comment: str) -> None:
        """Apply a file as a person does, show what kubectl prints, and wait for its pods to settle."""
        if self.typed(terminal, comment, "apply", "-n", self.namespace, "-f", str(file)):
            self.applied += documents
            wait_for(self._settled, timeout_seconds=_SETTLE_SECONDS, what=f"the pods of {file} to settle")

    def delete(self, terminal: Terminal, names: Sequence[str], comment: str) -> None:
        """Delete pods as a person does; they are gone when this returns."""
        if self.typed(terminal, comment, "delete", "pod", "-n", self.namespace, *names):
            self.applied = [document for document in self.applied if document["metadata"]["name"] not in names]

    def placements(self) -> dict[str, list[Placement]]:
        """Return what became of the pods, by name; pods that differ only by what is random in their names share one."""
        found: dict[str, list[Placement]] = {}
        for pod in sorted(self._pods(), key=self._order):
            node, wants_gpus = pod["spec"].get("nodeName", ""), bool(gpu_facts(pod).requests)
            found.setdefault(_name(pod), []).append(Placement(node, _waits(pod), wants_gpus))
        return found

    def remove(self) -> None:
        """Delete what was applied, and return once none of its pods holds a GPU any more."""
        kinds = "deployments,daemonsets,jobs,services,pods"
        self.control_plane.kubectl("delete", kinds, "--all", "-n", self.namespace, "--wait=false")
        wait_for(lambda: not self._pods(), timeout_seconds=_SETTLE_SECONDS, what=f"the pods of {self.namespace} to go")

    def typed(self, terminal: Terminal, comment: str, *args: str) -> bool:
        """Run kubectl as ``typed`` does, where the trial types it."""
        return typed(self.control_plane, self.directory, terminal, comment, *args)

    def _order(self, pod: Document) -> tuple[int, str]:
        """Sort pods by when their object was applied, then by name."""
        names = [document["metadata"]["name"] for document in self.applied if document["kind"] != "Service"]
        name = _name(pod)
        return max(at for at, each in enumerate(names) if name.startswith(each)), name

    def _pods(self) -> list[Document]:
        return list(self.control_plane.api.read(f"/api/v1/namespaces/{self.namespace}/pods")["items"])

    def _settled(self) -> bool:
        """Return whether every pod that is to be there is, and runs or is known not to fit."""
        expected = sum(map(self._wanted, self.applied))
        pods = self._pods()
        return len(pods) == expected and all(_phase(pod) == "Running" or _waits(pod) for pod in pods)

    def _wanted(self, document: Document) -> int:
        """Count the pods that are to be there of a document; a DaemonSet's controller says so itself."""
        if document["kind"] != "DaemonSet":
            return replicas(document)
        path = f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets/{document['metadata']['name']}"
        # Until its controller has looked at it, the status says 0; in the demonstrations every one has pods.
        return self.control_plane.api.read(path)["status"]["desiredNumberScheduled"] or _NOT_YET


def typed(control_plane: ControlPlane, directory: Path, terminal: Terminal, comment: str, *args: str) -> bool:
    """Run kubectl in a directory and show what it prints; return whether it succeeded."""
    terminal.line()
    terminal.line(f"# {comment}", "dim")
    terminal.paragraph(f"$ kubectl {' '.join(args)}", "bold", hanging=2)
    completed = subprocess.run(
        [control_plane.kubectl_path, *args],
        env=control_plane.environ(),
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    for line in completed.stdout.splitlines():
        style = next((style for word, style in _STYLES.items() if line.startswith(word)), "")
        terminal.paragraph(line, style, hanging=2)
    return completed.returncode == 0


def _phase(pod: Mapping[str, Any]) -> str:
    return str(pod["status"].get("phase", ""))


def _waits(pod: Mapping[str, Any]) -> str:
    """Return why the scheduler could not place a pod, as yet or for ever; empty where it could or has not tried."""
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition["message"])
    return ""


def _name(pod: Mapping[str, Any]) -> str:
    """Name a pod without what is random in its name."""
    metadata = pod["metadata"]
    owner = next(iter(metadata.get("ownerReferences", ())), None)
    if owner is None:
        return str(metadata["name"])
    index = metadata.get("labels", {}).get(JOB_COMPLETION_INDEX)
    if owner["kind"] == "ReplicaSet":
        return str(owner["name"].rpartition("-")[0])
    return str(owner["name"]) if index is None else f"{owner['name']}-{index}"
