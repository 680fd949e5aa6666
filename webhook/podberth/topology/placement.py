"""Computes label expressions that prefer, or require, the nodes that fit a pod.

There are three results. ``terms`` select the wanted nodes and no other known node. ``preferred`` also selects other
nodes that no label distinguishes from wanted nodes. ``required`` must not exclude future nodes, unless the cluster
never grows. An autoscaler checks whether a new node of an empty node group would match the pod, and knows only a few
labels of the new node; the scheduler checks again when the node exists. So ``required`` only excludes label values, and
only values that prove that a known node with the value does not fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from ..conventions import Conventions, LabelKey, Trait
from ..wellknown import HOSTNAME_LABEL
from .cover import MAX_TERMS, MAX_VALUES, Cover, LabelledNodes, Term, cover

MOST_KEYS = 4
"""The most expressions of a term that excludes nodes. A cluster has one or two kinds of labels that describe a GPU."""

_NOT_DISTINGUISHED = "no label distinguishes them from the others"
_TOO_LONG = f"labels distinguish them from the others only in more than {MAX_TERMS} terms or {MAX_VALUES} values"


@dataclass(frozen=True, slots=True)
class Unfit:
    """Nodes with the labels ``labels`` that have the requested resources, but do not fit the pod for another reason."""

    labels: Mapping[str, str]
    why: frozenset[Trait] | None
    """The traits because of which the nodes do not fit; a label has to prove one of the traits. None: the reason is not
    certain.
    """


@dataclass(eq=False)
class Placement:
    """The nodeSelectorTerms that prefer, or require, the wanted nodes; each is computed when it is first read."""

    wanted: Sequence[LabelledNodes]
    others: Sequence[LabelledNodes]
    unfit: Sequence[Unfit]
    """The other nodes that have the resources that the pod requests, and still do not fit the pod."""
    conventions: Conventions
    distinguishing: str
    """The label that would distinguish the wanted nodes; reported as missing if some node lacks the label."""

    @cached_property
    def _cover(self) -> Cover:
        return cover(self.wanted, self.others, conventions=self.conventions)

    @cached_property
    def _demand(self) -> tuple[Term, ...] | None:
        """The terms for ``required``; None if labels cannot exclude all nodes that do not fit."""
        if self.conventions.node_groups_grow:
            return exclude(self.wanted, self.unfit, self.conventions)
        return self._cover.terms if self._cover.exact else None

    @property
    def terms(self) -> tuple[Term, ...]:
        """The nodeSelectorTerms that select the wanted nodes and no other known node.

        Empty if there is no other known node, or if labels cannot distinguish all other nodes.
        """
        return self._cover.terms if self._cover.exact else ()

    @property
    def preferred(self) -> tuple[Term, ...]:
        """The nodeSelectorTerms for a preference.

        The value is ``terms`` if the terms are exact, else terms that select some unwanted nodes, too. Each such
        unwanted node has the labels of a wanted node.
        """
        return self._cover.terms

    @property
    def separable(self) -> bool:
        """Whether ``terms`` select exactly the wanted nodes."""
        return self._cover.exact

    @property
    def obstacle(self) -> str:
        """The reason why ``terms`` are not exact; empty if ``terms`` are exact."""
        return "" if self._cover.exact else _TOO_LONG if self._cover.too_long else _NOT_DISTINGUISHED

    @property
    def required(self) -> tuple[Term, ...]:
        """The nodeSelectorTerms that exclude every known node that does not fit, and no future node that fits.

        Empty if there is no node to exclude, or if labels cannot exclude all such nodes. In a cluster that does not
        grow, the value is ``terms``.
        """
        return self._demand or ()

    @property
    def requirable(self) -> bool:
        """Whether ``required`` excludes all known nodes that do not fit the pod."""
        return self._demand is not None

    @property
    def missing_label(self) -> str:
        """The label that some nodes lack.

        With this label, ``terms`` or ``required`` would be exact. Empty if there is none.
        """
        lacking = not self._cover.exact and any(self.distinguishing not in one.labels for one in self.wanted)
        unsettled = self._demand is None and any(self.distinguishing not in one.labels for one in self.unfit)
        return self.distinguishing if lacking or unsettled else ""


def exclude(
    wanted: Sequence[LabelledNodes], unfit: Sequence[Unfit], conventions: Conventions
) -> tuple[Term, ...] | None:
    """Return one term of NotIn expressions that excludes all of ``unfit``; None if labels cannot exclude all.

    The result is empty if ``unfit`` is empty. NotIn is true for a node without the label, such as a node group's
    template. A value is excluded only if the label itself proves that the node does not fit, so that a future node with
    the value does not fit either. The result uses as few label keys as possible. Among equally few keys, keys are
    preferred that autoscalers know about a new node, because otherwise an autoscaler adds nodes in vain. Then keys are
    preferred that are earlier in ``Conventions.label_keys``.
    """
    if not unfit:
        return ()
    ranked = sorted((each for each in conventions.label_keys if each.settles), key=lambda each: not each.provisioned)
    usable = [
        (each.key, hit) for each in ranked if each.key != HOSTNAME_LABEL and (hit := _settled(each, wanted, unfit))
    ]
    everything = frozenset(range(len(unfit)))
    for size in range(1, min(len(usable), MOST_KEYS) + 1):
        for some in combinations(usable, size):
            if frozenset().union(*(hit for _, hit in some)) == everything:
                return _without(some, unfit)
    return None


def _settled(each: LabelKey, wanted: Sequence[LabelledNodes], unfit: Sequence[Unfit]) -> frozenset[int]:
    """Return the indexes in ``unfit`` of the nodes that the label ``each`` can exclude.

    The label's value on such a node proves that the node does not fit, and no wanted node has the value.
    """
    fitting = {one.labels.get(each.key) for one in wanted} | {None}
    return frozenset(
        place
        for place, one in enumerate(unfit)
        if one.why is not None and one.why <= each.settles and one.labels.get(each.key) not in fitting
    )


def _without(keys: Sequence[tuple[str, frozenset[int]]], unfit: Sequence[Unfit]) -> tuple[Term, ...] | None:
    """Return a node affinity term, alone in a tuple, that excludes all unfit nodes; None if it would be too long.

    ``keys`` are pairs of a label key and the indexes in ``unfit`` of the nodes that the label excludes.
    """
    expressions: list[Term] = []
    done: frozenset[int] = frozenset()
    for key, hit in keys:
        values = sorted({unfit[place].labels[key] for place in hit - done})
        expressions.append({"key": key, "operator": "NotIn", "values": values})
        done |= hit
    if sum(len(one["values"]) for one in expressions) > MAX_VALUES:
        return None
    return ({"matchExpressions": expressions},)
