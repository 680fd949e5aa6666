"""The mutation ``schedulerName``: sets the scheduler's name if the user has not set one.

A pod may have keys of a group system whose scheduler it does not name: the system then schedules it only once somebody
writes the scheduler's name, and a policy may.
"""

from dataclasses import replace

from ...kube.patch import Draft
from ...workload.systems import BY_NAME
from .. import names
from ..membership import GangFacts

# core/v1 DefaultSchedulerName, which the API server fills in
DEFAULT_SCHEDULER = "default-scheduler"


def _awaits_its_scheduler(draft: Draft, facts: GangFacts) -> bool:
    """Return whether the pod's group system has schedulers of its own, and the pod names no scheduler yet."""
    row = BY_NAME.get(facts.gang.system)
    unnamed = draft.get(("spec", "schedulerName")) in (None, "", DEFAULT_SCHEDULER)
    return unnamed and row is not None and bool(row.schedulers)


CONCERN = replace(
    names.concern("schedulerName", default=DEFAULT_SCHEDULER, decides="grouping"), in_group=_awaits_its_scheduler
)
