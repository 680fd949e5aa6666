"""Write the tables of docs/systems.md: every system and operator whose pods podberth knows, from the code's tables.

.venv/bin/python tools/system_page.py           # writes what has changed
.venv/bin/python tools/system_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import sys
from collections.abc import Iterable, Iterator, Sequence

from generated import ROOT, main, spliced

from podberth.kinds.dossier import Dossier, KindNote
from podberth.kinds.dossiers import DOSSIERS
from podberth.kinds.members import Membership
from podberth.kinds.systems import System
from podberth.workload.kinds import KINDS
from podberth.workload.memberships import LAST, NOTES, OPERATORS, notes_of
from podberth.workload.systems import NO_SYSTEM, SYSTEMS

# The tests themselves say what is proved.
sys.path.insert(0, str(ROOT / "tests"))

import proofs

PAGE = "docs/systems.md"
_ROWS = (*OPERATORS, *LAST)
_EACH_ALONE = NOTES[""]
_SYSTEMS = (*SYSTEMS, NO_SYSTEM)


_NO_ADVICE = "nothing: whether it can follow depends on objects that podberth does not follow"


def _parts() -> dict[str, str]:
    return {
        "systems": _table(
            ("system", "recognised by", "reads from the pod", "written where: on the pod", "once run beside", "proved"),
            [
                (
                    f"{row.title} (`{row.name}`)",
                    _signs(row),
                    _lines(row.reads),
                    row.writes or "nothing of gangs",
                    row.run or ("by the tests, always" if "scheduler" in proofs.of_system(row) else "no"),
                    proofs.of_system(row),
                )
                for row in _SYSTEMS
            ],
        ),
        "elsewhere": _table(
            (
                "system",
                "reads from another object",
                "the warning says, for topology",
                "hashes or copies: left alone",
                "tolerations of the moment",
            ),
            [
                (
                    f"`{row.name}`",
                    _lines(row.elsewhere) or "nothing",
                    _advice(row),
                    row.keeps or "nothing",
                    _tolerated(row),
                )
                for row in _SYSTEMS
            ],
        ),
        "operators": _table(
            ("made by", "recognised by", "role from", "size from", "written where", "left alone", "proved"),
            [*_operators(), *map(_alone, _EACH_ALONE)],
        ),
        "groups": _table(
            ("group", "recognised by", "size from", "written where", "left alone", "proved"),
            _groups(),
        ),
        "sources": _table(("row", "source"), dict.fromkeys(_sources())),
        "versions": _table(
            ("facts about", "read in"),
            [(row.name, ", ".join(f"{key} {version}" for key, version in _versions(row))) for row in DOSSIERS],
        ),
    }


def _operators() -> Iterator[tuple[str, ...]]:
    """Yield a row for each kind: it has the key of its table's row, and the rest of it that is not its own."""
    for row in _ROWS:
        role = f"label `{row.role}`" if row.role else row.role_from or "none"
        for note in notes_of(row):
            size = note.size or row.size
            yield note.name, _keys(row), role, size, _written(note), note.keeps, proofs.of_note(note)


def _alone(note: KindNote) -> tuple[str, ...]:
    size = "none: no gang, each pod by itself"
    return note.name, note.sign, "none", size, _written(note), note.keeps, proofs.of_note(note)


def _groups() -> Iterator[tuple[str, ...]]:
    for each in DOSSIERS:
        if each.system is not None:
            yield from (_group(row, each.system) for row in each.groups)


def _group(row: Membership, system: System) -> tuple[str, ...]:
    joined = f"{_keys(row)}, where a policy chooses the system"
    written = joined if proofs.is_written(row, system) else "nothing: the pod says it already"
    return row.name, _keys(row), row.size, written, system.keeps or "the group itself", proofs.of_group(row, system)


def _written(note: KindNote) -> str:
    """Say where podberth writes, and of what place in its author's object it warns."""
    places = note.templates or ", ".join(dict.fromkeys(_templates(note.kind)))
    return f"the pod; warnings name {places}" if places else "the pod"


def _templates(kind: str) -> Iterator[str]:
    group, _, name = kind.rpartition("/")
    for row in KINDS:
        if row.kind == name and any(version.rpartition("/")[0] == group for version in row.api_versions):
            yield from (f"`{'.'.join(map(str, place.path))}`" for place in row.places)


def _versions(row: Dossier) -> Iterator[tuple[str, str]]:
    """Yield each repository with its version; ``after`` gets brackets, so that the list reads as one."""
    for repository, version in row.versions.items():
        commit, _, rest = version.partition(", after ")
        yield repository, f"{commit} (after {rest})" if rest else version


def _sources() -> Iterator[tuple[str, str]]:
    yield from ((row.title, row.source) for row in _SYSTEMS)
    for row in _ROWS:
        yield from ((note.name, f"{row.source}; left alone: {note.source}") for note in notes_of(row))
    yield from ((note.name, note.source) for note in _EACH_ALONE)
    yield from ((row.name, row.source) for each in DOSSIERS for row in each.groups)


def _keys(row: Membership) -> str:
    found = [
        *([f"label `{row.label}`"] if row.label else []),
        *([f"annotation `{row.annotation}`"] if row.annotation else []),
        *([f"`spec.{row.field}`"] if row.field else []),
    ]
    return " or ".join(found)


def _advice(row: System) -> str:
    return "; of pods that name no group ".join(filter(None, (row.topology, row.alone_topology))) or _NO_ADVICE


def _tolerated(row: System) -> str:
    if not row.keeps:
        return "written"
    return f"written: {row.tolerates}" if row.tolerates else "left out where it copies the pod, with a line"


def _signs(row: System) -> str:
    """Say by what a system is recognised; its labels and annotations stand in labels.md, one by one."""
    found = [f"`schedulerName: {each}`" for each in sorted(row.schedulers)]
    found += [f"`spec.{each}`" for each in sorted(row.fields)]
    for kind, keys in (
        ("labels", row.labels),
        ("annotations", row.annotations),
        ("labels of owners", row.owner_labels),
    ):
        domains = sorted({key.partition("/")[0] for key in keys})
        found += [f"{kind} of `{'`, `'.join(domains)}`"] if domains else []
    return "; ".join(found) or "none of these"


def _lines(texts: Iterable[str]) -> str:
    return "; ".join(texts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, _parts())}))
