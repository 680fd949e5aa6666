"""Node affinity: joins podberth's required terms with the user's terms, and adds preferred terms to the user's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from . import leaf, terms
from .change import Change, Skipped

NODE_AFFINITY = ("spec", "affinity", "nodeAffinity")
REQUIRED = (*NODE_AFFINITY, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
PREFERRED = (*NODE_AFFINITY, "preferredDuringSchedulingIgnoredDuringExecution")
SELECTOR = ("spec", "nodeSelector")
VISITS = (("spec", "affinity"), SELECTOR)
"""The fields of a pod that the functions of this module read and write."""
RESTRICTING = (REQUIRED, SELECTOR)
"""The fields in which a pod restricts its choice of nodes."""
# core/v1 NodeSelectorRequirement
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
# The scheduler evaluates every term against every node, and each term of podberth is joined with each term of the user.
# 32 terms are four of the user times eight of podberth's. Public manifests have one term, rarely three.
MAX_TERMS = 32
# A comparison of two terms takes microseconds, but a pod may have a megabyte of terms.
MAX_PAIRS = 4096


@dataclass(frozen=True, slots=True)
class Opposition:
    """Two expressions of node affinity, as text, that no node satisfies together: the user's and podberth's."""

    mine: str
    theirs: str
    place: str
    """The field of the pod that contains the user's expression ``theirs``."""

    def __str__(self) -> str:
        """Return the message for the user, which is printed after the policy's name."""
        return f"it wants {self.mine}, and the pod's {self.place} says {self.theirs}"


def require(draft: Draft, value: object, own: list[terms.KnownTerm] | None = None) -> Change | Skipped | None:
    """Restrict the pod to the nodes that ``value``, a list of nodeSelectorTerms, selects among the user's choice.

    ``own`` are the user's terms, if the caller has parsed them already (``known``); None if not.

    Returns:
        The change; None if the user's nodeSelector and terms already imply podberth's terms. Skipped in three cases:
        every term of the user contradicts all of podberth's terms, so no node could match; the user requires node
        affinity without a term; or there are too many terms (MAX_TERMS, MAX_PAIRS).

    Raises:
        EvaluationError: ``value`` is not a list of terms.
    """
    ours = _terms(value, "nodeAffinity.required")
    users = draft.get(REQUIRED)
    if ours and not users and draft.get(REQUIRED[:-1]) is not None:
        # "A null or empty node selector term matches no objects" (core/v1 NodeSelector), and the API server refuses it.
        return Skipped("the pod requires node affinity without a term, which selects no node")
    wanted = _Compared(known(draft) if own is None else own, ours)
    if not ours or (not users and wanted.is_given):
        return None
    if reason := wanted.too_many or wanted.opposition():
        return Skipped(str(reason))
    joined = wanted.joined if users else wanted.possible(draft.get(SELECTOR) or {})
    if joined == users:
        return None
    if len(joined) > MAX_TERMS:
        return Skipped(f"your {len(users)} node affinity terms times {len(ours)} are more than {MAX_TERMS}")
    draft.set(REQUIRED, joined)
    return Change("nodeAffinity", {"required": ours}, lambda: "requires " + phrase(ours))


def known(draft: Draft) -> list[terms.KnownTerm]:
    """Return the pod's required node affinity terms, each with the nodeSelector, parsed for many comparisons.

    A pod without required terms has one empty term.
    """
    return [terms.KnownTerm(term, draft.get(SELECTOR) or {}) for term in draft.get(REQUIRED) or [{}]]


def impossible(draft: Draft) -> str:
    """Return the two requirements of the pod that no node satisfies together, as text; empty if nodes may exist.

    Only the nodeSelector and the required node affinity are compared, and not the known nodes. If the affinity has
    several terms, each of them contradicts itself or the nodeSelector, and the text is about the first.
    """
    found = [each.own_contradiction(MAX_PAIRS) for each in known(draft)[: MAX_TERMS + 1]]
    if len(found) > MAX_TERMS or None in found:
        return ""
    return " and ".join(_expression(each) for each in found[0] or ())


def as_terms(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return node affinity terms that select the nodes with all of ``labels``; empty if ``labels`` is empty."""
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return [{"matchExpressions": wanted}] if wanted else []


def both(ours: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the terms that select the nodes that both lists of terms select; ``ours`` if there are too many terms."""
    draft = Draft({})
    require(draft, ours)
    require(draft, others)
    found: list[dict[str, Any]] = draft.get(REQUIRED)
    return found


def is_given(users: list[terms.KnownTerm], ours: list[dict[str, Any]]) -> bool:
    """Return whether each of the user's terms implies a term of ``ours``; False for too many pairs of terms."""
    return _Compared(users, ours).is_given


def prefer(draft: Draft, value: object, weight: int) -> Change | Skipped | None:
    """Make the pod prefer the nodes of ``value``, a list of nodeSelectorTerms, each with ``weight`` (1 to 100).

    Returns:
        The change. None if the pod prefers all terms already, whatever the weight, or if its required terms imply all.
        Skipped if the pod's required terms contradict all terms.

    Raises:
        EvaluationError: ``value`` is not a list of terms.
    """
    ours = _terms(value, "nodeAffinity.preferred")
    wanted = _Compared(known(draft), ours)
    if wanted.is_given:
        return None
    if opposition := wanted.opposition():
        return Skipped(str(opposition))
    present = [item.get("preference") for item in draft.get(PREFERRED) or ()]
    added = [term for term in ours if term not in present]
    wrote = [{"weight": weight, "preference": term} for term in added]
    for item in wrote:
        draft.append(PREFERRED, item)
    return Change("nodeAffinity", {"preferred": wrote}, lambda: "prefers " + phrase(added)) if added else None


def partly_opposed(draft: Draft, value: object) -> Opposition | None:
    """Return the first contradiction between a term of ``value`` and one of the pod's own terms; None if there is none.

    Raises:
        EvaluationError: ``value`` is not a list of terms.
    """
    return next(_Compared(known(draft), _terms(value, "nodeAffinity.required")).contradictions(), None)


def opposed(draft: Draft, value: object, where: str = "nodeAffinity.required") -> Opposition | None:
    """Return the first contradiction if every term of ``value`` contradicts each of the pod's own terms; else None.

    ``where`` is the field of the policy that has ``value``, for messages.

    Raises:
        EvaluationError: ``value`` is not a list of terms.
    """
    return _Compared(known(draft), _terms(value, where)).opposition()


class _Compared:
    """Compares the node affinity terms that a pod requires (the user's) with the terms that podberth wants to add."""

    def __init__(self, users: list[terms.KnownTerm], ours: list[dict[str, Any]]) -> None:
        self.too_many = ""
        """The message if there are too many pairs of terms to compare; else empty."""
        if len(users) * len(ours) > MAX_PAIRS:
            self.too_many = f"{len(users)} node affinity terms are too many to join {len(ours)} to"
        self.users = [] if self.too_many else users
        self.ours = [terms.WantedTerm(term) for term in ours]

    @property
    def is_given(self) -> bool:
        """Whether each node affinity term of the user implies a term of podberth; False if there are too many pairs."""
        return not self.too_many and all(any(map(user.implies, self.ours)) for user in self.users)

    @property
    def joined(self) -> list[dict[str, Any]]:
        """The terms that select exactly the nodes that both the user's and podberth's terms select."""
        return terms.product(self.users, self.ours, MAX_TERMS)

    def possible(self, selector: dict[str, str]) -> list[dict[str, Any]]:
        """Return the terms of podberth that the pod's nodeSelector does not contradict."""
        given = terms.KnownTerm({}, selector)
        return [dict(each.term) for each in self.ours if given.contradiction(each) is None]

    def opposition(self) -> Opposition | None:
        """Return the first contradiction if every term of the user contradicts all of podberth's terms; else None.

        If a user's term implies a term of podberth, the result is None, because podberth may have written the user's
        term in an earlier call. With too many pairs of terms to compare, the result is None as well.
        """
        first: Opposition | None = None
        for each in self._compared():
            if each is None:
                return None
            first = first or each
        return first

    def contradictions(self) -> Iterator[Opposition]:
        """Yield the contradiction of each pair of a user's term and a podberth term, if there is one."""
        return filter(None, self._compared())

    def _compared(self) -> Iterator[Opposition | None]:
        for user in self.users:
            for term in self.ours:
                pair = user.contradiction(term)
                if pair is None or user.implies(term):
                    yield None
                    continue
                mine, theirs = pair
                own = any(theirs is each for each in terms.expressions(user.term))
                yield Opposition(_expression(mine), _expression(theirs), "node affinity" if own else "nodeSelector")


def phrase(ours: list[dict[str, Any]]) -> str:
    """Return node selector terms as text for users, such as ``gpu.product in (A, B) or !gpu.clique``."""
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
