"""The mutation ``tolerations``: adds tolerations for taints that the pod does not already tolerate."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import EvaluationError
from ...kube.patch import Draft
from ...kube.paths import pointer
from ...kube.selector import covers
from ...kube.unchecked import key_of
from .. import leaf
from ..change import Change
from ..concern import Concern, is_list_of_maps
from ..conflict import Conflict, ConflictCase, Resolution

_PATH = ("spec", "tolerations")
# core/v1 Toleration; policies cannot use Lt and Gt, which compare numbers (1.35, alpha)
_KEYS = ("key", "operator", "value", "effect", "tolerationSeconds")
_OPERATORS = ("Exists", "Equal")
# The only effect for which tolerationSeconds counts: the taint ends running pods.
_EVICT = "NoExecute"
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", _EVICT)


def add(draft: Draft, value: object) -> Change | None:
    """Append the tolerations in the list ``value`` that the pod's own tolerations do not cover.

    Returns:
        The change, with the tolerations added; None if all were covered.

    Raises:
        EvaluationError: an item is not a toleration, or has no key and would tolerate every taint.
    """
    added: list[dict[str, Any]] = []
    wanted = [_toleration(item, f"tolerations[{at}]") for at, item in enumerate(leaf.maps(value, "tolerations"))]
    # A pod may have thousands of tolerations; only those of the same key, or of no key, can cover one.
    keys = {each["key"] for each in wanted} | {"", None}
    present = [each for each in draft.get(_PATH) or () if each.get("key") in keys]
    for toleration in wanted:
        if not any(covers(other, toleration) for other in present):
            present.append(toleration)
            added.append(toleration)
    for toleration in added:
        draft.append(_PATH, toleration)
    return Change("tolerations", added, lambda: "tolerates " + ", ".join(map(_phrase, added))) if added else None


def _toleration(item: dict[str, Any], where: str) -> dict[str, Any]:
    leaf.fields(item, where, _KEYS)
    leaf.text(item.get("key"), f"{where}.key")
    for key, allowed, default in (("operator", _OPERATORS, "Equal"), ("effect", _EFFECTS, "")):
        if item.get(key, default) not in allowed:
            raise EvaluationError(
                f"{where}.{key}: got {leaf.kind(item[key])}, want one of {', '.join(filter(None, allowed))}"
            )
    if item.get("operator") == "Exists" and item.get("value"):
        raise EvaluationError(f"{where}.value: got {leaf.kind(item['value'])}, want none with operator Exists")
    if "tolerationSeconds" in item:
        leaf.number(item["tolerationSeconds"], f"{where}.tolerationSeconds")
    return {key: item[key] for key in _KEYS if item.get(key) not in (None, "")}


def _phrase(toleration: dict[str, Any]) -> str:
    value = f"={toleration['value']}" if toleration.get("value") else ""
    effect = f":{toleration['effect']}" if toleration.get("effect") else ""
    return f"{toleration['key']}{value}{effect}"


def _keys(draft: Draft) -> frozenset[bytes]:
    return frozenset(map(key_of, draft.get(_PATH) or ()))


def _conflicts(case: ConflictCase) -> Resolution:
    """Return (conflicts with other policies, the proposal without the tolerations that would have no effect).

    Two policies conflict if they want different ``tolerationSeconds`` for a NoExecute taint. Tolerations are ORed, so a
    toleration with another operator or value only allows more nodes. But if several match one taint, the first in the
    list decides the seconds (kubernetes pkg/controller/tainteviction; component-helpers GetMatchingTolerations).
    """
    wrote = {key_of(item): name for name, items in case.others.by("tolerations") for item in items}
    if not wrote:
        return [], case.proposal
    found: list[Conflict] = []
    kept: list[Any] = []
    for item in case.items:
        first = _first(case.draft.get(_PATH) or (), item, wrote) if isinstance(item, dict) else None
        if first is None:
            kept.append(item)
            continue
        place = f"{pointer(_PATH)} tolerationSeconds of {item.get('key')}:{_EVICT}"
        found.append(Conflict(place, wrote[first[0]]))
        if not first[1]:
            kept.append(item)
    return found, case.kept(kept)


def _first(
    present: Iterable[dict[str, Any]], item: dict[str, Any], wrote: Mapping[bytes, str]
) -> tuple[bytes, bool] | None:
    """Return (the key of the toleration that conflicts with ``item``, whether ``item`` would have no effect).

    None if no toleration conflicts. A toleration in ``present``, the pod's list, conflicts if another policy wrote it
    with other ``tolerationSeconds``, and both tolerate the same NoExecute taint: the first in the list decides the
    seconds. ``wrote`` is a mapping from the key (``key_of``) of each toleration that another policy wrote to the
    policy's name.
    """
    ours = _evicting(item)
    if ours is None:
        return None
    for each in present:
        theirs = _evicting(each)
        if theirs is None or not (covers(theirs, ours) or covers(ours, theirs)):
            continue
        key, whole = key_of(each), covers(theirs, ours)
        if key in wrote and each.get("tolerationSeconds") != item.get("tolerationSeconds"):
            return key, whole and item.get("effect") == _EVICT
        if whole:
            return None
    return None


def _evicting(toleration: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the toleration, restricted to NoExecute taints; None if the toleration tolerates no NoExecute taint."""
    if toleration.get("effect") not in (None, "", _EVICT):
        return None
    return {**{key: toleration.get(key) for key in ("key", "operator", "value")}, "effect": _EVICT}


def _restore(draft: Draft, before: Draft, changes: Sequence[list[dict[str, Any]]]) -> bool:
    old, new = before.get(_PATH) or [], draft.get(_PATH) or []
    present = set(map(key_of, new))
    missing = {key for wrote in changes for item in wrote if (key := key_of(item)) not in present}
    if not missing:
        return False
    # The old order is kept, so that the list is as before if the update only lacks podberth's tolerations.
    wanted, before_it = present | missing, set(map(key_of, old))
    kept = [item for item in old if key_of(item) in wanted]
    draft.set(_PATH, kept + [item for item in new if key_of(item) not in before_it])
    return True


CONCERN = Concern(
    name="tolerations",
    build=lambda draft, proposal, _: add(draft, proposal.leaves[""]),
    visits=lambda _: (_PATH,),
    is_valid=is_list_of_maps,
    holds=lambda there, wrote: all(key_of(item) in there.read(_keys) for item in wrote),
    conflicts=_conflicts,
    restore=_restore,
    forecast=True,
)
