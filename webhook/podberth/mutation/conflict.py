"""Two policies that write one field with different values: found where the later one comes, and the earlier one stays.

What earlier policies wrote is what the record says. Concerns that add to a list or narrow a choice do not conflict.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..kube.patch import Draft, Path
from ..kube.paths import pointer
from . import claims, names, record
from .change import Change, Proposal
from .record import Record


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that a policy would write otherwise than one before it did."""

    path: str
    """A JSON Pointer, as far as one can be given."""
    other: str
    """The policy that wrote it first."""

    def __str__(self) -> str:
        """Say it to the user, behind the later policy's name."""
        return f"conflict with policy {self.other} at {self.path}: {self.other} comes first and its value stays"


def overruled(draft: Draft, proposal: Proposal, policy: str, known: Record) -> list[Conflict]:
    """Return where a proposal is not followed because an earlier policy wrote another value."""
    others = {name: concerns for name, concerns in known.items() if name != policy}
    if not others:
        return []
    match proposal.concern:
        case "labels" | "annotations" as field:
            wanted: dict[Path, object] = {("metadata", field, key): each for key, each in proposal.leaves.items()}
            return list(_fields(draft, wanted, others))
        case "schedulerName" | "runtimeClassName" | "priorityClassName" as field:
            return list(_fields(draft, {names.FIELDS[field]: proposal.leaves[""]}, others))
        case "env":
            return list(_env(proposal.leaves, others))
        case "resourceClaims":
            return list(_claims(draft, proposal.leaves[""], others))
        case _:
            return []


def undone(before: Draft, after: Draft, change: Change, policy: str, known: Record) -> Conflict | None:
    """Return what of an earlier policy's a change that can write anything would undo."""
    claimed = record.held(before, {name: concerns for name, concerns in known.items() if name != policy})
    kept = record.held(after, claimed)
    for name, concerns in claimed.items():
        for concern in concerns:
            if concern not in kept.get(name, {}):
                return Conflict(_place(change.wrote, concern), name)
    return None


def _fields(draft: Draft, wanted: Mapping[Path, object], others: Record) -> Iterator[Conflict]:
    for path, value in wanted.items():
        present = draft.get(path)
        if value in (None, "") or present in (None, value):
            continue
        for name, concerns in others.items():
            if _wrote(concerns, path, present):
                yield Conflict(pointer(path), name)
                break


def _wrote(concerns: Mapping[str, Any], path: Path, present: object) -> bool:
    """Say whether a policy's part of the record has the value that stands at a path."""
    field, key = path[-2:]
    own = concerns.get(str(key)) if field == "spec" else (concerns.get(str(field)) or {}).get(key)
    where = pointer(path)
    written = [*concerns.get("applyConfiguration", ()), *concerns.get("jsonPatch", ())]
    return own == present or any(where == each["path"] or where.startswith(each["path"] + "/") for each in written)


def _env(leaves: Mapping[str, Any], others: Record) -> Iterator[Conflict]:
    for name, concerns in others.items():
        for container, values in concerns.get("env", {}).items():
            for variable, value in values.items():
                if leaves.get(variable) not in (None, value):
                    yield Conflict(f"env {variable} of container {container}", name)


def _claims(draft: Draft, value: Any, others: Record) -> Iterator[Conflict]:
    wanted = {item.get("name"): item.get("template") for item in value if isinstance(item, dict)}
    for name, concerns in others.items():
        for item in concerns.get("resourceClaims", ()):
            claim = item["name"]
            if wanted.get(claim) not in (None, claims.template_of(draft, claim)):
                yield Conflict(f"{pointer(claims.PATH)} {claim}", name)


def _place(operations: Iterable[Mapping[str, Any]], concern: str) -> str:
    """Return where a change meets a concern: the written paths whose last steps say so, else all of them."""
    paths = [each["path"] for each in operations]
    return ", ".join([path for path in paths if f"/{concern}" in path] or paths)
