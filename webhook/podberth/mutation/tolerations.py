"""Tolerations: added where the pod does not tolerate the same already, whatever its spelling."""

from collections.abc import Mapping
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.selector import covers
from . import leaf
from .change import Change

PATH = ("spec", "tolerations")
# core/v1 Toleration; Lt and Gt (1.35, alpha) compare numbers and are the user's business
_KEYS = ("key", "operator", "value", "effect", "tolerationSeconds")
_OPERATORS = ("Exists", "Equal")
EVICT = "NoExecute"
"""The effect of a taint that ends running pods: the only one for which tolerationSeconds says anything."""
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", EVICT)


def add(draft: Draft, value: object) -> Change | None:
    """Append each of ``value`` (a list of tolerations) that the pod's own tolerations do not cover.

    Returns:
        The change, with the tolerations added; None when all were covered.

    Raises:
        EvaluationError: an item is no toleration. A toleration without a key would tolerate everything: refused.
    """
    added: list[dict[str, Any]] = []
    present = list(draft.get(PATH) or ())
    for position, item in enumerate(leaf.maps(value, "tolerations")):
        toleration = _toleration(item, f"tolerations[{position}]")
        if not any(covers(other, toleration) for other in present):
            present.append(toleration)
            added.append(toleration)
    for toleration in added:
        draft.append(PATH, toleration)
    return Change("tolerations", added, lambda: "tolerates " + ", ".join(map(_phrase, added))) if added else None


def evicting(toleration: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what of a toleration decides whether NoExecute taints are borne, without how long; None: nothing."""
    if toleration.get("effect") not in (None, "", EVICT):
        return None
    return {**{key: toleration.get(key) for key in ("key", "operator", "value")}, "effect": EVICT}


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
