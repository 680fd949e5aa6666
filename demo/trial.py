"""One try of the examples in one namespace of a real cluster: kubectl's own words, and where each pod came to be."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import JOB_COMPLETION_INDEX

from .examples import replicas
from .terminal import Terminal

Document = dict[str, Any]

# Less than a second here; the bound is for a machine under load.
_SETTLE_SECONDS = 60.0
_STYLES = {"Warning:": ("yellow",), "Error": ("red",), "The": ("red",)}


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one pod."""

    node: str
    """Empty: it waits."""
    reason: str
    """Why it waits, in the scheduler's words; empty where it runs."""


@dataclass(slots=True)
class Trial:
    """A namespace, and what has been applied to it."""

    control_plane: ControlPlane
    namespace: str
    applied: list[Document] = field(default_factory=list)

    def apply(self, terminal: Terminal, file: Path, documents: Sequence[Document], *, shown_as: str) -> None:
        """Apply a file as a person does, show what kubectl prints, and wait for its pods to settle."""
        terminal.line(f"$ kubectl apply -n {self.namespace} -f {shown_as}", "bold")
        completed = subprocess.run(
            [self.control_plane.kubectl_path, "apply", "-n", self.namespace, "-f", file],
            env=self.control_plane.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for line in completed.stdout.splitlines():
            style = next((styles for word, styles in _STYLES.items() if line.startswith(word)), ())
            terminal.paragraph(line, *style, rest="  ")
        if completed.returncode == 0:
            self.applied += documents
            wait_for(self._settled, timeout_seconds=_SETTLE_SECONDS, what=f"the pods of {shown_as} to settle")

    def placements(self) -> dict[str, list[Placement]]:
        """Return what became of the pods, by name; pods that differ only by what is random in their names share one."""
        found: dict[str, list[Placement]] = {}
        for pod in sorted(self._pods(), key=lambda pod: (pod["metadata"]["creationTimestamp"], _name(pod))):
            found.setdefault(_name(pod), []).append(Placement(pod["spec"].get("nodeName", ""), _waits(pod)))
        return found

    def remove(self) -> None:
        """Delete the namespace, and return once none of its pods holds a GPU any more."""
        self.control_plane.kubectl("delete", "namespace", self.namespace, "--wait=false")
        wait_for(lambda: not self._pods(), timeout_seconds=_SETTLE_SECONDS, what=f"the pods of {self.namespace} to go")

    def _pods(self) -> list[Document]:
        return list(self.control_plane.api.read(f"/api/v1/namespaces/{self.namespace}/pods")["items"])

    def _settled(self) -> bool:
        """Tell whether every pod that is to be there is, and runs or is known not to fit."""
        pods = self._pods()
        expected = sum(replicas(document) for document in self.applied)
        for document in self.applied:
            if document["kind"] == "DaemonSet":
                path = f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets/{document['metadata']['name']}"
                status = self.control_plane.api.read(path)["status"]
                if not status.get("observedGeneration"):
                    return False
                expected += status["desiredNumberScheduled"]
        return len(pods) == expected and all(_phase(pod) == "Running" or _waits(pod) for pod in pods)


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
