"""podberth's exit codes and their meanings, in one table."""

from collections.abc import Mapping
from enum import IntEnum

from ..errors import ClusterError, DeviceError, PodberthError


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FINDINGS = 1
    """The command worked and found problems."""
    USAGE = 2
    """A flag, a file or a setting; argparse exits with the same."""
    CLUSTER = 3
    """The cluster or a device did not answer."""


# By class, the most derived first. An error that is not listed is a bug and ends in a traceback.
FAULTS: Mapping[type[PodberthError], ExitCode] = {
    ClusterError: ExitCode.CLUSTER,
    DeviceError: ExitCode.CLUSTER,
    PodberthError: ExitCode.USAGE,
}


def code_of(error: PodberthError) -> ExitCode:
    """Return the exit code for a fault."""
    return next(code for kind, code in FAULTS.items() if isinstance(error, kind))
