"""What is proved of each kind and system, in the words of docs/systems.md: by the tables that the tests run over.

"pods": tests/unit/workload; "CRD": tests/e2e/test_operators.py, or test_controller.py for groups; "scheduler" and
"operator": tests/e2e/operators. A kind that leaves one of these tables loses the word, and the page is stale.
"""

from typing import Final

from crds import GROUP_CRDS, SERVED
from e2e.operators.makers import RUN_HERE
from e2e.operators.pods_as_made import AS_MADE
from operator_pods import ALONE, CASES, GROUPED
from podberth.kinds.dossier import KindNote
from podberth.kinds.members import Membership
from podberth.kinds.systems import System
from podberth.kube.unchecked import at
from podberth.workload.systems import NATIVE

_PODS: Final = {case.maker for case in CASES} | {name for name, _, _ in ALONE}
_PLAYED: Final = {each.row for each in (*RUN_HERE, *AS_MADE)}
_MADE_HERE: Final = {each.row for each in RUN_HERE}
# Every system's own words are tested on a pod in test_workload.py; of schedulers Kubernetes' own alone runs.
_SCHEDULERS: Final = {NATIVE}
_CRDS_OF_GROUPS: Final = {file.rpartition("/")[2].partition("_")[0] for file in GROUP_CRDS}


def of_note(note: KindNote) -> str:
    """Return what is proved of a kind; empty: nothing is."""
    return _said(
        pods=note.name in _PODS,
        crd=note.kind in SERVED,
        scheduler=note.name in _PLAYED,
        operator=note.name in _MADE_HERE,
    )


def of_system(system: System) -> str:
    """Return what is proved of a system."""
    return _said(pods=True, crd=system.pod_groups in _CRDS_OF_GROUPS, scheduler=system.name in _SCHEDULERS)


def of_group(row: Membership, system: System) -> str:
    """Return what is proved of a way of naming a group."""
    pods = any(at(document, *row.steps) for document, _ in GROUPED)
    # The controller makes the groups that podberth has pods name; the rest is made by others.
    crd = is_written(row, system) and any(group in _CRDS_OF_GROUPS for group in row.api_groups)
    return _said(pods=pods, crd=crd, scheduler=is_written(row, system) and system.name in _SCHEDULERS)


def is_written(row: Membership, system: System) -> bool:
    """Return whether podberth itself writes the key of a group, by what its system says about that."""
    key = f"label `{row.label}`" if row.label else f"`spec.{row.field}."
    return key in system.writes and not row.annotation


def _said(**words: bool) -> str:
    return ", ".join("CRD" if word == "crd" else word for word, proved in words.items() if proved)
