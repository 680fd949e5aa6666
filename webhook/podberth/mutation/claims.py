"""Resource claims: a claim made from a template, and the containers that use it (resource.k8s.io, KEP-4381)."""

from collections.abc import Mapping
from typing import Any

from ..kube.patch import Draft, Path
from . import leaf
from .change import Change, Skipped
from .containers import containers

PATH = ("spec", "resourceClaims")
_KEYS = ("name", "template", "containers", "requests")


def add(draft: Draft, value: object) -> Change | Skipped | None:
    """Add claims as ``value`` (a list of {name, template, containers, requests}) says.

    ``containers`` names containers, init containers and sidecars; without it, all of them use the claim. ``requests``
    names requests of the claim; without it the whole claim is used. Claims and uses that are there stay.

    Returns:
        The change; Skipped where the pod has a claim of that name from elsewhere, and nothing else was to be done.

    Raises:
        EvaluationError: an item is not of that form.
    """
    done: list[dict[str, Any]] = []
    theirs: list[str] = []
    for position, item in enumerate(leaf.maps(value, "resourceClaims")):
        claim = _claim(item, f"resourceClaims[{position}]")
        source = template_of(draft, claim["name"])
        if source not in (None, claim["template"]):
            theirs.append(claim["name"])
            continue
        uses = _uses(draft, claim)
        if not uses:
            continue
        if source is None:
            draft.append(PATH, {"name": claim["name"], "resourceClaimTemplateName": claim["template"]})
        for path, missing in uses:
            for use in missing:
                draft.append((*path, "resources", "claims"), use)
        done.append(claim)
    if done:
        return Change("resourceClaims", done, lambda: ", ".join(map(_phrase, done)))
    return Skipped("resourceClaims", f"the pod has a claim {theirs[0]} of its own") if theirs else None


def holds(draft: Draft, there: Mapping[str, str], claim: dict[str, Any]) -> bool:
    """Say whether the pod, whose ``templates`` are ``there``, has all of one item of a change."""
    return there.get(claim["name"]) == claim["template"] and not _uses(draft, claim)


def templates(draft: Draft) -> dict[str, str]:
    """Return the templates of the pod's claims by name; empty where a claim has another source."""
    return {claim.get("name") or "": claim.get("resourceClaimTemplateName") or "" for claim in draft.get(PATH) or ()}


def template_of(draft: Draft, name: str) -> str | None:
    """Return the template of the pod's claim of that name; empty where it has another source, None without a claim."""
    return templates(draft).get(name)


def _uses(draft: Draft, claim: dict[str, Any]) -> list[tuple[Path, list[dict[str, str]]]]:
    """Return where the claim is to be used and is not, with what is missing there."""
    wanted = claim.get("containers")
    found: list[tuple[Path, list[dict[str, str]]]] = []
    for path, container in containers(draft):
        if wanted is None or container.get("name") in wanted:
            present = (container.get("resources") or {}).get("claims") or ()
            missing = _missing(claim, [use for use in present if use.get("name") == claim["name"]])
            found += [(path, missing)] if missing else []
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
    return {key: item[key] for key in _KEYS if item.get(key) not in (None, [])}


def _phrase(claim: dict[str, Any]) -> str:
    return f"claim {claim['name']} from template {claim['template']}"
