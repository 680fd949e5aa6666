"""The RuntimeClass: set if the user has not set it."""

from .. import names

CONCERN = names.concern("runtimeClassName")
