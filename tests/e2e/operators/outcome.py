"""What became of the gangs of one play, read from the pods and nodes of the API server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .gangs import GANGS, Document, Gang


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of gangs."""

    whole: int
    """All of its pods run."""
    half: int
    """Some of its pods with GPUs run, and some do not: what they hold is of use to nobody."""
    outside: int
    """Its pods with GPUs run in more than one domain, where one holds them all."""
    machines: int
    """How many are held; each by one pod."""
    seconds: float = 0.0
    """From the first creation until the last pod that runs did."""


def work_out(pods: Iterable[Document], nodes: Mapping[str, Mapping[str, str]], size: int) -> Outcome:
    """Count, given the labels of every node by its name, and how many pods a gang has."""
    members: dict[str, list[Document]] = {gang.name: [] for gang in GANGS}
    for pod in pods:
        members[gang_of(pod).name].append(pod)
    whole = half = outside = machines = 0
    for gang in GANGS:
        running = [pod for pod in members[gang.name] if runs(pod)]
        holding = [pod for pod in running if wants_gpus(pod)]
        wanting = [pod for pod in members[gang.name] if wants_gpus(pod)]
        whole += len(running) == size
        half += 0 < len(holding) < len(wanting)
        outside += len({nodes[pod["spec"]["nodeName"]][gang.pool.level] for pod in holding}) > 1
        machines += len(holding)
    return Outcome(whole, half, outside, machines)


def gang_of(pod: Document) -> Gang:
    """Return the gang whose name the pod's begins with."""
    name = pod["metadata"]["name"]
    return next(gang for gang in GANGS if name.startswith(f"{gang.name}-"))


def runs(pod: Document) -> bool:
    """Return whether it runs."""
    return bool(pod["status"].get("phase") == "Running")


def refused(pod: Document) -> bool:
    """Return whether the scheduler has said that it cannot be placed."""
    conditions: list[Any] = pod["status"].get("conditions", [])
    return any(each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable" for each in conditions)


def wants_gpus(pod: Document) -> bool:
    """Return whether it asks for GPUs."""
    return any("limits" in each.get("resources", {}) for each in pod["spec"]["containers"])
