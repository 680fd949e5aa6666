"""Labels that tell wanted nodes from others: nodeSelectorTerms, as few and as meaningful as can be.

For now one label key at a time: the first by rank whose values among the wanted and among the others have nothing in
common. A hostname or another ignored label is never used. Nothing here knows what nodes are wanted for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..conventions import Conventions
from ..wellknown import HOSTNAME_LABEL


@dataclass(frozen=True, slots=True)
class Cover:
    """What labels can say."""

    terms: tuple[dict[str, Any], ...]
    """nodeSelectorTerms, ORed; empty where there is nothing to tell apart or no way to."""
    exact: bool
    """Whether the terms (or, where there are none, no term at all) select all wanted and no other node."""
    missing_label: str = ""
    """A label that would have told them apart, where none does."""


def cover(
    wanted: Sequence[Mapping[str, str]],
    others: Sequence[Mapping[str, str]],
    *,
    conventions: Conventions,
    telling: str = "",
) -> Cover:
    """Find terms that select every wanted label set and none of the others.

    Label sets that are neither (transient nodes) may match or not. ``telling`` is reported as missing if nothing
    separates and not every wanted node has it.
    """
    if not wanted or not others:
        return Cover((), exact=True)
    unusable = conventions.ignored_labels | {HOSTNAME_LABEL}
    ranked = [key for key in conventions.label_ranks if key not in unusable]
    for key in ranked:
        if expression := _cheapest((key,), wanted, others):
            return Cover(({"matchExpressions": [expression]},), exact=True)
    rest = {key for labels in (*wanted, *others) for key in labels}.difference(ranked, unusable)
    if expression := _cheapest(sorted(rest), wanted, others):
        return Cover(({"matchExpressions": [expression]},), exact=True)
    missing = telling if telling and not all(telling in labels for labels in wanted) else ""
    return Cover((), exact=False, missing_label=missing)


def _cheapest(
    keys: Iterable[str], wanted: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]
) -> dict[str, Any] | None:
    """Return the plainest expression over one of the keys that separates; of equally plain ones that of the first."""
    choices = (
        choice
        for key in keys
        for choice in _separations(key, {one.get(key) for one in wanted}, {one.get(key) for one in others})
    )
    best = min(choices, key=lambda choice: choice[0], default=None)
    return best[1] if best else None


# In with one value is the plainest thing to read and holds for nodes yet to come; Exists and DoesNotExist come before a
# list of values, and a list of what is not meant comes last, because it lets everything unknown in.
_PRESENCE_COST = 1.5
_NEGATION_COST = 1.0


def _separations(key: str, wanted: set[str | None], others: set[str | None]) -> Iterable[tuple[float, dict[str, Any]]]:
    """Yield the expressions over ``key`` that separate the two sets of values (None: absent), each with its cost."""
    if wanted & others:
        return
    values = sorted(value for value in wanted if value is not None)
    unwanted = sorted(value for value in others if value is not None)
    if None not in wanted:
        yield float(len(values)), {"key": key, "operator": "In", "values": values}
        if others == {None}:
            yield _PRESENCE_COST, {"key": key, "operator": "Exists"}
    elif not values:
        yield _PRESENCE_COST, {"key": key, "operator": "DoesNotExist"}
    if None not in others:
        yield len(unwanted) + _NEGATION_COST, {"key": key, "operator": "NotIn", "values": unwanted}
