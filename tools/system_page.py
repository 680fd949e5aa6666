"""Write the tables of docs/systems.md: every system and operator whose pods podberth knows, from the code's tables.

.venv/bin/python tools/system_page.py           # writes what has changed
.venv/bin/python tools/system_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from generated import main, spliced

from podberth.workload.groups import GROUP_ROWS
from podberth.workload.operators import DECLARED_SET, INDEXED_JOB, OPERATOR_ROWS
from podberth.workload.subject import Row
from podberth.workload.systems import SYSTEMS, System

PAGE = "docs/systems.md"

_PODS: Final = "pods"
_CRD: Final = "pods, CRD"
_SCHEDULER: Final = "pods, scheduler"
_CRD_SCHEDULER: Final = "pods, CRD, scheduler"
_OPERATOR: Final = "pods, CRD, scheduler, operator"
_CONTROLLER: Final = "pods, scheduler, operator"

PROVED: Final[Mapping[str, str]] = {
    "native": _SCHEDULER,
    "RoleBasedGroup (v1alpha2)": _SCHEDULER,
    "JobSet": _OPERATOR,
    "PyTorchJob": _OPERATOR,
    "Volcano Job": _CRD,
    "RayCluster": _CRD_SCHEDULER,
    "LeaderWorkerSet": _CRD_SCHEDULER,
    "PodCliqueSet": _CRD_SCHEDULER,
    "InferenceService": _CRD_SCHEDULER,
    "Spark application": _SCHEDULER,
    "Indexed Job": _CONTROLLER,
    "StatefulSet": _CONTROLLER,
}
"""What is proved by more than pods, by the beginning of a row's name; what the words mean stands on the page."""


def _parts() -> dict[str, str]:
    rows = (*OPERATOR_ROWS, INDEXED_JOB, DECLARED_SET, *GROUP_ROWS)
    names = [*(row.name for row in SYSTEMS), *(row.name for row in rows)]
    stale = [start for start in PROVED if not any(name.startswith(start) for name in names)]
    if stale:
        raise ValueError(f"tools/system_page.py: PROVED: got {', '.join(stale)}, want beginnings of rows' names")
    return {
        "systems": _table(
            ("system", "recognised by", "reads from the pod", "podberth writes", "proved"),
            [
                (
                    f"{row.title} (`{row.name}`)",
                    _signs(row),
                    _lines(row.reads),
                    row.writes or "nothing",
                    _proof(row.name),
                )
                for row in SYSTEMS
            ],
        ),
        "elsewhere": _table(
            ("system", "reads from another object", "the warning says, for topology", "hashes or copies: left alone"),
            [(f"`{row.name}`", _lines(row.elsewhere), row.topology, row.keeps or "nothing") for row in SYSTEMS],
        ),
        "operators": _table(
            ("made by", "recognised by", "role from", "size from", "proved"),
            [_operator(row) for row in (*OPERATOR_ROWS, INDEXED_JOB, DECLARED_SET)],
        ),
        "groups": _table(
            ("group", "recognised by", "size from", "proved"),
            [(row.name, _keys(row), row.size, _proof(row.name)) for row in GROUP_ROWS],
        ),
        "sources": _table(
            ("row", "source"),
            dict.fromkeys([*((row.title, row.source) for row in SYSTEMS), *((row.name, row.source) for row in rows)]),
        ),
    }


def _operator(row: Row) -> tuple[str, ...]:
    role = f"label `{row.role}`" if row.role else row.role_from or "none"
    return row.name, _keys(row), role, row.size, _proof(row.name)


def _keys(row: Row) -> str:
    found = [
        *([f"label `{row.label}`"] if row.label else []),
        *([f"annotation `{row.annotation}`"] if row.annotation else []),
        *([f"`spec.{row.field}`"] if row.field else []),
    ]
    return " or ".join(found)


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
    return "; ".join(found)


def _proof(name: str) -> str:
    return next((proof for start, proof in PROVED.items() if name.startswith(start)), _PODS)


def _lines(texts: Iterable[str]) -> str:
    return "; ".join(texts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, _parts())}))
