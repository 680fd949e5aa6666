"""The mutation ``resourceClaims``: adds claims from templates to pod and containers (resource.k8s.io, KEP-4381)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...kube.patch import Draft
from ...kube.paths import Path, pointer
from ...kube.quantity import parse_count
from .. import leaf, restoring
from ..change import Change, Proposal, Skipped
from ..concern import Concern, Present, Surroundings, for_each, is_list_of_maps
from ..conflict import Conflict, ConflictCase, Resolution
from ..containers import SIDES, containers

_PATH = ("spec", "resourceClaims")
_KEYS = ("name", "template", "containers", "requests", "instead")
_CLAIMLESS = "the API server serves no resourceclaimtemplates.resource.k8s.io of v1, v1beta2 or v1beta1"

InStead: TypeAlias = Callable[[Mapping[str, Any]], int | None]
"""Returns the number of devices that an item's claim provides in place of ``instead``; None if unknown."""


@dataclass(frozen=True, slots=True)
class _Todo:
    """A container with the edits that one item of the mutation ``resourceClaims`` makes to it."""

    path: Path
    uses: list[dict[str, str]]
    """The entries of ``resources.claims`` that the container lacks."""
    sides: list[str]
    """The fields, ``limits`` or ``requests``, from which the replaced resource is removed."""
    container: Mapping[str, Any]


def add(
    draft: Draft, value: object, in_stead: InStead | None = None, stood: Sequence[Mapping[str, Any]] = ()
) -> Change | Skipped | None:
    """Add the claims of ``value``, a list of {name, template, containers, requests, instead}.

    The keys mean the following. ``containers`` names containers, init containers and sidecars; without ``containers``,
    all containers use the claim. ``requests`` names requests of the claim; without ``requests`` the whole claim is
    used. Claims and uses that the pod already has are kept. ``instead`` is an extended resource that the claim
    replaces: only containers that ask for the resource use the claim, and they no longer ask for the resource.

    Args:
        draft: the pod.
        value: the value of the policy's expression.
        in_stead: returns the number of devices that a claim provides, which must equal the replaced number. None if
            ``value`` repeats an earlier write, whose numbers were checked at that time.
        stood: the items with ``instead`` that earlier policies wrote.

    Returns:
        The change; None if the pod has all claims and uses already. Skipped, with nothing written, in three cases: a
        claim has another number of devices than the resource that it replaces; a container would share devices that
        another container requested for itself; or nothing remains to be added, because an item's name is the name of a
        claim that the pod has from another source.

    Raises:
        EvaluationError: an item does not have the form of ``value``.
    """
    items = [_checked(item, f"resourceClaims[{at}]") for at, item in enumerate(leaf.maps(value, "resourceClaims"))]
    lost = _unequal(draft, items, in_stead, stood) if in_stead is not None else ""
    if lost:
        return Skipped(lost)
    done: list[dict[str, Any]] = []
    refused: list[str] = []
    for claim in items:
        source = _templates(draft).get(claim["name"])
        todo = _todo(draft, claim)
        if source not in (None, claim["template"]):
            refused.append(f"the pod has a claim {claim['name']} of its own")
            continue
        if not todo:
            continue
        _do(draft, claim, todo)
        done.append(claim)
    if done:
        return Change("resourceClaims", done, lambda: ", ".join(map(_phrase, done)))
    return Skipped(refused[0]) if refused else None


def _do(draft: Draft, claim: dict[str, Any], todo: list[_Todo]) -> None:
    if todo and _templates(draft).get(claim["name"]) is None:
        draft.append(_PATH, {"name": claim["name"], "resourceClaimTemplateName": claim["template"]})
    for each in todo:
        for use in each.uses:
            draft.append((*each.path, "resources", "claims"), use)
        for side in each.sides:
            draft.remove((*each.path, "resources", side, claim["instead"]))


def _unequal(draft: Draft, items: list[dict[str, Any]], in_stead: InStead, stood: Sequence[Mapping[str, Any]]) -> str:
    """Return the first reason why a container would get other devices than it requests; empty if there is none.

    ``items`` are the claims to add, and ``stood`` the items with ``instead`` of earlier policies. ``in_stead`` returns
    the number of devices of a claim.
    """
    counted = list(stood)
    if not (counted or any("instead" in claim for claim in items)):
        return ""
    trial = draft.fork()
    for claim in items:
        if _templates(trial).get(claim["name"]) not in (None, claim["template"]):
            continue
        todo = _todo(trial, claim)
        reason = _wrong(trial, claim, todo, in_stead) if "instead" in claim else _shared(trial, claim, todo, counted)
        if reason:
            return reason
        _do(trial, claim, todo)
        counted += [claim] if "instead" in claim else []
    return ""


def _wrong(draft: Draft, claim: dict[str, Any], todo: list[_Todo], in_stead: InStead) -> str:
    """Return why a claim cannot replace the resource that the containers in ``todo`` request; empty if it can.

    A claim can replace the request of a single container. It must have as many devices as the container requests
    (``in_stead`` returns the claim's number), and no container may use it yet.
    """
    if len(todo) > 1:
        asked = f"more than one container asks for {claim['instead']}"
        return f"{asked}, and all would share one claim {claim['name']}; name one"
    if not todo:
        return ""
    if users := _users(draft, claim):
        asks = f"container {todo[0].container.get('name')} asks for {claim['instead']} besides"
        return f"claim {claim['name']} is used by container {users[0]} already, and {asks}"
    return _miscounted(claim, todo[0], in_stead)


def _shared(draft: Draft, claim: dict[str, Any], todo: list[_Todo], counted: Sequence[Mapping[str, Any]]) -> str:
    """Return a message if a container would share devices that another container requested for itself; else empty.

    ``todo`` has the containers that get ``claim``, and ``counted`` the earlier items with ``instead``.
    """
    for other in counted:
        users = _users(draft, other) if _share(claim, other) else []
        for each in todo:
            if users and each.container.get("name") not in users:
                of, besides = f"claim {claim['name']} stands for {other['instead']}", each.container.get("name")
                return f"{of} of container {users[0]}, and container {besides} would share it"
    return ""


def _share(claim: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two items of the mutation ``resourceClaims`` name one claim and share at least one request."""
    if claim["name"] != other["name"]:
        return False
    requests, others = claim.get("requests"), other.get("requests")
    return not requests or not others or not set(requests).isdisjoint(others)


def _users(draft: Draft, claim: Mapping[str, Any]) -> list[str]:
    """Return the names of the containers that use at least some of a claim's devices."""
    return [
        container.get("name") or ""
        for _, container in containers(draft)
        for use in (container.get("resources") or {}).get("claims") or ()
        if _share(claim, {"name": use.get("name"), "requests": [use["request"]] if use.get("request") else None})
    ]


def _miscounted(claim: dict[str, Any], todo: _Todo, in_stead: InStead) -> str:
    """Return a message if the claim has another number of devices than the container requests; else empty.

    ``in_stead`` returns the claim's number. If either number is unknown, the result is a message, too.
    """
    resource = claim["instead"]
    asks = f"container {todo.container.get('name')} asks for"
    amounts = [todo.container["resources"][side][resource] for side in todo.sides]
    try:
        # Limit and request are equal: the API server refuses a device request that differs from the limit.
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


def _templates(draft: Draft) -> dict[str, str]:
    """Return a mapping from the name of each claim of the pod to its template; empty text for no template."""
    return {claim.get("name") or "": claim.get("resourceClaimTemplateName") or "" for claim in draft.get(_PATH) or ()}


def _todo(draft: Draft, claim: dict[str, Any]) -> list[_Todo]:
    """Return the edits for each container that lacks the claim of the item ``claim``.

    If the item has ``instead``, the result has an edit for each container that requests the replaced resource, even if
    the container has the claim, and for no other container.
    """
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
    """Return whether an amount of a resource is a request: neither absent nor zero; True if it cannot be read."""
    try:
        return value is not None and parse_count(value) != 0
    except ValueError:
        return True


def _missing(claim: dict[str, Any], present: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the entries of ``resources.claims`` that a container lacks for an item of the mutation ``resourceClaims``.

    ``claim`` is the item, and ``present`` are the container's entries for the claim. An entry names the whole claim, or
    one of its requests (core/v1 ResourceClaim).
    """
    requests = {use.get("request") or "" for use in present}
    if "" in requests:
        return []
    if not claim.get("requests"):
        return [] if requests else [{"name": claim["name"]}]
    return [{"name": claim["name"], "request": each} for each in claim["requests"] if each not in requests]


def _checked(item: dict[str, Any], where: str) -> dict[str, Any]:
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


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    def in_stead(claim: Mapping[str, Any]) -> int | None:
        named = {"resourceClaimTemplateName": claim["template"]}
        requests = claim.get("requests", ())
        return surroundings.devices.in_stead(surroundings.namespace, named, claim["instead"], requests)

    wrote = (item for concerns in surroundings.record().values() for item in concerns.get("resourceClaims", ()))
    stood = [item for item in wrote if "instead" in item]
    # Without claims a pod with `instead` would start with neither the claim nor the resource.
    claimless = surroundings.is_claimless
    change = add(draft.fork() if claimless else draft, proposal.leaves[""], in_stead, stood)
    return Skipped(_CLAIMLESS) if claimless and isinstance(change, Change) else change


def _is_valid(item: dict[str, Any]) -> bool:
    lists = [item.get(key, []) for key in ("containers", "requests")]
    texts = [item.get("name"), item.get("template"), item.get("instead", "")]
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists
    )


def _holds(there: Present, claim: dict[str, Any]) -> bool:
    return there.read(_templates).get(claim["name"]) == claim["template"] and not _todo(there.draft, claim)


def _conflicts(case: ConflictCase) -> Resolution:
    wrote = {item["name"]: name for name, items in case.others.by("resourceClaims") for item in items}
    present = case.draft.get(_PATH) or []
    templates = _templates(case.draft)

    def conflict(item: dict[str, Any]) -> Conflict | None:
        name = item.get("name")
        if not isinstance(name, str) or templates.get(name) in (None, item.get("template")):
            return None
        other = wrote.get(name) or case.others.item_writer(_PATH, present, name)
        return None if other is None else Conflict(f"{pointer(_PATH)} {name}", other)

    return case.by_item(conflict)


CONCERN = Concern(
    name="resourceClaims",
    build=_build,
    is_valid=lambda wrote: is_list_of_maps(wrote) and all(map(_is_valid, wrote)),
    holds=for_each(_holds),
    conflicts=_conflicts,
    # The resource that a claim replaces is removed again.
    restore=lambda draft, before, changes: restoring.resources(draft, before, changes, add),
    decides="accounting",
)
