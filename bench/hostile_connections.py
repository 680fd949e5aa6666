"""What a connection of each hostile kind takes of a serving process, and the peak with 1,000 of all kinds together.

Each kind meets a process of its own: memory that one has freed stays with the process.

    python -m bench.hostile_connections [--connections 250]
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from hostile_callers import ATTACKS, Attack, Callers
from integration.process import serve

from .figures import table

_SETTLE_SECONDS = 2.0
_ALL = 1_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=250, help="of each kind")
    count: int = parser.parse_args().connections
    rows = []
    for attack in ATTACKS:
        before, resident, _ = asyncio.run(_measure({attack: count}))
        rows.append([attack.__name__, str(count), f"{(resident - before) / count:.0f}"])
    print(table(["kind", "connections", "KiB each"], rows))
    before, resident, peak = asyncio.run(_measure({attack: _ALL // len(ATTACKS) for attack in ATTACKS}))
    print(f"\nall kinds: {before / 1024:.0f} MiB before, {resident / 1024:.0f} with them, {peak / 1024:.0f} at most")


async def _measure(counts: dict[Attack, int]) -> tuple[int, int, int]:
    """Return KiB: resident before the attack and some seconds after it has begun, and the most."""
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        async with serve(Path(name)) as served:
            callers = Callers(served.host, served.port, served.client_context())
            before = _kib(served.process.pid, "VmRSS")
            await callers.attack(counts)
            await asyncio.sleep(_SETTLE_SECONDS)
            figures = before, _kib(served.process.pid, "VmRSS"), _kib(served.process.pid, "VmHWM")
            await callers.close()
            return figures


def _kib(pid: int, field: str) -> int:
    """Return a figure of proc_pid_status(5)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main()
