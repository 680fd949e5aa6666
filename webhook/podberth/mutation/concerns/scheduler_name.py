"""The scheduler's name."""

from ...kube.patch import Draft
from .. import names
from ..change import Change

# core/v1 DefaultSchedulerName, which the API server fills in
DEFAULT_SCHEDULER = "default-scheduler"


def write(draft: Draft, value: object) -> Change | None:
    """Set the scheduler's name; an empty one does nothing.

    Raises:
        EvaluationError: ``value`` is no object's name.
    """
    return names.put(draft, "schedulerName", names.wanted(draft, "schedulerName", value, DEFAULT_SCHEDULER))


CONCERN = names.concern(
    "schedulerName", lambda draft, proposal, _: write(draft, proposal.leaves[""]), decides="grouping"
)
