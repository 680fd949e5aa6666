"""Compare podberth's gangs with the hand count of tests/precision/gangs.jsonl.

    .venv/bin/python tools/judge_gangs.py FOLDER

FOLDER holds the manifests as for tools/judge_findings.py; workloads whose manifest it lacks are left out. For each
workload the command prints what differs in name, size, roles and accelerated members, and why a number is unknown; then
how many agree in each. Exits with 1 if one differs.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from podberth.kube.pod import controller
from podberth.workload.gangs import Gang, gang_of
from podberth.workload.templates import Template, templates

GANGS: Final = Path(__file__).parents[1] / "tests/precision/gangs.jsonl"
ASPECTS: Final = ("name", "size", "roles", "accelerated")
UNKNOWN: Final = "unknown"
NONE: Final = "none"
# A part that only the cluster knows: <5 random> in the hand count, podberth's placeholder of zeros
_GENERATED: Final = re.compile(r"<[^>]*>")
_AT_END: Final = re.compile(r"-?<[^>]*>$")
_PLACEHOLDER: Final = re.compile(r"0{5,}")
_SAME_ROLES: Final = {"headgroup": "head", "node": "trainer"}
"""The names that podberth has for roles, by the operator's name for their pods."""
_FURTHER: Final = re.compile(r" \(.*\)$")


class Counted(NamedTuple):
    """The gang of a workload: a hand count's or podberth's. A number is ``unknown`` if it is not known."""

    names: tuple[str, ...]
    """The names that the gang of a pod may have; empty: the pods are no gang."""
    size: int | str
    roles: Mapping[str, int | str]
    accelerated: int | str
    gangs: int = 1
    """The number of gangs that the workload makes, alike; ``roles`` are those of all in podberth's count."""
    reasons: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None, gangs: Path = GANGS) -> int:
    """Compare, print and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    verdicts: Counter[tuple[str, str]] = Counter()
    for line in gangs.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        file = options.folder / entry["repository"].replace("/", "+", 1) / entry["path"]
        if not file.is_file():
            continue
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
        made = counted(documents[entry["document"]], [each for each in documents if each])
        judged = compared(by_hand(entry), made)
        verdicts.update(judged.items())
        apart = "; ".join(f"{aspect} {verdict}" for aspect, verdict in judged.items() if verdict != "equal")
        print(f"{entry['kind']} {entry['name']}: {apart or 'equal'}{_because(made)}")
    for aspect in ASPECTS:
        print(f"{aspect}: {', '.join(f'{n} {v}' for v, n in _summed(verdicts, aspect).items())}")
    return 1 if any(verdict.startswith("got") for _, verdict in verdicts) else 0


def by_hand(entry: Mapping[str, Any]) -> Counted:
    """Return the hand count of one line of gangs.jsonl."""
    names = _FURTHER.sub("", entry["name"]).removeprefix("job-name ").removeprefix("multi-node ").split(" and ")
    wanted = () if names == [NONE] else tuple(names)
    return Counted(wanted, entry["size"], entry["roles"], entry["accelerated"], entry["gangs"])


def counted(document: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> Counted:
    """Return podberth's count of a workload. ``known`` are the documents beside it."""
    made = templates(document, namespace="default", known=known)
    gangs = [gang_of(each.pod, "default", each.owners) for each in made]
    members = [gang for gang in gangs if gang.known]
    sizes = {gang.size or UNKNOWN for gang in members}
    accelerated = {gang.accelerated if gang.size else UNKNOWN for gang in members}
    # A gang that no group names has its owner's uid in its name: then the owner's name is the gang's
    stated = [
        str(document["metadata"].get("name", "")),
        *(owner.name for each in made if (owner := controller(each.pod))),
    ]
    names = tuple(dict.fromkeys([*(gang.name for gang in members), *(stated if members else ())]))
    roles: Counter[str] = Counter()
    for each in made:
        roles[each.role.lower()] += each.replicas
    return Counted(names, _one(sizes), roles, _one(accelerated), reasons=tuple(_reasons(made, gangs)))


def compared(want: Counted, made: Counted) -> dict[str, str]:
    """Return for each aspect ``equal``, ``unknown`` (with a reason), or ``got X, want Y``.

    A single pod is a gang for neither, whatever it is called.
    """
    if want.size in {NONE, 1} and made.size in {NONE, 1}:
        return dict.fromkeys(ASPECTS, "equal")
    found = {
        "name": "equal" if _is_named(want, made) else f"got {list(made.names)}, want {list(want.names)}",
        "size": _number(want.size, made.size, made.reasons),
        "accelerated": _number(want.accelerated, made.accelerated, made.reasons),
    }
    found["roles"] = "equal" if _are_roles(want, made) else f"got {dict(made.roles)}, want {dict(want.roles)}"
    return {aspect: found[aspect] for aspect in ASPECTS}


def _is_named(want: Counted, made: Counted) -> bool:
    """Whether a name of podberth's is one of the hand count, but for the kind before it and what is generated."""
    return want.names == made.names or any(
        re.fullmatch(rf"([a-z]+-)?{_pattern(known.partition('-')[2], _PLACEHOLDER)}", name)
        or re.fullmatch(rf"([a-z]+-)?{re.escape(known)}", _AT_END.sub("", name))
        or re.fullmatch(rf"([a-z]+-)?{_pattern(name, _GENERATED)}", known)
        for name in want.names
        for known in made.names
        if known
    )


def _are_roles(want: Counted, made: Counted) -> bool:
    """Whether podberth has each role of the hand count, or one template for the pods of all.

    Of several gangs of a workload, a role is in each or only in the first.
    """
    wanted = {_SAME_ROLES.get(role.lower(), role.lower()): n for role, n in want.roles.items() if isinstance(n, int)}
    if made.roles.keys() == {""}:
        return made.roles[""] in {sum(wanted.values()), sum(wanted.values()) * want.gangs}
    counted_roles = {_SAME_ROLES.get(role, role): n for role, n in made.roles.items()}
    return all(counted_roles.get(role) in {n, n * want.gangs} for role, n in wanted.items())


def _pattern(name: str, generated: re.Pattern[str]) -> str:
    return ".+".join(re.escape(part) for part in generated.split(name))


def _number(want: int | str, made: int | str, reasons: Sequence[str]) -> str:
    if want == made:
        return "equal"
    return UNKNOWN if made == UNKNOWN and reasons else f"got {made}, want {want}"


def _one(numbers: set[int | str]) -> int | str:
    """Return the number that all pods agree about: ``none`` if no pod has a gang."""
    if not numbers:
        return NONE
    return numbers.pop() if len(numbers) == 1 else UNKNOWN


def _reasons(made: Iterable[Template], gangs: Iterable[Gang]) -> Iterable[str]:
    for template, gang in zip(made, gangs, strict=True):
        yield from template.problems
        yield from gang.problems
        yield from (f"lacks {each}" for each in sorted(template.lacks))


def _because(made: Counted) -> str:
    return f" ({'; '.join(dict.fromkeys(made.reasons))})" if UNKNOWN in {made.size, made.accelerated} else ""


def _summed(verdicts: Mapping[tuple[str, str], int], aspect: str) -> Counter[str]:
    summed: Counter[str] = Counter()
    for (each, verdict), number in verdicts.items():
        if each == aspect:
            summed["different" if verdict.startswith("got") else verdict] += number
    return summed


if __name__ == "__main__":
    sys.exit(main())
