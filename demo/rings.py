"""Two gangs that want more machines than there are, at the same moment: the group that would deadlock.

Their pods stand in turn in one file, as the controllers of two users would create them. That all of a gang's pods start
or none is what a PodGroup is for: where a namespace chooses so, podberth's webhook makes the pods members of one, and
podberth's controller makes it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cli.terminal import Terminal
from podberth.kube.yaml_text import as_yaml
from podberth.wellknown import GANG_LABEL, GANG_LEVEL_ANNOTATION, GANG_SIZE_ANNOTATION, NAMESPACE

from .cluster_of_shapes import PRODUCT_LABEL
from .trial import Placement, Trial

Document = dict[str, Any]

_GANGS = ("ring-a", "ring-b")
_MEMBERS = 3
_PRODUCT, _GPUS = "NVIDIA-GB200", 4  # of a machine; rack c has four
# Less than a second here; the bound is for a machine under load.
_PATIENCE_SECONDS = 60.0
_GROUPS = "podgroups.scheduling.k8s.io"
_MADE = "app.kubernetes.io/managed-by=podberth"
_COLUMNS = (
    "GROUP:.metadata.name",
    "MINIMUM:.spec.schedulingPolicy.gang.minCount",
    "IN-ONE:.spec.schedulingConstraints.topology[0].key",
)


def groups_are_served(control_plane: ControlPlane) -> bool:
    """Return whether the API server serves PodGroups; no release before Kubernetes 1.36 does."""
    return _GROUPS in control_plane.kubectl("api-resources", "--api-group=scheduling.k8s.io", "-o", "name").stdout


def leave_out(terminal: Terminal) -> None:
    """Say why the two gangs are not applied with podberth."""
    terminal.paragraph(
        f"Left out: this API server serves no {_GROUPS}, which Kubernetes 1.36 and later have behind feature gates."
        " Without them nothing here starts a gang whole, and podberth says so to whoever asks for it."
    )


def apply(trial: Trial, terminal: Terminal) -> Mapping[str, Sequence[Placement]]:
    """Apply both gangs as a person does; return what became of their pods."""
    what = f"two gangs of {_MEMBERS} pods, each of which wants a machine of four GB200; there are four"
    file, pods = Path("rings.yaml"), [_pod(gang, rank) for rank in range(_MEMBERS) for gang in _GANGS]
    (trial.directory / file).write_text("---\n".join(map(as_yaml, pods)), encoding="utf-8")
    trial.apply(terminal, file, pods, what)
    return trial.placements()


def choose(trial: Trial, terminal: Terminal) -> None:
    """Do what the platform team does for gangs that start whole, and return when podberth's answers follow."""
    what = "the platform team: in this namespace Kubernetes' own PodGroups place gangs ..."
    trial.typed(terminal, what, "label", "namespace", trial.namespace, "podberth.io/gang-system=native")
    what = "... and whatever gang fits into one domain has to stay in one"
    name = "podberth-gang-topology"
    args = ("create", "configmap", name, f"--namespace={NAMESPACE}", "--from-literal=mode=required")
    trial.typed(terminal, what, *args)
    path = f"/api/v1/namespaces/{trial.namespace}/pods?dryRun=All"

    def followed() -> bool:
        asked = trial.control_plane.api.ask("POST", path, _pod(_GANGS[0], 0)).document
        joins = "schedulingGroup" in asked.get("spec", {})
        return joins and GANG_LEVEL_ANNOTATION in asked.get("metadata", {}).get("annotations", {})

    wait_for(followed, timeout_seconds=_PATIENCE_SECONDS, what="podberth to follow the choice")


def apply_grouped(trial: Trial, terminal: Terminal) -> Mapping[str, Sequence[Placement]]:
    """Apply both as ``apply`` does, where podberth makes groups of them; return what became of their pods."""
    apply(trial, terminal)
    namespace = trial.namespace

    def decided() -> bool:
        """Return whether both have their group and one runs: with one machine left, what is so then stays so."""
        groups = trial.control_plane.kubectl("get", _GROUPS, "-n", namespace, "-l", _MADE, "-o", "name").stdout
        return len(groups.split()) == len(_GANGS) and any(_whole(trial.placements(), gang) for gang in _GANGS)

    wait_for(decided, timeout_seconds=_PATIENCE_SECONDS, what=lambda: f"one gang to start: {trial.placements()}")
    columns = f"-o=custom-columns={','.join(_COLUMNS)}"
    trial.typed(terminal, "what podberth's controller has made", "get", _GROUPS, "-n", namespace, "-l", _MADE, columns)
    return trial.placements()


def show(terminal: Terminal, trials: Mapping[str, Mapping[str, Sequence[Placement]]]) -> None:
    """Write what became of each gang, try by try."""
    terminal.heading("which of two gangs for the same machines starts")
    rows = [("gang", *(name.replace("-", " ") for name in trials))]
    rows += [(gang, *(_state(placements, gang) for placements in trials.values())) for gang in _GANGS]
    terminal.table(rows, indent="  ")
    terminal.line()
    terminal.paragraph(
        "What keeps a gang from starting by half is its PodGroup, which Kubernetes' own scheduler obeys. `podberth"
        " serve` made the pods members of it, which they can only become when they are created, and `podberth"
        " controller` made it, of the size and the level that the pods say.",
        "dim",
    )


def _members(placements: Mapping[str, Sequence[Placement]], gang: str) -> list[Placement]:
    return [placement for name, each in placements.items() if name.startswith(gang) for placement in each]


def _whole(placements: Mapping[str, Sequence[Placement]], gang: str) -> bool:
    return all(placement.node for placement in _members(placements, gang))


def _state(placements: Mapping[str, Sequence[Placement]], gang: str) -> str:
    members = _members(placements, gang)
    running = sum(bool(placement.node) for placement in members)
    if running == len(members):
        return f"starts: all {running} run"
    if running == 0:
        return f"waits: none of {len(members)} holds a machine"
    return f"does not start: {running} of {len(members)} hold a machine"


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
