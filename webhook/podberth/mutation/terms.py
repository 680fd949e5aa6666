"""Node selector terms as logic: what implies what, and the product of two lists of terms.

A term is a conjunction of expressions, a list of terms a disjunction (core/v1 NodeSelector). Only what can be seen
from the expressions themselves is used: no labels, no nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Term: TypeAlias = Mapping[str, Any]
"""NodeSelectorTerm: ``{"matchExpressions": [...], "matchFields": [...]}``, both optional."""

# The scheduler reads Gt and Lt as 64-bit integers (apimachinery pkg/labels, strconv.ParseInt).
_MOST_DIGITS = 18
_POSITIVE = ("In", "Exists", "Gt", "Lt")
"""Operators that a node without the label never satisfies."""


def expressions(term: Term) -> list[dict[str, Any]]:
    """Return the term's label expressions; absent and null are none."""
    return list(term.get("matchExpressions") or ())


def is_empty(term: Term) -> bool:
    """Say whether the term has no requirement at all; such a term selects no node."""
    return not term.get("matchExpressions") and not term.get("matchFields")


def from_node_selector(node_selector: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return ``spec.nodeSelector`` as expressions."""
    return [{"key": key, "operator": "In", "values": [value]} for key, value in node_selector.items()]


def expression_implies(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether every node that satisfies ``one`` satisfies ``other``, judged by the two expressions alone."""
    if one.get("key") != other.get("key"):
        return False
    mine, theirs = one.get("operator"), other.get("operator")
    values, wanted = one.get("values") or [], other.get("values") or []
    if theirs == "Exists":
        return mine in _POSITIVE
    if mine == "In":
        return all(_value_satisfies(value, theirs, wanted) for value in values)
    if theirs == "NotIn":
        return mine == "DoesNotExist" or (mine == "NotIn" and all(value in values for value in wanted))
    return bool(mine == theirs and values == wanted)


def term_implies(term: Term, other: Term, given: Sequence[Mapping[str, Any]] = ()) -> bool:
    """Say whether every node of ``term`` that also meets ``given`` is a node of ``other``.

    ``given`` are expressions that hold anyway (the pod's nodeSelector). An empty ``other`` selects nothing: never
    implied.
    """
    if is_empty(other) or any(field not in (term.get("matchFields") or ()) for field in other.get("matchFields") or ()):
        return False
    known = [*expressions(term), *given]
    return all(any(expression_implies(mine, theirs) for mine in known) for theirs in expressions(other))


def contradiction(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return an expression of ours and one of theirs that no node can satisfy together, judged by the two alone."""
    return next(((mine, other) for mine in ours for other in theirs if _excludes(mine, other)), None)


def _excludes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether no value of the label, nor its absence, satisfies both."""
    if one.get("key") != other.get("key"):
        return False
    mine, theirs = one.get("operator"), other.get("operator")
    if "DoesNotExist" in (mine, theirs):
        return mine in _POSITIVE or theirs in _POSITIVE
    for either, against in ((one, other), (other, one)):
        if either.get("operator") == "In":
            operator, wanted = against.get("operator"), against.get("values") or []
            values = either.get("values") or []
            return operator != "Exists" and not any(_value_satisfies(value, operator, wanted) for value in values)
    return False


def product(
    users: Iterable[Term], ours: Sequence[Term], given: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return the terms that select exactly what both lists select, given ``given``.

    A user's term that implies one of ours stays as it is; any other is joined with each of ours in turn, but for those
    that contradict it or that another of the joined terms includes. Where all contradict it, the first is joined all
    the same: it selects nothing, and so nothing of the user's is lost. Nor is an empty term, which selects nothing
    either. Key order and the user's own expressions are kept.
    """
    result: list[dict[str, Any]] = []
    for term in users:
        if is_empty(term) or any(term_implies(term, other, given) for other in ours):
            result.append(dict(term))
            continue
        known = [*expressions(term), *given]
        possible = [other for other in ours if contradiction(expressions(other), known) is None] or ours[:1]
        result += _widest([_join(term, other, given) for other in possible])
    return result


def _widest(joined: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out each term that another one includes; of two that say the same the first stays."""
    return [
        term
        for place, term in enumerate(joined)
        if not any(
            term_implies(term, other) and (before < place or not term_implies(other, term))
            for before, other in enumerate(joined)
            if before != place
        )
    ]


def _join(term: Term, other: Term, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    mine = expressions(term)
    known = [*mine, *given]
    more = [theirs for theirs in expressions(other) if not any(expression_implies(own, theirs) for own in known)]
    joined = {**term}
    if mine or more:
        joined["matchExpressions"] = [*mine, *more]
    fields = [*(term.get("matchFields") or ())]
    fields += [field for field in other.get("matchFields") or () if field not in fields]
    if fields:
        joined["matchFields"] = fields
    return joined


def _value_satisfies(value: str, operator: str | None, wanted: Sequence[str]) -> bool:
    if operator in ("In", "NotIn"):
        return (value in wanted) == (operator == "In")
    if operator in ("Gt", "Lt") and len(wanted) == 1 and _is_integer(value) and _is_integer(wanted[0]):
        return int(value) > int(wanted[0]) if operator == "Gt" else int(value) < int(wanted[0])
    return False


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
