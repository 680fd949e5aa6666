"""The last act of ``make demo-cluster``: the cluster changes, and podberth follows. The words are in ``change_report``.

A node gets another MIG layout, and then loses a GPU. Dry runs ask what podberth makes of a pod until the answer is
another one; the seconds that are shown are those from before the first write until that answer.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fleet.churn import Machine

from controlplane.api import Answer
from controlplane.wait import wait_for
from podberth.cli.terminal import Terminal
from podberth.kube.yaml_text import as_yaml
from podberth.wellknown import NAMESPACE as PODBERTH

from . import change_report
from .agents import Agents
from .change_report import Look
from .progress import Progress
from .trial import Trial

Document = dict[str, Any]

BOUND_SECONDS = 2.0
"""What an answer may lag behind the cluster: a second until the agent has published, one more until podberth knows."""
# How long the demonstration waits for an answer that lags further, to say by how much; one on a machine with other work
# to do does, and one that never comes fails it.
_PATIENCE_SECONDS = 60.0

_NODE, _CUT, _WHOLE = "gpu-a100-mig-1", "dgx-a100-8-mig-mixed", "dgx-a100-8"
_LOST_GPU = 5
_PICTURE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lag:
    """How long podberth's answers took to follow."""

    layout_seconds: float
    loss_seconds: float


@dataclass(frozen=True, slots=True)
class Act:
    """The act, on a cluster whose GPUs are free."""

    trial: Trial
    """In a namespace of its own."""
    agents: Agents
    progress: Progress
    terminal: Terminal

    def show(self) -> Lag:
        """Let both happen.

        Raises:
            TimeoutError: podberth did not follow within the bound.
        """
        change_report.show_opening(self.terminal)
        return Lag(self._repartition(), self._lose_a_gpu())

    def _repartition(self) -> float:
        change_report.show_layout_opening(self.terminal, _NODE)
        first, small, second = _pod("finetune-1", 4), _pod("notebook", 1), _pod("finetune-2", 4)
        self._apply(first, "a pod for four A100")
        looks = [self._look("before")]
        self.progress.say(f"{_NODE}: mig-manager begins to set another layout")
        self._follow(Machine(_NODE, _CUT, target=_WHOLE), small, _warns_of("MIG reconfiguring"))
        change_report.show_work(self.terminal, _NODE)
        self._apply(small, "a pod for one A100; the node had two to offer")
        looks.append(self._look("at work"))
        self.progress.say(f"{_NODE}: the layout is set")
        seconds = self._follow(Machine(_NODE, _WHOLE), first, _prefers_nodes)
        change_report.show_layout(self.terminal, [*looks, self._look("after")], seconds, BOUND_SECONDS)
        self._apply(second, "the pod for four once more")
        change_report.show_terms(self.terminal, self._stored(first), self._stored(second))
        return seconds

    def _lose_a_gpu(self) -> float:
        change_report.show_loss_opening(self.terminal, _NODE)
        self.trial.delete(self.terminal, ["finetune-1", "finetune-2", "notebook"], "these have done their work")
        training = _pod("train-1", 8)
        self._apply(training, "a pod for eight A100, as many as the node has")
        looks = [self._look("before")]
        self.progress.say(f"{_NODE}: GPU {_LOST_GPU} is lost")
        machine = Machine(_NODE, _WHOLE, lost=frozenset({_LOST_GPU}))
        seconds = self._follow(machine, training, _warns_of("unhealthy GPU"))
        change_report.show_loss(self.terminal, [*looks, self._look("after")], seconds, BOUND_SECONDS)
        self.trial.delete(self.terminal, ["train-1"], "it has failed with its GPU")
        self._apply(_pod("train-2", 8), "the pod for eight once more")
        self._apply(_pod("train-3", 7), "a pod for one fewer")
        snapshot = self.trial.control_plane.kubectl(*change_report.SNAPSHOT_COMMAND).stdout
        change_report.show_picture(self.terminal, _NODE, _draw(snapshot, _NODE))
        change_report.show_picture(self.terminal, "", _draw(snapshot))
        return seconds

    def _apply(self, pod: Document, what: str) -> None:
        """Apply a pod, as kubectl does it for a person, and say where it came to be."""
        name = pod["metadata"]["name"]
        file = Path(f"{name}.yaml")
        (self.trial.directory / file).write_text(as_yaml(pod), encoding="utf-8")
        self.trial.apply(self.terminal, file, [pod], what)
        for placement in self.trial.placements().get(name, ()):
            look = self._look("now", placement.node) if placement.node else None
            change_report.show_place(self.terminal, name, placement, look)

    def _follow(self, machine: Machine, pod: Document, follows: Callable[[Answer], bool]) -> float:
        """Change a machine; return the seconds until what podberth says about the pod follows."""
        path = f"/api/v1/namespaces/{self.trial.namespace}/pods?dryRun=All"
        asked = {**pod, "metadata": {**pod["metadata"], "name": "asked"}}
        began = time.monotonic()
        self.agents.become(machine)
        wait_for(
            lambda: follows(self.trial.control_plane.api.ask("POST", path, asked)),
            timeout_seconds=_PATIENCE_SECONDS,
            what=f"podberth to follow a change of {machine.name}",
        )
        return time.monotonic() - began

    def _look(self, title: str, node: str = _NODE) -> Look:
        read = self.trial.control_plane.api.read
        config_map = read(f"/api/v1/namespaces/{PODBERTH}/configmaps/{node}")
        return Look(title, read(f"/api/v1/nodes/{node}"), config_map)

    def _stored(self, pod: Document) -> Document:
        path = f"/api/v1/namespaces/{self.trial.namespace}/pods/{pod['metadata']['name']}"
        found: Document = self.trial.control_plane.api.read(path)
        return found


def _pod(name: str, gpus: int) -> Document:
    """Make a pod that wants so many GPUs of the Ampere generation: A100, in this cluster."""
    container = {
        "name": "main",
        "image": "nvcr.io/nvidia/pytorch:25.06-py3",
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],  # noqa: S108 - the pod's
    }
    volume = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
    spec = {
        "nodeSelector": {"nvidia.com/gpu.family": "ampere"},
        "containers": [container],
        "volumes": [volume],
        "restartPolicy": "Never",
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _warns_of(words: str) -> Callable[[Answer], bool]:
    return lambda answer: any(words in line for line in answer.warnings)


def _prefers_nodes(answer: Answer) -> bool:
    return "affinity" in answer.document.get("spec", {})


def _draw(snapshot: str, *node: str) -> str:
    """Return what ``podberth topology show`` prints of a snapshot."""
    command = [sys.executable, "-m", "podberth", "topology", "show", *node, "--topology", "-"]
    completed = subprocess.run(
        command,
        input=snapshot,
        # Its headings are looked for, and other encodings than UTF-8 have other dashes for them.
        env={**os.environ, "PYTHONUTF8": "1"},
        encoding="utf-8",
        stdout=subprocess.PIPE,
        check=True,
        timeout=_PICTURE_SECONDS,
    )
    return completed.stdout
