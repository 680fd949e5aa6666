"""Searches, by path or by list item, the changes that policies made to the pod so far, as recorded on the pod."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..kube.paths import Path, parse_pointer, pointer
from .change import Record


@dataclass(frozen=True, slots=True)
class EarlierChanges:
    """The changes that earlier policies made to the pod in this review."""

    record: Record
    anything: Collection[str]
    """The names of the mutations that can write any field."""
    wrote_at: Mapping[str, Callable[[Any, Path, object], bool]]
    """The function ``Concern.wrote_at`` of each mutation, by the mutation's name."""

    def by(self, concern: str) -> Iterator[tuple[str, Any]]:
        """Yield (policy, recorded change) for each policy that made changes by the mutation ``concern``."""
        return ((name, concerns[concern]) for name, concerns in self.record.items() if concern in concerns)

    def writer(self, path: Path, present: object) -> str | None:
        """Return the name of the first policy that wrote a path; None if no policy did.

        A mutation of a single field is taken for the writer only if it wrote ``present``, the pod's present value at
        the path. A JSON Patch operation at the path, or at an object that contains the path, is taken for the writer
        with any value.
        """
        where = pointer(path)
        for name, concerns in self.record.items():
            if any(self.wrote_at[concern](wrote, path, present) for concern, wrote in concerns.items()):
                return name
            if any(_is_below(where, each["path"]) for each in self._anything(name)):
                return name
        return None

    def patcher(self, path: Path) -> str | None:
        """Return the name of the first policy that wrote a path of a container's resources; None if no policy did.

        Only mutations that can write any field are searched, such as ``jsonPatch``. An operation is found if it wrote
        ``path`` itself or an object that contains it.
        """
        where = pointer(path)
        found = (name for name, each in self._all() if "/resources" in each["path"] and _is_below(where, each["path"]))
        return next(found, None)

    def operations(self, policy: str, path: Path) -> list[Mapping[str, Any]]:
        """Return the recorded JSON Patch operations of a policy at, above or below a path."""
        where = pointer(path)
        return [
            each for each in self._anything(policy) if _is_below(each["path"], where) or _is_below(where, each["path"])
        ]

    def removals(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return (policy, operation) for each recorded JSON Patch operation that removed a field."""
        return [(name, each) for name, each in self._all() if each["op"] == "remove"]

    def item_writer(self, path: Path, items: Sequence[Any], item_name: str) -> str | None:
        """Return the name of the first policy whose recorded operations wrote an item of a list; None if no policy did.

        Args:
            path: the path of the list.
            items: the list as the pod has it now; if an operation names an index, the item is looked up in this list.
            item_name: the value of the item's key ``name``.
        """
        for policy, each in self._all():
            if not _is_below(each["path"], pointer(path)):
                continue
            below = parse_pointer(each["path"])[len(path) :]
            if below and below[0].isdecimal():
                written = items[int(below[0]) : int(below[0]) + 1]
            else:
                written = each["value"] if isinstance(each.get("value"), list) else [each.get("value")]
            if any(isinstance(item, dict) and item.get("name") == item_name for item in written):
                return policy
        return None

    def _all(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return ((policy, each) for policy in self.record for each in self._anything(policy))

    def _anything(self, policy: str) -> list[Mapping[str, Any]]:
        return [each for concern in self.anything for each in self.record[policy].get(concern, ())]


def _is_below(where: str, above: str) -> bool:
    return where == above or where.startswith(above + "/")
