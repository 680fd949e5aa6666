"""The mutation ``schedulerName``: sets the scheduler's name if the user has not set one.

A pod may have labels of a group system without naming the system's scheduler. The system schedules the pod only if a
policy writes that name. For a plugin whose scheduler has any name, the policy knows the name.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...kube.patch import Draft
from ...workload.systems import BY_NAME
from .. import names
from ..change import Change, Proposal
from ..concern import Surroundings
from ..membership import GangFacts

# core/v1 DefaultSchedulerName, which the API server fills in
DEFAULT_SCHEDULER = "default-scheduler"
_PATH = ("spec", "schedulerName")


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | None:
    """Write the scheduler's name that the policy gives, and return the change; None if no name is written.

    If the pod's group system has schedulers of its own, only the name of one of these schedulers is written.
    """
    name = names.wanted(draft, "schedulerName", proposal.leaves[""], DEFAULT_SCHEDULER)
    own = _schedulers(surroundings.gang())
    return names.put(draft, "schedulerName", name if not own or name in own else "")


def _schedulers(facts: GangFacts) -> Collection[str]:
    """Return the names of the schedulers of the pod's group system; empty if the system has no scheduler of its own."""
    row = BY_NAME.get(facts.gang.system)
    return () if row is None else row.schedulers


def _restore(draft: Draft, before: Draft, changes: Sequence[str]) -> bool:
    """Write the old name again if the update has the default scheduler, which the manifest of a pod may name."""
    name = before.get(_PATH)
    if name not in changes or draft.get(_PATH) != DEFAULT_SCHEDULER:
        return False
    draft.set(_PATH, name)
    return True


CONCERN = replace(
    names.concern("schedulerName", default=DEFAULT_SCHEDULER, build=_build, decides="grouping"),
    restore=_restore,
    in_group=lambda _, facts: bool(_schedulers(facts)) or BY_NAME[facts.gang.system].names_scheduler,
)
