"""Label expressions for the nodes on which a pod should, or must, be placed.

There are two answers. ``terms`` select the wanted nodes and no other known node: for preferences, and for clusters that
never grow. ``required`` also has to admit future nodes: an autoscaler asks whether the node that it would add to an
empty group matches the pod (a template with few labels), and the scheduler asks again when the node exists. So it only
excludes, and only values that prove why the known nodes that carry them are unfit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from ..conventions import Conventions, LabelKey, Trait
from ..wellknown import HOSTNAME_LABEL
from .cover import MAX_TERMS, MAX_VALUES, Cover, Kind, Term, cover

MOST_KEYS = 4
"""Expressions of a term that excludes. A cluster has one or two kinds of labels that describe a GPU."""

_CANNOT_TELL = "no label distinguishes them from the others"
_TOO_LONG = f"labels distinguish them from the others only in more than {MAX_TERMS} terms or {MAX_VALUES} values"


@dataclass(frozen=True, slots=True)
class Unfit:
    """Nodes that the scheduler would choose for the pod and that do not fit."""

    labels: Mapping[str, str]
    why: frozenset[Trait] | None
    """The traits that a label has to prove; None where it is not certain that they do not fit: then no label can."""


@dataclass(eq=False)
class Placement:
    """Label expressions for some wanted nodes; each is computed when it is first needed."""

    wanted: Sequence[Kind]
    others: Sequence[Kind]
    unfit: Sequence[Unfit]
    """Those of the others that the pod's own request does not exclude."""
    conventions: Conventions
    telling: str
    """The label that would distinguish them; reported as missing where no label does and some node lacks it."""

    @cached_property
    def _cover(self) -> Cover:
        return cover(self.wanted, self.others, conventions=self.conventions)

    @cached_property
    def _demand(self) -> tuple[Term, ...] | None:
        """The terms that may be required; None where labels do not suffice."""
        if self.conventions.node_groups_grow:
            return exclude(self.wanted, self.unfit, self.conventions)
        return self._cover.terms if self._cover.exact else None

    @property
    def terms(self) -> tuple[Term, ...]:
        """Select the wanted nodes and no other known one; empty where none are needed or labels do not suffice."""
        return self._cover.terms if self._cover.exact else ()

    @property
    def preferred(self) -> tuple[Term, ...]:
        """The same, or else the nearest: among the others only those that no label distinguishes from a wanted one."""
        return self._cover.terms

    @property
    def separable(self) -> bool:
        """Whether ``terms`` are exact."""
        return self._cover.exact

    @property
    def obstacle(self) -> str:
        """Why ``terms`` are not exact; empty where they are."""
        return "" if self._cover.exact else _TOO_LONG if self._cover.too_long else _CANNOT_TELL

    @property
    def required(self) -> tuple[Term, ...]:
        """Keep the pod off all known nodes that do not fit, and off no future node that fits.

        Empty where there is none to exclude, or labels do not suffice. Where node groups do not grow: ``terms``.
        """
        return self._demand or ()

    @property
    def requirable(self) -> bool:
        """Whether ``required`` is exact."""
        return self._demand is not None

    @property
    def missing_label(self) -> str:
        """A label that would have helped, where ``terms`` or ``required`` are not exact; empty: there is none."""
        lacking = not self._cover.exact and any(self.telling not in one.labels for one in self.wanted)
        unsettled = self._demand is None and any(self.telling not in one.labels for one in self.unfit)
        return self.telling if lacking or unsettled else ""


def exclude(wanted: Sequence[Kind], unfit: Sequence[Unfit], conventions: Conventions) -> tuple[Term, ...] | None:
    """Exclude all of ``unfit`` in one term of NotIn expressions, or return None; empty where there is none to exclude.

    NotIn is true for a node without the label: for a template that lacks it, and for unknown kinds. A value is excluded
    only where its key proves why the node is unfit (``LabelKey.settles``), so it proves the same for every future node
    with it. The fewest keys win; among equally few the provisioned ones, because an autoscaler that cannot read a label
    adds nodes in vain; then the best ranked.

    Every set of up to MOST_KEYS keys is tried: the presets have nine that prove a trait, which makes 255.
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


def _settled(each: LabelKey, wanted: Sequence[Kind], unfit: Sequence[Unfit]) -> frozenset[int]:
    """Return the indexes of the unfit nodes with a value of the key that proves why, and that no wanted node has."""
    fitting = {one.labels.get(each.key) for one in wanted} | {None}
    return frozenset(
        place
        for place, one in enumerate(unfit)
        if one.why is not None and one.why <= each.settles and one.labels.get(each.key) not in fitting
    )


def _without(keys: Sequence[tuple[str, frozenset[int]]], unfit: Sequence[Unfit]) -> tuple[Term, ...] | None:
    """Return the term; a node that one key excludes needs no second key. None where it would be too long."""
    expressions: list[Term] = []
    done: frozenset[int] = frozenset()
    for key, hit in keys:
        values = sorted({unfit[place].labels[key] for place in hit - done})
        expressions.append({"key": key, "operator": "NotIn", "values": values})
        done |= hit
    if sum(len(one["values"]) for one in expressions) > MAX_VALUES:
        return None
    return ({"matchExpressions": expressions},)
