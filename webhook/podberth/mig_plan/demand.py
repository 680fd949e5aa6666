"""Reads a demand: the parts of GPUs, and the whole GPUs, that pods need at the same time."""

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import ceil, exp, sqrt
from typing import Any, Final

from ..devices import mig
from ..errors import UsageError
from ..kube.pod import annotations
from ..kube.quantity import mebibytes
from ..kube.shape import shape_problems, shown
from ..kube.unchecked import at, text_at
from ..workload.gpus import gpu_facts

_MINUTES_OF_AN_HOUR: Final = 60
_ENOUGH: Final = 0.9
"""The share of the time in which a demand by rate has no more pods than are planned for."""
_MOST: Final = 100_000
"""The most pods of one need."""
_FIELDS: Final = frozenset({"memory", "profile", "gpus", "count", "perHour", "minutes"})
_OF_A_MODEL: Final = frozenset({"podberth.io/gpu-product", "podberth.io/gpu-compute"})
"""The annotations that name a model or a compute capability (policies/product-affinity)."""
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_EXACT_MEAN: Final = 500.0
"""The mean from which on the normal distribution stands for Poisson's."""


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """What one pod needs: a part of one GPU, by memory or by profile, or whole GPUs. Exactly one field is set."""

    memory_mib: int = 0
    profile: str = ""
    gpus: int = 0

    def __str__(self) -> str:
        """Return the need as a user would say it: ``10240 MiB``, ``1g.10gb``, ``2 GPUs``."""
        if self.gpus:
            return "1 GPU" if self.gpus == 1 else f"{self.gpus} GPUs"
        return self.profile or f"{self.memory_mib} MiB"


Demand = Mapping[Need, int]
"""A mapping from each need to the number of pods that have it at the same time."""


def of_pods(pods: Iterable[Mapping[str, Any]], nodes: AbstractSet[str]) -> Counter[Need]:
    """Return the demand of Pods: of those that wait, and of those that run on ``nodes``.

    A pod with one GPU or MIG instance and a stated memory (``podberth.io/gpu-memory``) needs the memory. The GPU stays
    whole where ``mig-right-size`` leaves it whole: beside a model, a compute capability or a podAffinity. Each other
    MIG instance that a pod asks for is a need of its profile, and all other NVIDIA GPUs are needed whole. What an init
    container alone asks for is not counted, and no claim.

    Raises:
        UsageError: a Pod has a field with a wrong type; the message names it.
    """
    found: Counter[Need] = Counter()
    for pod in pods:
        found.update(needs_of(pod, nodes))
    return found


def needs_of(pod: Mapping[str, Any], nodes: AbstractSet[str]) -> Counter[Need]:
    """Return the needs of one Pod, as ``of_pods`` counts them; empty if it has ended or runs on another node."""
    found: Counter[Need] = Counter()
    if problems := shape_problems(pod):
        name = "/".join(text_at(pod, "metadata", field) for field in ("namespace", "name"))
        raise UsageError(f"Pod {name}: {problems[0]}")
    node = text_at(pod, "spec", "nodeName")
    if _has_ended(pod) or (node and node not in nodes):
        return found
    facts = gpu_facts(pod)
    by_memory = facts.kind == "mig" or (facts.kind == "whole" and not _stays_whole(pod))
    if facts.count == 1 and facts.vendor == "nvidia" and facts.memory_mib and by_memory:
        found[Need(memory_mib=facts.memory_mib)] += 1
        return found
    whole = 0
    for request in facts.requests:
        if request.init or request.vendor != "nvidia":
            continue
        if request.kind == "mig":
            found[Need(profile=request.profile)] += request.quantity
        elif request.kind == "whole":
            whole += request.quantity
    if whole:
        found[Need(gpus=whole)] += 1
    return found


def runs_on(pod: Mapping[str, Any]) -> str:
    """Return the name of the node that a Pod runs on; empty if it waits or has ended."""
    return "" if _has_ended(pod) else text_at(pod, "spec", "nodeName")


def _has_ended(pod: Mapping[str, Any]) -> bool:
    return at(pod, "status", "phase") in _ENDED


def _stays_whole(pod: Mapping[str, Any]) -> bool:
    return bool(annotations(pod).keys() & _OF_A_MODEL or at(pod, "spec", "affinity", "podAffinity"))


def of_document(document: Any, file: str) -> Counter[Need]:
    """Return the demand that a document states under ``needs``: a list, each item with a ``count`` or a rate.

    A rate is ``perHour`` pods that run for ``minutes`` each. By Little's law ``perHour * minutes / 60`` of them run at
    the same time on average; the demand is the number that is not exceeded in 90 % of the time if they arrive
    independently of each other (the quantile of a Poisson distribution).

    Raises:
        UsageError: the document has no such list; the message names the item.
    """
    needs = document.get("needs") if isinstance(document, Mapping) else None
    if not isinstance(needs, list) or not needs or len(document) > 1:
        raise UsageError(f"{file}: got no list of needs, want needs: [{{memory: 10Gi, count: 4}}] and nothing else")
    found: Counter[Need] = Counter()
    for index, item in enumerate(needs):
        where = f"{file}: needs[{index}]"
        if not isinstance(item, Mapping):
            raise UsageError(f"{where}: got {shown(item)}, want an object such as {{memory: 10Gi, count: 4}}")
        if unknown := sorted(map(str, item.keys() - _FIELDS)):
            raise UsageError(f"{where}: got the field {unknown[0]!r}, want {', '.join(sorted(_FIELDS))}")
        found[_need(item, where)] += _count(item, where)
    return found


def _need(item: Mapping[str, Any], where: str) -> Need:
    stated = [name for name in ("memory", "profile", "gpus") if name in item]
    if len(stated) != 1:
        raise UsageError(f"{where}: got {' and '.join(stated) or 'none'}, want one of memory, profile and gpus")
    if stated == ["gpus"]:
        return Need(gpus=_whole_number(item["gpus"], f"{where}.gpus"))
    if stated == ["profile"]:
        try:
            return Need(profile=mig.parse(str(item["profile"])).name)
        except ValueError as error:
            raise UsageError(f"{where}.profile: {error}") from error
    try:
        size = mebibytes(str(item["memory"]))
    except ValueError as error:
        raise UsageError(f"{where}.memory: {error}") from error
    if not size:
        raise UsageError(f"{where}.memory: got {item['memory']}, want at least 1Mi; give the unit, as in 10Gi")
    return Need(memory_mib=size)


def _count(item: Mapping[str, Any], where: str) -> int:
    by_rate = {"perHour", "minutes"} & item.keys()
    if ("count" in item) == bool(by_rate) or len(by_rate) == 1:
        raise UsageError(f"{where}: want count, or perHour and minutes")
    if not by_rate:
        return _whole_number(item["count"], f"{where}.count")
    rate, minutes = (_positive(item[name], f"{where}.{name}") for name in ("perHour", "minutes"))
    mean = rate * minutes / _MINUTES_OF_AN_HOUR
    if mean > _MOST:
        raise UsageError(f"{where}: got {mean:,.0f} pods at the same time, want {_MOST:,} at most")
    return _quantile(mean)


def _whole_number(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
        raise UsageError(f"{where}: got {shown(value)}, want a number from 1 to {_MOST:,}")
    return value


def _positive(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < _MOST * _MINUTES_OF_AN_HOUR:
        raise UsageError(f"{where}: got {shown(value)}, want a number above 0")
    return float(value)


def _quantile(mean: float) -> int:
    """Return the least number that a Poisson distribution of that mean exceeds in at most a tenth of the time."""
    if mean > _EXACT_MEAN:
        return ceil(mean + 1.2816 * sqrt(mean))
    count, term = 0, exp(-mean)
    total = term
    while total < _ENOUGH:
        count += 1
        term *= mean / count
        total += term
    return max(1, count)
