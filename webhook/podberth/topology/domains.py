"""Finds the domains of a level with the nodes of each, grouped by what a node offers and the pods that fit on it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..conventions import Conventions
from ..wellknown import HOSTNAME_LABEL
from .capability import Capability
from .node_sets import NodeClass, OwnLabels, Part

Fitting: TypeAlias = frozenset[int]
"""The indexes of the kinds of pods that fit on a node."""
Machines: TypeAlias = Counter[tuple[Capability, Fitting]]
"""The nodes of a domain: the number of nodes for each pair of a capability and the set of kinds of pods that fit."""

_ANYWHERE: Final = ""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Nodes of one class on which pods of the same roles fit."""

    node_class: NodeClass
    fitting: Fitting
    members: Collection[OwnLabels]
    """The ignored labels of each node."""


def groups(found: Iterable[Sequence[Part]]) -> Iterator[Group]:
    """Yield sets of nodes: on all nodes of a set, pods of the same roles fit.

    ``found`` has the fitting nodes of each role.
    """
    classes: dict[int, tuple[NodeClass, dict[str, set[int]]]] = {}
    for kind, parts in enumerate(found):
        for part in parts:
            _, fitting = classes.setdefault(id(part.node_class), (part.node_class, {}))
            for name in [_ANYWHERE] if part.names is None else part.names:
                fitting.setdefault(name, set()).add(kind)
    for one, fitting in classes.values():
        everywhere = frozenset(fitting.pop(_ANYWHERE, ()))
        if not fitting:
            yield Group(one, everywhere, one.members.values())
            continue
        alike: dict[Fitting, list[OwnLabels]] = {}
        for name, own in one.members.items():
            kinds = everywhere | fitting[name] if name in fitting else everywhere
            if kinds:
                alike.setdefault(kinds, []).append(own)
        for kinds, members in alike.items():
            yield Group(one, kinds, members)


def domains(nodes: Sequence[Group], level: str, conventions: Conventions) -> Iterator[tuple[Machines, int]]:
    """Yield (nodes of the domain, number of equal domains) for the domains of a level that contain any of ``nodes``.

    Without a level, all nodes are one domain. At the hostname level each node is a domain, even if the node lacks the
    label. A cluster has thousands of such domains, so those whose nodes have one capability and fit the same pods are
    yielded once. At all other levels, the number is 1.
    """
    if level == HOSTNAME_LABEL:
        alone: Machines = Counter()
        for each in nodes:
            alone[each.node_class.capability, each.fitting] += len(each.members)
        yield from ((Counter({each: 1}), number) for each, number in alone.items())
        return
    found: dict[str, Machines] = {}
    for each in nodes:
        for value, number in _values(each, level, conventions).items():
            if value or not level:
                found.setdefault(value, Counter())[each.node_class.capability, each.fitting] += number
    yield from ((machines, 1) for machines in found.values())


def _values(nodes: Group, level: str, conventions: Conventions) -> Mapping[str, int]:
    """Return a mapping from each value of a level's label to the number of nodes with the value.

    The value "" stands for nodes without the label.
    """
    if level in conventions.ignored_labels:
        return Counter(dict(own).get(level, "") for own in nodes.members)
    return {nodes.node_class.labels.get(level, "") if level else "": len(nodes.members)}
