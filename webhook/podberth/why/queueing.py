"""The systems that hold pods by scheduling gates and queues, for the texts of diagnoses.

The systems come from all dossiers, whose import takes time. So this module is imported only if something holds the pod.
"""

from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.queues import QueuedKind

QUEUED: Final[dict[str, QueuedKind]] = {row.name: row.queued for row in DOSSIERS if row.queued is not None}
"""A mapping from a system's name to the kind of object that says whether the system's queue has admitted a workload."""
_OWNERS: Final = {domain: row.name for row in DOSSIERS for domain in row.gates}


def owner_of(gate: str) -> str:
    """Return the name of the system that set a scheduling gate.

    If no dossier knows the gate, the result is the gate's domain.
    """
    domain, slash, _ = gate.partition("/")
    return _OWNERS.get(domain, domain) if slash else "an unknown controller"
