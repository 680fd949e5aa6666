"""Which expressions an entry of ``mutations`` has, where they stand in it, and what each must be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cel.engine import Want
from ..kube.positions import Path
from .model import Gang, Mutation, NodeAffinity, Topology


@dataclass(frozen=True, slots=True)
class Leaf:
    """One CEL expression of a mutation: its name for the builder, its place below the entry, its source and type."""

    name: str
    path: Path
    source: str
    want: Want


_ONE_LEAF: Mapping[str, tuple[str, Want]] = {
    "tolerations": ("tolerations", Want.LIST_OF_MAPS),
    "resources": ("resources", Want.LIST_OF_MAPS),
    "schedulerName": ("scheduler_name", Want.STRING),
    "runtimeClassName": ("runtime_class_name", Want.STRING),
    "priorityClassName": ("priority_class_name", Want.STRING),
    "resourceClaims": ("resource_claims", Want.LIST_OF_MAPS),
    "applyConfiguration": ("apply_configuration", Want.MAP),
    "jsonPatch": ("json_patch", Want.LIST_OF_MAPS),
}
"""Concerns of one expression: the model's field, and what the expression must be."""
OPTIONAL: frozenset[tuple[str, str]] = frozenset({("gang", "system"), ("topology", "slice")})
"""Concern and name of leaves whose null is as good as none; another leaf's null means that there is nothing to do."""


def leaves_of(item: Mutation) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    """Return the expressions and the literals of a mutation entry."""
    if item.node_affinity is not None:
        return _node_affinity(item.node_affinity)
    if item.gang is not None:
        return _gang(item.gang)
    if item.topology is not None:
        return _topology(item.topology)
    concern = item.concern
    if concern in _ONE_LEAF:
        field, want = _ONE_LEAF[concern]
        return [Leaf("", (concern,), getattr(item, field), want)], {}
    values: Mapping[str, str] = item.labels or item.annotations or item.env or {}
    return [Leaf(key, (concern, key), source, Want.STRING) for key, source in values.items()], {}


def _node_affinity(affinity: NodeAffinity) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    if affinity.required is not None:
        return [Leaf("required", ("nodeAffinity", "required"), affinity.required, Want.LIST_OF_MAPS)], {}
    leaf = Leaf("preferred", ("nodeAffinity", "preferred"), affinity.preferred or "", Want.LIST_OF_MAPS)
    return [leaf], {"weight": affinity.weight}


def _gang(gang: Gang) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    leaves, literals = [Leaf("name", ("gang", "name"), gang.name, Want.STRING)], dict[str, Any]()
    if gang.size is None:
        literals["size"] = 0
    else:
        leaves.append(Leaf("size", ("gang", "size"), gang.size, Want.INT))
    if gang.system is None:
        literals["system"] = ""
    else:
        leaves.append(Leaf("system", ("gang", "system"), gang.system, Want.STRING))
    return leaves, literals


def _topology(topology: Topology) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    level = Leaf("level", ("topology", "level"), topology.level, Want.STRING)
    if topology.slice is None:
        return [level], {"mode": topology.mode, "slice": 0}
    return [level, Leaf("slice", ("topology", "slice"), topology.slice, Want.INT)], {"mode": topology.mode}
