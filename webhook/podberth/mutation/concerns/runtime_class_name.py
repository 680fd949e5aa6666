"""The RuntimeClass: set where the user has not set it."""

from .. import names

CONCERN = names.concern("runtimeClassName")
