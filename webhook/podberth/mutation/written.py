"""What the other policies have written so far, as the record says: at one path, or in one item of a list."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..kube.patch import Path
from ..kube.paths import parse_pointer, pointer
from . import colocation, gang, names
from .record import Record


def by_others(known: Record, policy: str) -> Record:
    """Return the record of all policies but one."""
    return {name: concerns for name, concerns in known.items() if name != policy}


def writer(others: Record, path: Path, present: object) -> str | None:
    """Return the first policy that wrote the value which stands at a path; None where none did."""
    return next((name for name, concerns in others.items() if _wrote(concerns, path, present)), None)


def patcher(others: Record, path: Path) -> str | None:
    """Return the first policy that can write anything and wrote the value at a path below a container's resources."""
    where = pointer(path)
    for name, concerns in others.items():
        if any("/resources" in each["path"] and _is_below(where, each["path"]) for each in _anything(concerns)):
            return name
    return None


def operations(concerns: Mapping[str, Any], path: Path) -> list[Mapping[str, Any]]:
    """Return what a policy that can write anything wrote at, above or below a path."""
    where = pointer(path)
    return [each for each in _anything(concerns) if _is_below(each["path"], where) or _is_below(where, each["path"])]


def removals(known: Record) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the operations that took something away, each with its policy's name."""
    return [(name, each) for name, concerns in known.items() for each in _anything(concerns) if each["op"] == "remove"]


def item_writer(others: Record, path: Path, items: Sequence[Any], name: str) -> str | None:
    """Return the first policy that can write anything and wrote the item of that name of the list at a path."""
    for policy, concerns in others.items():
        for each in _anything(concerns):
            if not _is_below(each["path"], pointer(path)):
                continue
            below = parse_pointer(each["path"])[len(path) :]
            if below and below[0].isdecimal():
                written = items[int(below[0]) : int(below[0]) + 1]
            else:
                written = each["value"] if isinstance(each.get("value"), list) else [each.get("value")]
            if any(isinstance(item, dict) and item.get("name") == name for item in written):
                return policy
    return None


def _wrote(concerns: Mapping[str, Any], path: Path, present: object) -> bool:
    if _fields(concerns).get(path) == present or (path == colocation.COLOCATED and "topology" in concerns):
        return True
    where = pointer(path)
    return any(_is_below(where, each["path"]) for each in _anything(concerns))


def _fields(concerns: Mapping[str, Any]) -> dict[Path, object]:
    """Return the single fields that builders wrote, with their values."""
    member, metadata = concerns.get("gang", {}), ("labels", "annotations")
    return {
        **{("metadata", field, key): value for field in metadata for key, value in concerns.get(field, {}).items()},
        **{path: concerns[field] for field, path in names.FIELDS.items() if field in concerns},
        **{path: member[part] for part, path in gang.MEMBERSHIP.items() if part in member},
    }


def _anything(concerns: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*concerns.get("applyConfiguration", ()), *concerns.get("jsonPatch", ())]


def _is_below(where: str, above: str) -> bool:
    return where == above or where.startswith(above + "/")
