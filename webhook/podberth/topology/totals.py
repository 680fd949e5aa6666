"""Counts the accelerators of a cluster by model: whole devices, MIG instances and shares, each by itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..devices.resources import COUNTED_KINDS, recognise
from .capability import capability_of, product_of, share_of
from .holdings import Holdings, NodeUse, Tally, kind_on
from .node import Node

# https://github.com/NVIDIA/k8s-device-plugin docs/gpu-feature-discovery/README.md
_COUNT: Final = "nvidia.com/gpu.count"
_MOST_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTotal:
    """The units of one resource that all nodes with one model of accelerator offer."""

    unit: str
    """The meaning of one unit: ``whole``, ``MIG 1g.10gb``, ``time-sliced share``, ``MPS share`` or ``share``.

    If several resources of a model have the same meaning, it names the resource, too: ``MIG 1g.5gb as gpu``.
    """
    resource: str
    amount: int
    """The number of units when all nodes are healthy."""
    use: Tally | None
    """The use of the units; None: the snapshot has no Pods."""

    @property
    def out_of_use(self) -> int:
        """The number of units that no pod holds and that are not free: the node or the device is unhealthy."""
        return 0 if self.use is None else max(self.amount - self.use.used - self.use.free, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTotal:
    """All nodes with one model of accelerator, or with one mixture of models."""

    model: str
    """The model, or the models of a mixture, in the vendor's words; empty: unknown."""
    nodes: int
    devices: int
    """The number of devices; a divided device counts once. 0: unknown."""
    units: tuple[UnitTotal, ...]


def totals(nodes: Iterable[Node], holdings: Holdings | None = None) -> tuple[ModelTotal, ...]:
    """Return the accelerators of the nodes by model, the models with most devices first."""
    models: dict[str, list[_Offer]] = {}
    for node in nodes:
        offer = _offer(node, None if holdings is None else holdings.nodes[node.name])
        if offer.units or any(offer.devices):
            models.setdefault(" + ".join(sorted(offer.devices)), []).append(offer)
    found = (_total(model, offers) for model, offers in models.items())
    return tuple(sorted(found, key=lambda each: (-each.devices, each.model)))


class _Offer(NamedTuple):
    """The accelerators of one node."""

    devices: Counter[str]
    """The number of devices of each model; the number is 0 if it is unknown, and the model is empty."""
    units: tuple[tuple[str, str, int], ...]
    """(meaning of one unit, resource, units when the node is healthy) for each resource."""
    use: NodeUse | None


def _offer(node: Node, use: NodeUse | None) -> _Offer:
    units = list(_units(node))
    claimed = ((f"{each.resource}, by claim", each.resource, each.allocatable) for each in (use.claimed if use else ()))
    if node.topology is not None and node.topology.gpus:
        devices = Counter(gpu.product.replace(" ", "-") or "GPU" for gpu in node.topology.gpus)
    else:
        # GFD appends how GPUs are divided: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb, Tesla-T4-SHARED.
        model = product_of(node).partition("-MIG-")[0].removesuffix("-SHARED")
        labelled = node.labels.get(_COUNT, "")
        is_number = labelled.isascii() and labelled.isdigit() and len(labelled) <= _MOST_DIGITS
        whole = sum(amount for unit, _, amount in units if unit == "whole")
        devices = Counter({model: int(labelled) if is_number else whole})
    return _Offer(devices, (*units, *claimed), use)


def _units(node: Node) -> Iterator[tuple[str, str, int]]:
    """Yield (meaning of one unit, resource, units when healthy) for each resource of devices or parts of devices."""
    capability = capability_of(node)
    share = share_of(node.labels)
    for resource, amount in capability.amounts:
        known = recognise(resource)
        if known is None or known.kind not in COUNTED_KINDS:
            continue
        kind, profile = kind_on(capability, resource, known), known.profile or capability.instance
        instance = f"MIG {profile}" if profile else "MIG instance"
        names = {"whole": "whole", "mig": instance, "shared": f"{instance}, {share}" if profile else share}
        yield names[kind], resource, amount


def _total(model: str, offers: Sequence[_Offer]) -> ModelTotal:
    amounts: Counter[tuple[str, str]] = Counter()
    uses: dict[tuple[str, str], list[NodeUse]] = {}
    for offer in offers:
        for unit, resource, amount in offer.units:
            amounts[unit, resource] += amount
            uses.setdefault((unit, resource), []).extend([offer.use] if offer.use else ())
    # With the MIG strategy "single" a slice is a nvidia.com/gpu, and with "mixed" a nvidia.com/mig-1g.5gb.
    resources = Counter(unit for unit, _ in amounts)
    return ModelTotal(
        model=model,
        nodes=len(offers),
        devices=sum(offer.devices.total() for offer in offers),
        units=tuple(
            UnitTotal(
                unit=unit if resources[unit] == 1 else f"{unit} as {resource.rpartition('/')[2]}",
                resource=resource,
                amount=amounts[unit, resource],
                use=Tally.of(found, resource) if (found := uses[unit, resource]) else None,
            )
            for unit, resource in sorted(amounts, key=lambda key: (key[0] != "whole", key))
        ),
    )
