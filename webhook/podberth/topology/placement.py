"""What labels can say of nodes that a pod should, or must, be placed on.

Two answers. ``terms`` select the wanted nodes and no other known node: that is for preferences, and for clusters that
never grow. ``required`` also has to let in what nobody knows yet: an autoscaler asks whether the node that a group at
zero would bring matches the pod (a template with few labels), and the scheduler asks again when it has come. So it
only excludes, and only values that settle why the known nodes that carry them are unfit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from ..conventions import Conventions, LabelKey, Trait
from ..wellknown import HOSTNAME_LABEL
from .cover import MAX_TERMS, MAX_VALUES, Cover, Kind, Term, cover

MOST_KEYS = 4
"""Expressions of a term that excludes. A cluster has one or two kinds of labels that say what a GPU is."""

_CANNOT_TELL = "no label tells them from the others"
_TOO_LONG = f"labels tell them from the others only in more than {MAX_TERMS} terms or {MAX_VALUES} values"


@dataclass(frozen=True, slots=True)
class Unfit:
    """Nodes that the scheduler would take for the pod and that do not fit."""

    labels: Mapping[str, str]
    why: frozenset[Trait] | None
    """What a label has to settle; None where nobody knows for certain that they do not fit: then none can."""


class Placement:
    """Label expressions for some wanted nodes; each is worked out when it is first asked for."""

    def __init__(
        self,
        wanted: Sequence[Kind],
        others: Sequence[Kind],
        unfit: Sequence[Unfit],
        *,
        conventions: Conventions,
        telling: str,
    ) -> None:
        """Hold the question.

        ``unfit`` are those of the others that the pod's own request does not keep it off. ``telling`` names the label
        that would tell; it is reported as missing where nothing does and some node lacks it.
        """
        self._wanted = wanted
        self._others = others
        self._unfit = unfit
        self._conventions = conventions
        self._telling = telling

    @cached_property
    def _cover(self) -> Cover:
        return cover(self._wanted, self._others, conventions=self._conventions)

    @cached_property
    def _demand(self) -> tuple[Term, ...] | None:
        """What may be required; None where labels cannot say it."""
        if self._conventions.node_groups_grow:
            return exclude(self._wanted, self._unfit, self._conventions)
        return self._cover.terms if self._cover.exact else None

    @property
    def terms(self) -> tuple[Term, ...]:
        """Select the wanted nodes and no other known one; empty where there is nothing to say or labels cannot."""
        return self._cover.terms if self._cover.exact else ()

    @property
    def preferred(self) -> tuple[Term, ...]:
        """The same, or else what comes nearest: of the others only those that no label tells from a wanted one."""
        return self._cover.terms

    @property
    def separable(self) -> bool:
        """Whether ``terms`` can be relied on."""
        return self._cover.exact

    @property
    def obstacle(self) -> str:
        """Why ``terms`` cannot be relied on; empty where they can."""
        return "" if self._cover.exact else _TOO_LONG if self._cover.too_long else _CANNOT_TELL

    @property
    def required(self) -> tuple[Term, ...]:
        """Keep the pod off all known nodes that would take it wrongly, and off no node to come that fits.

        Empty where there is nothing to keep it off, or labels cannot. Where node groups do not grow: ``terms``.
        """
        return self._demand or ()

    @property
    def requirable(self) -> bool:
        """Whether ``required`` can be relied on."""
        return self._demand is not None

    @property
    def missing_label(self) -> str:
        """A label that would have helped, where ``terms`` or ``required`` cannot be relied on; empty: there is none."""
        untold = not self._cover.exact and any(self._telling not in one.labels for one in self._wanted)
        unsettled = self._demand is None and any(self._telling not in one.labels for one in self._unfit)
        return self._telling if untold or unsettled else ""


def exclude(wanted: Sequence[Kind], unfit: Sequence[Unfit], conventions: Conventions) -> tuple[Term, ...] | None:
    """Exclude all of ``unfit`` in one term of NotIn expressions, or return None; empty where there is none to exclude.

    NotIn is true of a node without the label: of a template that lacks it, and of kinds that nobody has seen. A value
    is excluded only where its key settles what makes the node unfit (``LabelKey.settles``), so it says the same of
    every node that will ever carry it. The fewest keys win, of equally few the provisioned ones, because an autoscaler
    that cannot read a label brings nodes in vain; then the best ranked.

    Every set of up to MOST_KEYS keys is tried: the presets have nine that settle anything, which makes 255.
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
    """Return which of the unfit carry a value of the key that settles why, and that no wanted node has."""
    fitting = {one.labels.get(each.key) for one in wanted} | {None}
    return frozenset(
        place
        for place, one in enumerate(unfit)
        if one.why is not None and one.why <= each.settles and one.labels.get(each.key) not in fitting
    )


def _without(keys: Sequence[tuple[str, frozenset[int]]], unfit: Sequence[Unfit]) -> tuple[Term, ...] | None:
    """Spell the term; what one key excludes the next need not. None where it would be too long."""
    expressions: list[Term] = []
    done: frozenset[int] = frozenset()
    for key, hit in keys:
        values = sorted({unfit[place].labels[key] for place in hit - done})
        expressions.append({"key": key, "operator": "NotIn", "values": values})
        done |= hit
    if sum(len(one["values"]) for one in expressions) > MAX_VALUES:
        return None
    return ({"matchExpressions": expressions},)
