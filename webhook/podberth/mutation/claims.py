"""Resource claims: a claim made from a template, and the containers that use it (resource.k8s.io, KEP-4381)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..kube.patch import Draft, Path
from . import leaf
from .change import Change, Skipped
from .containers import SIDES, containers

PATH = ("spec", "resourceClaims")
_KEYS = ("name", "template", "containers", "requests", "instead")


@dataclass(frozen=True, slots=True)
class _Todo:
    """What is to be done to one container."""

    path: Path
    uses: list[dict[str, str]]
    """Of the claim, that it lacks."""
    sides: list[str]
    """Where it asks for the resource that the claim stands for: limits, requests."""


def add(draft: Draft, value: object) -> Change | Skipped | None:
    """Add claims as ``value`` (a list of {name, template, containers, requests, instead}) says.

    ``containers`` names containers, init containers and sidecars; without it, all of them use the claim. ``requests``
    names requests of the claim; without it the whole claim is used. Claims and uses that are there stay. ``instead`` is
    an extended resource that the claim stands for: containers that ask for it use the claim, and no others, and ask
    for it no more.

    Returns:
        The change; Skipped where nothing else was to be done and the pod has a claim of that name from elsewhere, or
        several containers ask for what one claim would stand for: each of them asked for devices of its own.

    Raises:
        EvaluationError: an item is not of that form.
    """
    done: list[dict[str, Any]] = []
    refused: list[str] = []
    for position, item in enumerate(leaf.maps(value, "resourceClaims")):
        claim = _claim(item, f"resourceClaims[{position}]")
        source = template_of(draft, claim["name"])
        todo = _todo(draft, claim)
        reason = _refusal(claim, source, todo)
        if reason or not todo:
            refused += [reason] if reason else []
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


def _refusal(claim: dict[str, Any], source: str | None, todo: list[_Todo]) -> str:
    """Say why the pod does not get a claim; empty: it may. One that is there was given before, to whomever."""
    if source not in (None, claim["template"]):
        return f"the pod has a claim {claim['name']} of its own"
    if source is None and sum(bool(each.sides) for each in todo) > 1:
        asked = f"more than one container asks for {claim['instead']}"
        return f"{asked}, and all would share one claim {claim['name']}; name one"
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
        sides = [side for side in SIDES if instead in (resources.get(side) or {})]
        if instead is not None and not sides:
            continue
        present = [use for use in resources.get("claims") or () if use.get("name") == claim["name"]]
        missing = _missing(claim, present)
        found += [_Todo(path, missing, sides)] if missing or sides else []
    return found


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
