"""The mutation ``schedulerName``: sets the scheduler's name if the user has not set one."""

from .. import names

# core/v1 DefaultSchedulerName, which the API server fills in
DEFAULT_SCHEDULER = "default-scheduler"

CONCERN = names.concern("schedulerName", default=DEFAULT_SCHEDULER, decides="grouping")
