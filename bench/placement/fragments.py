"""GPU fragmentation as Weng et al. define it: "Beware of Fragmentation", USENIX ATC 2023, section 3.

F_n(m) is how much of the unallocated GPUs of node n a task of class m cannot be given. Where the node cannot run the
task, for want of CPU, memory, GPUs or leave, or the task wants no GPU, that is all of them; else it is those that are
too small for it. F_n is its mean over the workload's classes by their share, and a cluster's is the sum of its nodes'.

The paper's GPUs can be shared as one likes. A device plugin's cannot: what is "too small" there is "of another
resource" here. A free 3g.20gb instance is a fragment to a pod that asks for 2g.10gb or for a whole GPU, and counts as
the half of a GPU that it is. Of a GPU that can be cut as pods come, what is left is too small for a class if no device
that would do can be had of it. A class is what pods ask for when they come out of admission.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .accounts import Account, Ask, Sort, allowed, serves
from .overlay import Machine


@dataclass(frozen=True, slots=True)
class _Class:
    ask: Ask
    share: float
    nodes: frozenset[str] | None
    """Where it may run; None: everywhere."""


class Fragmentation:
    """Measures accounts by one workload; what has not changed since the last time is not measured again."""

    def __init__(self, workload: Sequence[Ask], machines: Sequence[Machine]) -> None:
        """Sum the workload up into classes."""
        terms = {ask.terms for ask in workload if ask.terms}
        leave = {each: allowed(json.loads(each), machines) for each in terms}
        self._classes: dict[Sort, list[_Class]] = {}
        for ask, count in Counter(workload).items():
            found = _Class(ask, count / len(workload), leave.get(ask.terms))
            self._classes.setdefault(ask.sort, []).append(found)
        self._known: dict[str, tuple[tuple[int, int, int], float]] = {}

    def of(self, account: Account) -> float:
        """Return F_n in GPUs."""
        # Devices only ever go: as many as before are the same as before.
        state = (account.cpu_milli, account.memory_mib, len(account.free))
        before = self._known.get(account.machine.name)
        if before is None or before[0] != state:
            before = self._known[account.machine.name] = (state, self._measured(account))
        return before[1]

    def _measured(self, account: Account) -> float:
        shares = {sort: self._share(account, sort) for sort in self._classes}
        usable = sum(
            size * sum(share for sort, share in shares.items() if any(serves(unit, sort) for unit in units))
            for size, units in account.lumps()
        )
        return account.free_gpus - usable

    def _share(self, account: Account, sort: Sort) -> float:
        """Return the share of the workload that devices of this sort on this node can be given to."""
        count = account.count(sort)
        return sum(
            each.share
            for each in self._classes[sort]
            if each.ask.cpu_milli <= account.cpu_milli
            and each.ask.memory_mib <= account.memory_mib
            and each.ask.count <= count
            and (each.nodes is None or account.machine.name in each.nodes)
        )
