"""A process that outlives a test run just long enough to end what the run started.

`process.py` runs this file as a script and sends it process ids on its standard input: "watch PID" and
"release PID". The pipe closes when the run ends, however it ends (SIGKILL too), and then this ends what
is still watched, last started first. The kernel's own means, PR_SET_PDEATHSIG, is not used because it
fires when the *thread* that started the process ends, and needs code between fork and exec.

Only the standard library, and nothing of this package: it is run as a lone script.
"""

import os
import select
import signal
import sys
from contextlib import suppress

# etcd and the API server close within a second; the bound is for a machine under load.
_PATIENCE_SECONDS = 5.0


def main() -> None:
    """Follow the orders on standard input until it closes, then end what is left."""
    watched: dict[int, int] = {}
    for line in sys.stdin:
        verb, pid_text = line.split()
        pid = int(pid_text)
        if verb == "watch":
            # A pidfd names this very process for good, where a bare id may come to name another.
            with suppress(ProcessLookupError):
                watched[pid] = os.pidfd_open(pid)
        elif pid in watched:
            os.close(watched.pop(pid))
    for pidfd in reversed(list(watched.values())):
        _end(pidfd)


def _end(pidfd: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        # A pidfd becomes readable when its process ends.
        if not select.select([pidfd], [], [], _PATIENCE_SECONDS)[0]:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)


if __name__ == "__main__":
    main()
