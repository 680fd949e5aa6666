"""The mutation ``runtimeClassName``: sets the RuntimeClass if the user has not set one."""

from .. import names

CONCERN = names.concern("runtimeClassName")
