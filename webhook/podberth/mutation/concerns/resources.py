"""The mutation ``resources``: replaces a device resource of a container by another resource, in limits and requests."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ...kube.patch import Draft
from ...kube.paths import Path, pointer
from ...kube.quantity import parse_quantity
from ...kube.shape import RESOURCED_LISTS
from .. import leaf, restoring
from ..change import Change, Skipped
from ..concern import Concern, Present, for_each, is_list_of_maps
from ..conflict import Conflict, ConflictCase, Resolution
from ..containers import SIDES, containers

_NAMES = ("container", "from", "to")
_KEYS = (*_NAMES, "quantity")
VISITS = tuple(("spec", kind) for kind in RESOURCED_LISTS)
"""The lists of containers in a pod's spec; the mutation reads and writes names and resources of the containers."""


def rewrite(draft: Draft, value: object) -> Change | Skipped | None:
    """Replace a resource by another resource in containers.

    ``value`` is a list of {container, from, to, quantity}. A container without the resource ``from`` is not changed, so
    a second application changes nothing. The quantity is written in the API's canonical form, a string. A container
    that asks for ``to`` as well is not changed: the written quantity would replace the container's own.

    Returns:
        The change; None if no container has ``from``. Skipped if each container that has it asks for ``to``, too.

    Raises:
        EvaluationError: an item is malformed.
    """
    return _rewritten_in(draft, value, again=False)


def _rewritten_in(draft: Draft, value: object, *, again: bool) -> Change | Skipped | None:
    """Replace resources as ``rewrite`` does; with ``again``, in containers that ask for the resource ``to``, too."""
    done: list[dict[str, Any]] = []
    taken: list[str] = []
    paths = _container_paths(draft)
    for position, item in enumerate(leaf.maps(value, "resources")):
        where = f"resources[{position}]"
        leaf.fields(item, where, _KEYS)
        container, old, new = (leaf.text(item.get(key), f"{where}.{key}") for key in _NAMES)
        quantity = str(leaf.number(item.get("quantity"), f"{where}.quantity"))
        path = paths.get(container)
        if path is None or old == new:
            continue
        if not again and _asks_for(draft, path, old) and _asks_for(draft, path, new):
            taken.append(f"container {container} asks for {new} beside {old}")
        elif _rewrite_one(draft, (*path, "resources"), old, (new, quantity)):
            done.append({"container": container, "from": old, "to": new, "quantity": int(quantity)})
    if not done:
        return Skipped(", ".join(taken)) if taken else None
    return Change("resources", done, lambda: ", ".join(map(_phrase, done)))


def _asks_for(draft: Draft, container: Path, resource: str) -> bool:
    return any(resource in (draft.get((*container, "resources", side)) or {}) for side in SIDES)


def _phrase(item: dict[str, Any]) -> str:
    return f"{item['to']}: {item['quantity']} for {item['from']} in container {item['container']}"


def _rewrite_one(draft: Draft, resources: Path, old: str, wanted: tuple[str, str]) -> bool:
    sides = [side for side in SIDES if old in (draft.get((*resources, side)) or {})]
    for side in sides:
        draft.remove((*resources, side, old))
        draft.set((*resources, side, wanted[0]), wanted[1])
    return bool(sides)


def _container_paths(draft: Draft) -> dict[str, Path]:
    """Return a mapping from name to path of containers and init containers; if two have one name, the first is used."""
    found: dict[str, Path] = {}
    for path, container in containers(draft):
        if isinstance(name := container.get("name"), str):
            found.setdefault(name, path)
    return found


def _is_valid(wrote: Any) -> bool:
    return is_list_of_maps(wrote) and all(
        isinstance(item.get("quantity"), int) and all(isinstance(item.get(key), str) for key in _NAMES)
        for item in wrote
    )


def _holds(there: Present, item: dict[str, Any]) -> bool:
    path = there.read(_container_paths).get(item["container"])
    if path is None:
        return False
    asked = [(there.draft.get((*path, "resources", side)) or {}).get(item["to"]) for side in SIDES]
    # As in ``workload.gpus``: if there is no limit, the request counts.
    amount = next((found for found in asked if found is not None), None)
    try:
        return amount is not None and bool(parse_quantity(amount) == item["quantity"])
    except ValueError:
        return False


def _conflicts(case: ConflictCase) -> Resolution:
    """Return (conflicts with earlier policies, the proposal without the replacements that conflict).

    Policies conflict if they replace a resource differently, or if one policy writes a resource that another policy
    replaces.
    """
    paths = _container_paths(case.draft)

    def conflict(item: dict[str, Any]) -> Conflict | None:
        named = item.get("container")
        path = paths.get(named) if isinstance(named, str) else None
        return _rewritten(case, item, path) if path is not None else None

    return case.by_item(conflict)


def _rewritten(case: ConflictCase, item: dict[str, Any], path: Path) -> Conflict | None:
    container, old, new = (item.get(key) for key in _NAMES)
    if not isinstance(old, str) or old == new:
        return None
    sides = [(*path, "resources", side) for side in SIDES]
    present = [(*side, old) for side in sides if old in (case.draft.get(side) or {})]
    place = f"{pointer((*path, 'resources'))} {old}"
    for name, wrote in case.others.by("resources"):
        rewrites = [done for done in wrote if done["container"] == container]
        if any(_differ(done, item) for done in rewrites if present or done["from"] == old):
            return Conflict(place, name)
    other = next(filter(None, map(case.others.patcher, present)), None)
    return Conflict(place, other) if other is not None else None


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two replacements of resources in one container conflict.

    They conflict if they replace one resource differently, if one replaces the resource that the other writes, or if
    both write one resource with different quantities.
    """
    if one["from"] == other.get("from"):
        return any(one[key] != other.get(key) for key in ("to", "quantity"))
    if one["to"] == other.get("from") or one["from"] == other.get("to"):
        return True
    return bool(one["to"] == other.get("to") and one["quantity"] != other.get("quantity"))


CONCERN = Concern(
    name="resources",
    build=lambda draft, proposal, _: rewrite(draft, proposal.leaves[""]),
    visits=lambda _: VISITS,
    is_valid=_is_valid,
    holds=for_each(_holds),
    conflicts=_conflicts,
    # The manifest's resource stands beside the one that replaces it, which `kubectl apply` leaves on the pod.
    restore=lambda draft, before, changes: restoring.resources(
        draft, before, changes, partial(_rewritten_in, again=True)
    ),
    decides="accounting",
    forecast=True,
)
