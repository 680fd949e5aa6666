"""Two gangs that want more machines than there are, at the same moment: the group that would deadlock.

Their pods stand in turn in one file, as the controllers of two users would create them. Of the rest, that all of a
gang's pods start or none, a PodGroup takes care; podberth makes the pods members of it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.wait import wait_for
from podberth.cli.terminal import Terminal
from podberth.kube.yaml_text import as_yaml
from podberth.wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION

from .cluster_of_shapes import PRODUCT_LABEL, RACK_LABEL
from .trial import Placement, Trial

Document = dict[str, Any]

_GANGS = ("ring-a", "ring-b")
_MEMBERS = 3
_PRODUCT, _GPUS = "NVIDIA-GB200", 4  # of a machine; rack c has four
# Milliseconds here; the bound is for a machine under load.
_PATIENCE_SECONDS = 30.0


def apply(trial: Trial, terminal: Terminal) -> Mapping[str, Sequence[Placement]]:
    """Apply both gangs as a person does; return what became of their pods."""
    what = f"two gangs of {_MEMBERS} pods, each of which wants a machine of four GB200; there are four"
    pods = [_pod(gang, rank) for rank in range(_MEMBERS) for gang in _GANGS]
    _apply(trial, terminal, "rings.yaml", pods, what)
    return trial.placements()


def group(trial: Trial, terminal: Terminal) -> None:
    """Make a PodGroup for each gang, and return when podberth knows of them."""
    what = f"a PodGroup for each, called as the gang: its {_MEMBERS} pods start together in one rack, or not at all"
    _apply(trial, terminal, "groups.yaml", [_pod_group(gang) for gang in _GANGS], what)
    path = f"/api/v1/namespaces/{trial.namespace}/pods?dryRun=All"

    def joined() -> bool:
        asked = [trial.control_plane.api.ask("POST", path, _pod(gang, 0)).document for gang in _GANGS]
        return all("schedulingGroup" in each.get("spec", {}) for each in asked)

    wait_for(joined, timeout_seconds=_PATIENCE_SECONDS, what="podberth to know of the PodGroups")


def show(terminal: Terminal, trials: Mapping[str, Mapping[str, Sequence[Placement]]]) -> None:
    """Write what became of each gang, try by try."""
    terminal.heading("which of two gangs for the same machines starts")
    rows = [("gang", *(name.replace("-", " ") for name in trials))]
    rows += [(gang, *(_state(placements, gang) for placements in trials.values())) for gang in _GANGS]
    terminal.table(rows, indent="  ")
    terminal.line()
    terminal.paragraph(
        "What keeps a gang from starting by half is its PodGroup, which Kubernetes' own scheduler obeys. podberth made"
        " the pods members of it, which they can only become when they are created.",
        "dim",
    )


def _state(placements: Mapping[str, Sequence[Placement]], gang: str) -> str:
    members = [placement for name, each in placements.items() if name.startswith(gang) for placement in each]
    running = sum(bool(placement.node) for placement in members)
    if running == len(members):
        return f"starts: all {running} run"
    if running == 0:
        return f"waits: none of {len(members)} holds a machine"
    return f"does not start: {running} of {len(members)} hold a machine"


def _apply(trial: Trial, terminal: Terminal, name: str, documents: Sequence[Document], what: str) -> None:
    (trial.directory / name).write_text("---\n".join(map(as_yaml, documents)), encoding="utf-8")
    trial.apply(terminal, Path(name), documents, what)


def _pod(gang: str, rank: int) -> Document:
    container = {
        "name": "main",
        "image": "nvcr.io/nvidia/pytorch:25.06-py3",
        "resources": {"limits": {"nvidia.com/gpu": _GPUS}},
        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],  # noqa: S108 - the pod's
    }
    spec = {
        "nodeSelector": {PRODUCT_LABEL: _PRODUCT},
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
        ],
        "containers": [container],
        "volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}],
        "restartPolicy": "Never",
    }
    metadata = {
        "name": f"{gang}-{rank}",
        "labels": {GANG_LABEL: gang},
        "annotations": {GANG_SIZE_ANNOTATION: str(_MEMBERS)},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _pod_group(gang: str) -> Document:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": _MEMBERS}},
        "schedulingConstraints": {"topology": [{"key": RACK_LABEL}]},
    }
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": gang}, "spec": spec}
