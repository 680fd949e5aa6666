"""The table of podberth's exit codes with the meaning of each code."""

from enum import IntEnum

from ..errors import ClusterError, DeviceError, PodberthError


class ExitCode(IntEnum):
    """The exit codes of every command."""

    OK = 0
    FINDINGS = 1
    """The command worked, and found problems in the input."""
    USAGE = 2
    """A flag, a file or a setting is wrong; argparse exits with the same code."""
    CLUSTER = 3
    """The cluster or a device did not answer."""
    INTERRUPTED = 130
    """The user ended ``--watch`` with ctrl-c: 128 and the number of SIGINT, as shells count."""


def code_of(error: PodberthError) -> ExitCode:
    """Return the exit code for an error."""
    return ExitCode.CLUSTER if isinstance(error, ClusterError | DeviceError) else ExitCode.USAGE
