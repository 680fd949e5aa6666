"""Node affinity: our terms joined to the user's, or preferred beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from . import leaf, terms
from .change import Change, Skipped

NODE_AFFINITY = ("spec", "affinity", "nodeAffinity")
REQUIRED = (*NODE_AFFINITY, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
PREFERRED = (*NODE_AFFINITY, "preferredDuringSchedulingIgnoredDuringExecution")
VISITS = (("spec", "affinity"), ("spec", "nodeSelector"))
"""What the builders read and write, whatever a policy says."""
RESTRICTING = (REQUIRED, ("spec", "nodeSelector"))
"""Where a pod says which nodes it can run on."""
# core/v1 NodeSelectorRequirement
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
# The scheduler evaluates every term against every node, and a term of ours joins every term of the user's. Four user
# terms against eight of ours is more than any public manifest has that was read for this project: one, rarely three.
MAX_TERMS = 32
# Comparing every term of ours with every one of the user's takes microseconds a pair; somebody could send a megabyte.
MAX_PAIRS = 4096


@dataclass(frozen=True, slots=True)
class Opposition:
    """Two expressions that no node meets together, in words."""

    mine: str
    theirs: str
    place: str
    """Where in the pod theirs stands."""

    def __str__(self) -> str:
        """Say it to the user, behind the policy's name."""
        return f"it wants {self.mine}, and the pod's {self.place} says {self.theirs}"


def require(draft: Draft, value: object) -> Change | Skipped | None:
    """Restrict the pod to the nodes of ``value`` (nodeSelectorTerms, ORed): the product with the user's terms.

    Returns:
        The change; None when the user's own selector and terms imply ours already; Skipped when every term of the
        user's contradicts all of ours, so that no node could be left, or when the product would have more than
        MAX_TERMS terms (all or nothing).

    Raises:
        EvaluationError: ``value`` is no list of terms.
    """
    ours = _terms(value, "nodeAffinity.required")
    users = draft.get(REQUIRED)
    selector = draft.get(("spec", "nodeSelector")) or {}
    given = terms.from_node_selector(selector)
    if not ours or (not users and any(terms.term_implies({}, other, given) for other in ours)):
        return None
    if reason := _too_many(users or [{}], ours) or _opposition(users or [{}], ours, selector):
        return Skipped("nodeAffinity", str(reason))
    possible = [term for term in ours if terms.contradiction(terms.expressions(term), given) is None]
    joined = terms.product(users, ours, given) if users else possible
    if joined == users:
        return None
    if len(joined) > MAX_TERMS:
        return Skipped(
            "nodeAffinity", f"your {len(users)} node affinity terms times {len(ours)} are more than {MAX_TERMS}"
        )
    draft.set(REQUIRED, joined)
    return Change("nodeAffinity", {"required": ours}, lambda: "requires " + phrase(ours))


def prefer(draft: Draft, value: object, weight: int) -> Change | Skipped | None:
    """Prefer the nodes of ``value`` (a list of nodeSelectorTerms) with ``weight`` (1 to 100) each.

    Returns:
        The change; None when the pod prefers them all already, whatever the weight, or what it requires implies them;
        Skipped when what it requires contradicts them all.

    Raises:
        EvaluationError: ``value`` is no list of terms.
    """
    ours = _terms(value, "nodeAffinity.preferred")
    given = terms.from_node_selector(draft.get(("spec", "nodeSelector")) or {})
    required = draft.get(REQUIRED) or [{}]
    if all(any(terms.term_implies(term, other, given) for other in ours) for term in required):
        return None
    if opposition := _opposition(required, ours, draft.get(("spec", "nodeSelector")) or {}):
        return Skipped("nodeAffinity", str(opposition))
    present = [item.get("preference") for item in draft.get(PREFERRED) or ()]
    added = [term for term in ours if term not in present]
    wrote = [{"weight": weight, "preference": term} for term in added]
    for item in wrote:
        draft.append(PREFERRED, item)
    return Change("nodeAffinity", {"preferred": wrote}, lambda: "prefers " + phrase(added)) if added else None


def _too_many(users: list[dict[str, Any]], ours: list[dict[str, Any]]) -> str:
    """Say that there are too many pairs of terms to compare; empty: there are not."""
    if len(users) * len(ours) <= MAX_PAIRS:
        return ""
    return f"{len(users)} node affinity terms are too many to join {len(ours)} to"


def opposed(draft: Draft, value: object, where: str = "nodeAffinity.required") -> Opposition | None:
    """Return the first contradiction where what the pod requires goes together with none of ``value``; None: some do.

    Raises:
        EvaluationError: ``value`` is no list of terms.
    """
    ours = _terms(value, where)
    return _opposition(draft.get(REQUIRED) or [{}], ours, draft.get(("spec", "nodeSelector")) or {})


def _opposition(users: list[dict[str, Any]], ours: list[dict[str, Any]], selector: dict[str, str]) -> Opposition | None:
    """Name the first contradiction where no term of the user's goes together with any of ours; None: some do.

    A term that implies ours goes together with it, whatever else it says: that is what our own writing looks like. Too
    many pairs to compare are no contradiction.
    """
    if _too_many(users, ours):
        return None
    given = terms.from_node_selector(selector)
    found: list[Opposition] = []
    for user in users:
        known = [*terms.expressions(user), *given]
        for term in ours:
            pair = terms.contradiction(terms.expressions(term), known)
            if pair is None or terms.term_implies(user, term, given):
                return None
            mine, theirs = pair
            place = "node affinity" if theirs in terms.expressions(user) else "nodeSelector"
            found.append(Opposition(_expression(mine), _expression(theirs), place))
    return found[0] if found else None


def phrase(ours: list[dict[str, Any]]) -> str:
    """Render terms for a person: ``gpu.product in (A, B) or !gpu.clique``."""
    return " or ".join(" and ".join(map(_expression, terms.expressions(term))) for term in ours)


def _expression(item: Mapping[str, Any]) -> str:
    key, values = item["key"], ", ".join(item.get("values") or ())
    match item["operator"]:
        case "Exists":
            return f"{key}"
        case "DoesNotExist":
            return f"!{key}"
        case "Gt" | "Lt" as operator:
            return f"{key} {'>' if operator == 'Gt' else '<'} {values}"
        case operator:
            return f"{key} {'in' if operator == 'In' else 'not in'} ({values})"


def _terms(value: object, where: str) -> list[dict[str, Any]]:
    checked = leaf.maps(value, where)
    for position, term in enumerate(checked):
        place = f"{where}[{position}]"
        leaf.fields(term, place, ("matchExpressions", "matchFields"))
        if terms.is_empty(term):
            raise EvaluationError(f"{place}: got no expression, which selects no node; want matchExpressions")
        for field in ("matchExpressions", "matchFields"):
            for index, item in enumerate(leaf.maps(term.get(field) or [], f"{place}.{field}")):
                _check_expression(item, f"{place}.{field}[{index}]")
    return checked


def _check_expression(item: dict[str, Any], where: str) -> None:
    leaf.fields(item, where, ("key", "operator", "values"))
    leaf.text(item.get("key"), f"{where}.key")
    if item.get("operator") not in _OPERATORS:
        raise EvaluationError(
            f"{where}.operator: got {leaf.kind(item.get('operator'))}, want one of {', '.join(_OPERATORS)}"
        )
    values = item.get("values") or []
    if not isinstance(values, list) or not all(isinstance(entry, str) for entry in values):
        raise EvaluationError(f"{where}.values: got {leaf.kind(values)}, want a list of strings")
    wanted = {"In": len(values) > 0, "NotIn": len(values) > 0, "Gt": len(values) == 1, "Lt": len(values) == 1}
    if not wanted.get(item["operator"], not values):
        raise EvaluationError(f"{where}.values: got {len(values)} values, which {item['operator']} does not take")
