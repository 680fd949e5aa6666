"""Two policies that write one field with different values: found where the later one comes, and the earlier one stays.

What earlier policies wrote is what the record says. What a later policy may still write of its proposal is handed on;
what it may not is left out and told. That a policy read what an earlier one wrote is no conflict, nor is what adds to a
list or weighs a choice. Of lists and choices these can be written only one way:

- a resource of a container: both rewrite it to something else, or one rewrites what the other made of it;
- how long a NoExecute taint is borne. Tolerations are ORed, so another operator or value only lets the pod onto more
  nodes. But of those that match one taint the first in the list says how many seconds, and the others nothing
  (kubernetes pkg/controller/tainteviction; component-helpers GetMatchingTolerations);
- required node affinity that leaves no node (``narrowing``).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ..kube.patch import Draft, Path
from ..kube.paths import pointer
from ..kube.selector import covers
from . import (
    affinity,
    claims,
    colocation,
    environment,
    gang,
    names,
    narrowing,
    record,
    resources,
    tolerations,
    written,
)
from .change import Change, Proposal
from .containers import SIDES, containers
from .narrowing import Nodes
from .record import Record


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that a policy would write otherwise than one before it did."""

    path: str
    """A JSON Pointer, as far as one can be given."""
    other: str
    """The policy that wrote it first."""
    why: str = ""
    """What the path does not say already."""

    def __str__(self) -> str:
        """Say it to the user, behind the later policy's name."""
        why = f"{self.why}; " if self.why else ""
        return f"conflict with policy {self.other} at {self.path}: {why}{self.other} comes first and its value stays"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the policies before leave of a proposal."""

    conflicts: tuple[Conflict, ...]
    proposal: Proposal | None
    """What may be built all the same; None: nothing."""


def stand(draft: Draft, proposal: Proposal, policy: str, known: Record, nodes: Nodes) -> Standing:
    """Hold a proposal against what other policies wrote with another value.

    Raises:
        EvaluationError: a leaf's value is not what its builder needs. Not every such value is noticed here.
    """
    others = written.by_others(known, policy)
    rule = _RULES.get(proposal.concern)
    if not others or rule is None:
        return Standing((), proposal)
    conflicts, remains = rule(_Case(draft, proposal, others, nodes))
    return Standing(tuple(conflicts), remains)


def undone(before: Draft, after: Draft, change: Change, policy: str, known: Record) -> Conflict | None:
    """Return what of an earlier policy's a change that can write anything would undo."""
    claimed = record.held(before, written.by_others(known, policy))
    kept = record.held(after, claimed)
    for name, concerns in claimed.items():
        for concern in concerns:
            if concern not in kept.get(name, {}):
                return Conflict(_place(change.wrote, concern), name)
    return None


def revived(before: Draft, after: Draft, _: Change, policy: str, known: Record) -> Conflict | None:
    """Return what an earlier policy took away, by an operation that says so, and any other change puts there again."""
    for name, each in written.removals(written.by_others(known, policy)):
        claim: Record = {name: {"jsonPatch": [each]}}
        if record.held(before, claim) and not record.held(after, claim):
            return Conflict(each["path"], name)
    return None


@dataclass(frozen=True, slots=True)
class _Case:
    draft: Draft
    proposal: Proposal
    others: Record
    nodes: Nodes

    @property
    def value(self) -> Any:
        """The proposal's one leaf."""
        return self.proposal.leaves[""]

    def fields(self, wanted: Mapping[Path, object]) -> list[Conflict]:
        """Return a conflict for each field that has another policy's value and not the wanted one."""
        found: list[Conflict] = []
        for path, value in wanted.items():
            present = self.draft.get(path)
            if value not in (None, "") and present not in (None, value):
                other = written.writer(self.others, path, present)
                found += [Conflict(pointer(path), other)] if other is not None else []
        return found

    def kept(self, items: list[Any]) -> Proposal | None:
        """Return the proposal with these of its list's items; itself where they are all."""
        if not isinstance(self.value, list) or len(items) == len(self.value):
            return self.proposal
        return replace(self.proposal, leaves={"": items}) if items else None


_Answer: TypeAlias = tuple[list[Conflict], Proposal | None]


def _metadata(case: _Case) -> _Answer:
    proposal = case.proposal
    wanted: dict[Path, object] = {("metadata", proposal.concern, key): value for key, value in proposal.leaves.items()}
    return case.fields(wanted), proposal


def _name(field: names.Field) -> "_Rule":
    return lambda case: (case.fields({names.FIELDS[field]: case.value}), case.proposal)


def _gang(case: _Case) -> _Answer:
    """Hold system, name and size; of a gang that the pod does not join nothing is written, nor its size."""
    name, size, system = (case.proposal.leaves.get(leaf) for leaf in ("name", "size", "system"))
    joined = {path: case.draft.get(path) for each, path in gang.REFERENCES.items() if system and each != system}
    others = ((path, written.writer(case.others, path, found)) for path, found in joined.items() if found)
    first = next(((path, other) for path, other in others if other is not None), None)
    if first is not None:
        return [Conflict(pointer(first[0]), first[1])], None
    grouped = case.draft.get(gang.SCHEDULING_GROUP)
    named = case.fields({gang.MEMBERSHIP["schedulingGroup" if grouped else "label"]: name})
    if named:
        return named, None
    # A group that is there has a size of its own. One that podberth makes has the size that its members say.
    said = not grouped or any("size" in concerns.get("gang", ()) for concerns in case.others.values())
    sized = said and isinstance(size, int) and size > 0
    return case.fields({gang.MEMBERSHIP["size"]: str(size)} if sized else {}), case.proposal


def _topology(case: _Case) -> _Answer:
    """Hold level and mode: a preference for what is required already is met. A slice and its gang are two things.

    Of what can write anything, that it wrote pod affinity is all that can be compared.
    """
    level, mode, every = (case.proposal.leaves.get(leaf) for leaf in ("level", "mode", "slice"))
    slices = isinstance(every, int) and every > 1
    wanted = {"sliceLevel": level, "slice": str(every)} if slices else {"level": level}
    member, drawn = case.draft.get(gang.MEMBERSHIP["label"]), case.draft.get(colocation.COLOCATED)
    if level in ("", None) or not member:
        return [], case.proposal
    for name, concerns in case.others.items():
        wrote = concerns.get("topology")
        if wrote is not None and not wanted.keys() <= wrote.keys():
            continue
        if wrote is not None:
            held = wrote.get("sliceMode" if slices else "mode") in (mode, "required")
            said = held and wanted.items() <= wrote.items()
            return ([], case.proposal) if said else ([Conflict(pointer(colocation.POD_AFFINITY), name)], None)
        affinity_there = case.draft.get(colocation.REQUIRED) or case.draft.get(colocation.PREFERRED)
        if affinity_there and not drawn and written.operations(concerns, colocation.POD_AFFINITY):
            return [Conflict(pointer(colocation.POD_AFFINITY), name)], None
    return case.fields({colocation.COLOCATED: member}), case.proposal


def _env(case: _Case) -> _Answer:
    found: list[Conflict] = []
    for path, container in containers(case.draft):
        label = container.get("name") or ""
        for item in environment.variables(container):
            variable = str(item.get("name"))
            if case.proposal.leaves.get(variable) in (None, item.get("value")):
                continue
            wrote = {name: each.get("env", {}).get(label, {}) for name, each in case.others.items()}
            other = next((name for name, values in wrote.items() if variable in values), None)
            other = other or written.item_writer(case.others, (*path, "env"), container["env"], variable)
            found += [Conflict(f"env {variable} of container {label}", other)] if other is not None else []
    return found, case.proposal


def _claims(case: _Case) -> _Answer:
    found: list[Conflict] = []
    kept: list[Any] = []
    wrote = {item["name"]: name for name, each in case.others.items() for item in each.get("resourceClaims", ())}
    present = case.draft.get(claims.PATH) or []
    templates = claims.templates(case.draft)
    for item in _items(case.value):
        claim = item.get("name") if isinstance(item, dict) else None
        there = templates.get(claim) if isinstance(claim, str) else None
        other = None
        if isinstance(claim, str) and there not in (None, item.get("template")):
            other = wrote.get(claim) or written.item_writer(case.others, claims.PATH, present, claim)
        if other is None:
            kept.append(item)
        else:
            found.append(Conflict(f"{pointer(claims.PATH)} {claim}", other))
    return found, case.kept(kept)


def _resources(case: _Case) -> _Answer:
    found: list[Conflict] = []
    kept: list[Any] = []
    paths = resources.container_paths(case.draft)
    for item in _items(case.value):
        named = item.get("container") if isinstance(item, dict) else None
        path = paths.get(named) if isinstance(named, str) else None
        conflict = _rewritten(case, item, path) if path is not None else None
        if conflict is None:
            kept.append(item)
        else:
            found.append(conflict)
    return found, case.kept(kept)


def _rewritten(case: _Case, item: dict[str, Any], path: Path) -> Conflict | None:
    container, old, new = (item.get(key) for key in ("container", "from", "to"))
    if not isinstance(old, str) or old == new:
        return None
    sides = [(*path, "resources", side) for side in SIDES]
    present = [(*side, old) for side in sides if old in (case.draft.get(side) or {})]
    place = f"{pointer((*path, 'resources'))} {old}"
    for name, concerns in case.others.items():
        rewrites = [each for each in concerns.get("resources", ()) if each["container"] == container]
        if any(resources.differ(each, item) for each in rewrites if present or each["from"] == old):
            return Conflict(place, name)
    other = next(filter(None, (written.patcher(case.others, field) for field in present)), None)
    return Conflict(place, other) if other is not None else None


def _tolerations(case: _Case) -> _Answer:
    wrote = {
        record.key_of(item): name for name, concerns in case.others.items() for item in concerns.get("tolerations", ())
    }
    if not wrote:
        return [], case.proposal
    found: list[Conflict] = []
    kept: list[Any] = []
    for item in _items(case.value):
        first = _first(case.draft.get(tolerations.PATH) or (), item, wrote) if isinstance(item, dict) else None
        if first is None:
            kept.append(item)
            continue
        key, effect = item.get("key"), tolerations.EVICT
        found.append(Conflict(f"{pointer(tolerations.PATH)} tolerationSeconds of {key}:{effect}", wrote[first[0]]))
        if not first[1]:
            kept.append(item)
    return found, case.kept(kept)


def _first(present: Iterable[dict[str, Any]], item: dict[str, Any], wrote: Mapping[bytes, str]) -> Any:
    """Return the key of the policy's toleration that says in the place of ``item`` how long a taint is borne.

    Beside it, whether it says so of every taint that ``item`` is for.
    """
    ours = tolerations.evicting(item)
    if ours is None:
        return None
    for each in present:
        theirs = tolerations.evicting(each)
        if theirs is None or not (covers(theirs, ours) or covers(ours, theirs)):
            continue
        key, whole = record.key_of(each), covers(theirs, ours)
        if key in wrote and each.get("tolerationSeconds") != item.get("tolerationSeconds"):
            return key, whole and item.get("effect") == tolerations.EVICT
        if whole:
            return None
    return None


def _node_affinity(case: _Case) -> _Answer:
    rival = narrowing.rival(case.draft, case.proposal.leaves, case.others, case.nodes)
    if rival is None:
        return [], case.proposal
    return [Conflict(pointer(affinity.NODE_AFFINITY), rival.policy, rival.why)], None


def _items(value: object) -> list[Any]:
    """Return a list's items; what is no list is for the builder to refuse."""
    return value if isinstance(value, list) else []


def _place(operations: Iterable[Mapping[str, Any]], concern: str) -> str:
    """Return where a change meets a concern: the written paths whose last steps say so, else all of them."""
    paths = [each["path"] for each in operations]
    return ", ".join([path for path in paths if f"/{concern}" in path] or paths)


_Rule: TypeAlias = Callable[[_Case], _Answer]
_RULES: Mapping[str, _Rule] = {
    "labels": _metadata,
    "annotations": _metadata,
    "env": _env,
    **{field: _name(field) for field in names.FIELDS},
    "resourceClaims": _claims,
    "gang": _gang,
    "topology": _topology,
    "resources": _resources,
    "tolerations": _tolerations,
    "nodeAffinity": _node_affinity,
}
"""Of each concern: what other policies stand in the way of. What can write anything is judged by what it undoes."""
