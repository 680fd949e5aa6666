"""Resource names: one device resource replaced by another in one container, limits and requests together."""

from collections.abc import Mapping
from typing import Any

from ..kube.patch import Draft, Path
from ..kube.shape import RESOURCED_LISTS
from . import leaf
from .change import Change
from .containers import SIDES, containers

_KEYS = ("container", "from", "to", "quantity")
VISITS = tuple(("spec", kind) for kind in RESOURCED_LISTS)
"""What the builder reads and writes: of each container its name and its resources."""


def rewrite(draft: Draft, value: object) -> Change | None:
    """Replace resources as ``value`` (a list of {container, from, to, quantity}) says.

    A container that does not have ``from`` is left alone, so a second pass changes nothing. The quantity is written
    in the API's canonical form, a string.

    Raises:
        EvaluationError: an item is not of that form.
    """
    done: list[dict[str, Any]] = []
    paths = container_paths(draft)
    for position, item in enumerate(leaf.maps(value, "resources")):
        where = f"resources[{position}]"
        leaf.fields(item, where, _KEYS)
        container, old, new = (leaf.text(item.get(key), f"{where}.{key}") for key in ("container", "from", "to"))
        quantity = str(leaf.number(item.get("quantity"), f"{where}.quantity"))
        path = paths.get(container)
        if path is not None and old != new and _rewrite_one(draft, (*path, "resources"), old, (new, quantity)):
            done.append({"container": container, "from": old, "to": new, "quantity": int(quantity)})
    return Change("resources", done, lambda: ", ".join(map(_phrase, done))) if done else None


def _phrase(item: dict[str, Any]) -> str:
    return f"{item['to']}: {item['quantity']} for {item['from']} in container {item['container']}"


def _rewrite_one(draft: Draft, resources: Path, old: str, wanted: tuple[str, str]) -> bool:
    sides = [side for side in SIDES if old in (draft.get((*resources, side)) or {})]
    for side in sides:
        draft.remove((*resources, side, old))
        draft.set((*resources, side, wanted[0]), wanted[1])
    return bool(sides)


def differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two rewrites of one container cannot both be done: they leave one resource different amounts."""
    if one["from"] == other.get("from"):
        return any(one[key] != other.get(key) for key in ("to", "quantity"))
    if one["to"] == other.get("from") or one["from"] == other.get("to"):
        return True
    return bool(one["to"] == other.get("to") and one["quantity"] != other.get("quantity"))


def container_paths(draft: Draft) -> dict[str, Path]:
    """Return where the containers and init containers stand, by name; of several of one name the first counts."""
    found: dict[str, Path] = {}
    for path, container in containers(draft):
        if isinstance(name := container.get("name"), str):
            found.setdefault(name, path)
    return found
