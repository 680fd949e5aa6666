"""The label sets that a selector selects, without comparing it with each of them."""

from collections.abc import Mapping, Sequence
from typing import Any


class LabelSets:
    """Some objects' labels, by their index in a list.

    A requirement of a selector costs as much as it has values, however many objects there are: a user may write a
    thousand requirements beside a hundred objects.
    """

    def __init__(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Index the labels."""
        self._all = frozenset(range(len(labels)))
        holders: dict[str, dict[str, set[int]]] = {}
        for place, each in enumerate(labels):
            for key, value in each.items():
                holders.setdefault(key, {}).setdefault(value, set()).add(place)
        self._holders: Mapping[str, Mapping[str, set[int]]] = holders
        self._having = {key: frozenset[int]().union(*values.values()) for key, values in holders.items()}

    def selected(self, selector: Mapping[str, Any] | None) -> frozenset[int]:
        """Return the indexes of those that a metav1.LabelSelector selects, as in ``label_selector_matches``."""
        if selector is None:
            return frozenset()
        found = self._all
        for key, value in (selector.get("matchLabels") or {}).items():
            found &= self._with(key, (value,))
        for each in selector.get("matchExpressions") or ():
            found &= self._meeting(each)
        return found

    def _with(self, key: str, values: Sequence[str]) -> frozenset[int]:
        holders = self._holders.get(key, {})
        return frozenset[int]().union(*(holders.get(value, ()) for value in values))

    def _meeting(self, requirement: Mapping[str, Any]) -> frozenset[int]:
        operator, key = requirement.get("operator"), requirement.get("key") or ""
        values: Sequence[str] = requirement.get("values") or ()
        if operator == "In":
            return self._with(key, values)
        if operator == "NotIn" and values:
            return self._all - self._with(key, values)
        if operator == "Exists" and not values:
            return self._having.get(key, frozenset())
        if operator == "DoesNotExist" and not values:
            return self._all - self._having.get(key, frozenset())
        return frozenset()
