"""Resource claims: a claim made from a template, and the containers that use it (resource.k8s.io, KEP-4381)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..kube.patch import Draft, Path
from ..kube.quantity import parse_count
from . import leaf
from .change import Change, Skipped
from .containers import SIDES, containers

PATH = ("spec", "resourceClaims")
_KEYS = ("name", "template", "containers", "requests", "instead")

InStead: TypeAlias = Callable[[Mapping[str, Any]], int | None]
"""Returns how many devices an item's claim has for what it stands for; None where that cannot be known."""


@dataclass(frozen=True, slots=True)
class _Todo:
    """What is to be done to one container."""

    path: Path
    uses: list[dict[str, str]]
    """Of the claim, that it lacks."""
    sides: list[str]
    """Where it asks for the resource that the claim stands for: limits, requests."""
    container: Mapping[str, Any]


def add(draft: Draft, value: object, in_stead: InStead | None = None) -> Change | Skipped | None:
    """Add claims as ``value`` (a list of {name, template, containers, requests, instead}) says.

    ``containers`` names containers, init containers and sidecars; without it, all of them use the claim. ``requests``
    names requests of the claim; without it the whole claim is used. Claims and uses that are there stay. ``instead`` is
    an extended resource that the claim stands for: containers that ask for it use the claim, and no others, and ask
    for it no more.

    Args:
        draft: the pod.
        value: what a policy says.
        in_stead: counts devices, so that none is lost or gained; None: it was done before, and is done again.

    Returns:
        The change; Skipped, with nothing done, where a claim would have another number of devices than what it stands
        for, or be shared by containers of which each asked for devices of its own; and where nothing else was to be
        done and the pod has a claim of that name from elsewhere.

    Raises:
        EvaluationError: an item is not of that form.
    """
    items = [_claim(item, f"resourceClaims[{at}]") for at, item in enumerate(leaf.maps(value, "resourceClaims"))]
    lost = _unequal(draft, items, in_stead) if in_stead is not None else ""
    if lost:
        return Skipped("resourceClaims", lost)
    done: list[dict[str, Any]] = []
    refused: list[str] = []
    for claim in items:
        source = template_of(draft, claim["name"])
        todo = _todo(draft, claim)
        if source not in (None, claim["template"]):
            refused.append(_elsewhere(claim))
            continue
        if not todo:
            continue
        if source is None:
            draft.append(PATH, {"name": claim["name"], "resourceClaimTemplateName": claim["template"]})
        for each in todo:
            for use in each.uses:
                draft.append((*each.path, "resources", "claims"), use)
            for side in each.sides:
                draft.remove((*each.path, "resources", side, claim["instead"]))
        done.append(claim)
    if done:
        return Change("resourceClaims", done, lambda: ", ".join(map(_phrase, done)))
    return Skipped("resourceClaims", refused[0]) if refused else None


def _elsewhere(claim: dict[str, Any]) -> str:
    return f"the pod has a claim {claim['name']} of its own"


def _unequal(draft: Draft, items: list[dict[str, Any]], in_stead: InStead) -> str:
    """Say where the pod would lose or gain devices; empty: nowhere."""
    given: list[tuple[dict[str, Any], Path]] = []
    for claim in items:
        if "instead" not in claim or template_of(draft, claim["name"]) not in (None, claim["template"]):
            continue
        todo = _todo(draft, claim)
        sharers = {path for other, path in given if _share(claim, other)} | {each.path for each in todo}
        if todo and len(sharers) > 1:
            asked = f"more than one container asks for {claim['instead']}"
            return f"{asked}, and all would share one claim {claim['name']}; name one"
        for each in todo:
            reason = _in_use(draft, claim, each) or _miscounted(claim, each, in_stead)
            if reason:
                return reason
            given.append((claim, each.path))
    return ""


def _share(claim: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two items are for some of the same devices."""
    if claim["name"] != other["name"]:
        return False
    requests, others = claim.get("requests"), other.get("requests")
    return not requests or not others or not set(requests).isdisjoint(others)


def _in_use(draft: Draft, claim: dict[str, Any], todo: _Todo) -> str:
    """Say that devices of the claim are somebody's already: who asks for the resource asks for others."""
    for _, container in containers(draft):
        for use in (container.get("resources") or {}).get("claims") or ():
            request = use.get("request")
            if _share(claim, {"name": use.get("name"), "requests": [request] if request else None}):
                asks = f"container {todo.container.get('name')} asks for {claim['instead']} besides"
                return f"claim {claim['name']} is used by container {container.get('name')} already, and {asks}"
    return ""


def _miscounted(claim: dict[str, Any], todo: _Todo, in_stead: InStead) -> str:
    """Say that a container would have another number of devices than it asks for."""
    resource = claim["instead"]
    asks = f"container {todo.container.get('name')} asks for"
    amounts = [todo.container["resources"][side][resource] for side in todo.sides]
    try:
        # The API server refuses a request of another number than the limit.
        want = parse_count(amounts[0])
    except ValueError as error:
        return f"{asks} {resource}: {error}"
    got = in_stead(claim)
    if got is None:
        return f"how many devices template {claim['template']} has cannot be known; {asks} {want} {resource}"
    if got != want:
        return (
            f"claim {claim['name']}: got {got} from template {claim['template']}, want {want}: {asks} {want} {resource}"
        )
    return ""


def holds(draft: Draft, there: Mapping[str, str], claim: dict[str, Any]) -> bool:
    """Say whether the pod, whose ``templates`` are ``there``, has all of one item of a change."""
    return there.get(claim["name"]) == claim["template"] and not _todo(draft, claim)


def templates(draft: Draft) -> dict[str, str]:
    """Return the templates of the pod's claims by name; empty where a claim has another source."""
    return {claim.get("name") or "": claim.get("resourceClaimTemplateName") or "" for claim in draft.get(PATH) or ()}


def template_of(draft: Draft, name: str) -> str | None:
    """Return the template of the pod's claim of that name; empty where it has another source, None without a claim."""
    return templates(draft).get(name)


def _todo(draft: Draft, claim: dict[str, Any]) -> list[_Todo]:
    """Return where the claim is to be used and is not, or what it stands for is still asked for."""
    wanted, instead = claim.get("containers"), claim.get("instead")
    found: list[_Todo] = []
    for path, container in containers(draft):
        if wanted is not None and container.get("name") not in wanted:
            continue
        resources = container.get("resources") or {}
        sides = [side for side in SIDES if _is_amount((resources.get(side) or {}).get(instead))]
        if instead is not None and not sides:
            continue
        present = [use for use in resources.get("claims") or () if use.get("name") == claim["name"]]
        missing = _missing(claim, present)
        found += [_Todo(path, missing, sides, container)] if missing or sides else []
    return found


def _is_amount(value: object) -> bool:
    """Tell whether a resource is asked for; zero is no request (docs/rules.md, rule 12)."""
    try:
        return value is not None and parse_count(value) != 0
    except ValueError:
        return True


def _missing(claim: dict[str, Any], present: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the uses that a container lacks. The whole claim and a request of it exclude each other (core/v1)."""
    requests = {use.get("request") or "" for use in present}
    if "" in requests:
        return []
    if not claim.get("requests"):
        return [] if requests else [{"name": claim["name"]}]
    return [{"name": claim["name"], "request": each} for each in claim["requests"] if each not in requests]


def _claim(item: dict[str, Any], where: str) -> dict[str, Any]:
    leaf.fields(item, where, _KEYS)
    for key in ("name", "template"):
        leaf.object_name(item.get(key), f"{where}.{key}")
    for key in ("containers", "requests"):
        for position, name in enumerate(leaf.items(item.get(key), f"{where}.{key}")):
            leaf.text(name, f"{where}.{key}[{position}]")
    if item.get("instead") is not None:
        leaf.text(item["instead"], f"{where}.instead")
    return {key: item[key] for key in _KEYS if item.get(key) not in (None, [])}


def _phrase(claim: dict[str, Any]) -> str:
    of = f" for {claim['instead']}" if "instead" in claim else ""
    return f"claim {claim['name']} from template {claim['template']}{of}"
