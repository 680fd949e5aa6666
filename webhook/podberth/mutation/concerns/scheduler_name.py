"""The scheduler's name: set if the user has not set it."""

from .. import names

# core/v1 DefaultSchedulerName, which the API server fills in
DEFAULT_SCHEDULER = "default-scheduler"

CONCERN = names.concern("schedulerName", default=DEFAULT_SCHEDULER, decides="grouping")
