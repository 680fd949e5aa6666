"""Evaluates label selectors, node selectors, taints and tolerations as the scheduler does.

An invalid term matches nothing: the scheduler skips a term with errors. The API server refuses an object with such a
term, but only after mutating webhooks have seen the object.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

# strconv.ParseInt(text, 10, 64), which Gt and Lt use on both sides (Requirement.Matches, apimachinery
# pkg/labels/selector.go); Python's int() would also take spaces, underscores and other scripts' digits.
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_INT64: Final = range(-(2**63), 2**63)


class LabelRequirements:
    """A metav1.LabelSelector, prepared to be compared with the labels of many objects.

    Null selects nothing, and the empty selector everything. Operators: In, NotIn, Exists, DoesNotExist. The time for
    one requirement does not depend on the number of its values, because a selector may list 70,000.

    Source: LabelSelectorAsSelector, apimachinery pkg/apis/meta/v1/helpers.go.
    """

    def __init__(self, selector: Mapping[str, Any] | None) -> None:
        """Prepare ``selector`` for comparisons. A later change of ``selector`` has no effect."""
        prepared = _with_sets(selector or {})
        self._wanted = tuple((prepared.get("matchLabels") or {}).items())
        self._expressions = prepared["matchExpressions"]
        self._selects = selector is not None and not any(e.get("operator") in _ORDERING for e in self._expressions)

    def match(self, labels: Mapping[str, str]) -> bool:
        """Return whether the selector selects these labels.

        The code has loops in place of generators, which take longer: a review may evaluate hundreds of selectors.
        """
        for key, value in self._wanted:
            if labels.get(key) != value:
                return False
        for expression in self._expressions:
            if not _matches(expression, labels):
                return False
        return self._selects


def prepared(terms: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return nodeSelectorTerms, prepared for ``node_selector_matches`` to compare them with many nodes.

    The time for one requirement on labels then does not depend on the number of its values.
    """
    return [_with_sets(term) for term in terms]


def _with_sets(selector: Mapping[str, Any]) -> dict[str, Any]:
    """Return a selector or nodeSelectorTerm in which the values of In and NotIn are sets.

    The values of Gt and Lt stay lists: the list must have exactly one item, and a set would hide a second, equal item.
    """
    return {
        **selector,
        "matchExpressions": [
            {**each, "values": frozenset(each.get("values") or ())} if each.get("operator") in _SETS else each
            for each in selector.get("matchExpressions") or ()
        ],
    }


def node_selector_matches(
    terms: Iterable[Mapping[str, Any]], labels: Mapping[str, str], fields: Mapping[str, str]
) -> bool:
    """Return whether any nodeSelectorTerm selects a node; an empty list and an empty term select no node.

    ``fields`` has the node's ``metadata.name``, the only field that matchFields can name. If ``fields`` is empty (a
    node that does not exist yet), matchFields is ignored, as by the scheduler.

    Source: NodeSelector.Match, component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go.
    """
    return any(_term_matches(term, labels, fields) for term in terms)


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Return whether one toleration tolerates one taint (both as in the Pod and Node JSON).

    No effect means every effect, no key means every key, no operator means Equal. Source: Toleration.ToleratesTaint,
    kubernetes/api core/v1/toleration.go. The operators Lt and Gt are behind a feature gate that is off by default, and
    tolerate nothing in podberth.
    """
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def tolerated(tolerations: Iterable[Mapping[str, Any]], taint: Mapping[str, Any]) -> bool:
    """Return whether any of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def covers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the toleration ``one`` tolerates every taint that ``other`` tolerates, and for at least as long.

    The rules are the scheduler's: an empty effect is every effect, an empty key with Exists every key, no operator is
    Equal. https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
    """
    exists = one.get("operator") == "Exists"
    if one.get("effect") and one.get("effect") != other.get("effect"):
        return False
    seconds = one.get("tolerationSeconds")
    if seconds is not None and other.get("effect") in (None, "", "NoExecute"):
        other_seconds = other.get("tolerationSeconds")
        if other_seconds is None or other_seconds > seconds:
            return False
    if not one.get("key"):
        return exists
    if one["key"] != other.get("key") or one.get("operator") not in (None, "", "Equal", "Exists"):
        return False
    return exists or (other.get("operator") != "Exists" and (one.get("value") or "") == (other.get("value") or ""))


def _term_matches(term: Mapping[str, Any], labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    expressions, field_expressions = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not field_expressions:
        return False
    for expression in expressions:
        if not _matches(expression, labels):
            return False
    return not fields or all(_field_matches(expression, fields) for expression in field_expressions)


def _matches(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether labels meet one requirement of a selector; a wrong number of values is no match.

    A label whose value is no text, which only a pod of unchecked shape has, counts as absent.
    """
    operator = expression.get("operator")
    values: Collection[str] = expression.get("values") or ()
    label: object = labels.get(expression.get("key") or "")
    value = label if isinstance(label, str) else None
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return bool(values) and value not in values
    if operator == "Exists":
        return not values and value is not None
    if operator == "DoesNotExist":
        return not values and value is None
    if operator in _ORDERING and len(values) == 1 and value is not None:
        left, right = integer(value), integer(next(iter(values)))
        return left is not None and right is not None and (left > right if operator == "Gt" else left < right)
    return False


_SETS: Final = frozenset({"In", "NotIn"})
_ORDERING: Final = frozenset({"Gt", "Lt"})  # of node selectors only


def _field_matches(expression: Mapping[str, Any], fields: Mapping[str, str]) -> bool:
    """Return whether a node's fields meet one matchFields requirement: In or NotIn, with exactly one value."""
    operator = expression.get("operator")
    values: Sequence[str] = expression.get("values") or ()
    if len(values) != 1 or operator not in {"In", "NotIn"}:
        return False
    same = fields.get(expression.get("key") or "", "") == values[0]
    return same if operator == "In" else not same


def integer(text: str) -> int | None:
    """Return the value of a label or requirement as the integer that Gt and Lt compare; None if it is no integer."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number in _INT64 else None


class LabelSets:
    """The labels of a list of objects, indexed: a selector is not compared with each object.

    The time for one requirement depends on the number of its values and not on the number of objects, because a user
    may write a thousand requirements for a hundred objects.
    """

    def __init__(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Index the labels of the objects, in the order of ``labels``."""
        self._all = frozenset(range(len(labels)))
        holders: dict[str, dict[str, set[int]]] = {}
        for place, each in enumerate(labels):
            for key, value in each.items():
                holders.setdefault(key, {}).setdefault(value, set()).add(place)
        self._holders: Mapping[str, Mapping[str, set[int]]] = holders
        self._having = {key: frozenset[int]().union(*values.values()) for key, values in holders.items()}

    def selected(self, selector: Mapping[str, Any] | None) -> frozenset[int]:
        """Return the indexes of the objects whose labels a metav1.LabelSelector selects."""
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
