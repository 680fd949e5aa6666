"""Node affinity, or a label in a nodeSelector, that no known node satisfies. It needs `--topology` or `--simulate`.

The rule compares terms that are written as literals with the nodes' labels. A preference for absent nodes changes
nothing, and a requirement keeps every pod waiting, unless an autoscaler adds such a node. If an expression computes the
values, the rule compares only the keys.

Bad, on a cluster of H100 and GB200 nodes:

    mutations:
    - nodeAffinity:
        preferred: "[{'matchExpressions': [{'key': 'nvidia.com/gpu.product', 'operator': 'In', 'values': ['H100']}]}]"
        weight: 50

Good:

    mutations:
    - nodeAffinity:
        preferred: >-
          [{'matchExpressions': [
            {'key': 'nvidia.com/gpu.product', 'operator': 'In', 'values': ['NVIDIA-H100-80GB-HBM3']}]}]
        weight: 50
"""

from collections.abc import Iterator, Sequence

from ...cel.tree import Entries, Literal, plain
from ...errors import Problem
from ...kube.selector import node_selector_matches
from ...topology.node import Node
from ...words import meant_value
from ..findings import Library

_WANT_THE_LABEL = frozenset({"In", "Exists", "Gt", "Lt"})


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each requirement of a node affinity term that no known node satisfies."""
    nodes = library.nodes
    if not nodes:
        return
    for mutation, place, part in library.parts("nodeAffinity"):
        message = _of_term(part, nodes) if isinstance(part, Entries) else ""
        if message:
            yield mutation.policy.within(place, part, message)
    for mutation, leaf in library.leaves("nodeSelector"):
        tree = mutation.resolved(leaf)
        value = tree.value if isinstance(tree, Literal) else None
        wanted = {"key": leaf.name, "operator": "In", "values": [value]} if isinstance(value, str) else None
        if message := _unmet(leaf.name, wanted, nodes):
            yield mutation.policy.problem((*mutation.path, *leaf.path), message)


def _of_term(part: Entries, nodes: Sequence[Node]) -> str:
    key, operator = part.get("key"), part.get("operator")
    if not isinstance(key, Literal) or not isinstance(operator, Literal) or operator.value not in _WANT_THE_LABEL:
        return ""
    try:
        requirement = plain(part)
    except ValueError:
        requirement = None
    return _unmet(str(key.value), requirement, nodes)


def _unmet(name: str, requirement: object, nodes: Sequence[Node]) -> str:
    """Return why none of ``nodes`` meets a requirement on the label ``name``; empty if a node meets it.

    ``requirement`` is None if the requirement's values are computed: then any node with the label meets it.
    """
    found = sorted({node.labels[name] for node in nodes if name in node.labels})
    if not found:
        return f"no known node has the label {name}"
    if requirement is None:
        return ""
    term = {"matchExpressions": [requirement]}
    if any(node_selector_matches([term], node.labels, {}) for node in nodes):
        return ""
    values = requirement.get("values") if isinstance(requirement, dict) else None
    wanted = next((str(value) for value in values), "") if isinstance(values, list) else ""
    return f"no known node has such a {name}{meant_value(wanted, found)}"
