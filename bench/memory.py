"""Whether a webhook grows: its memory after a million reviews beside that after ten thousand.

One podberth with all shipped policies, pinned to a core; its generator on another creates distinct pods, with both
reviews of each.

    python -m bench.memory [--reviews 10000,100000,1000000] [--nodes 1000] [--classes 50]
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from controlplane.credentials import issue

from . import clusters, reviews
from .decisions import POLICIES
from .figures import RATIO_HEADER, Ratio, table
from .servers import Server, Servers, create

# A turn: short beside the first reading, so that both paths are in it.
_SECONDS = 0.5
_LATER_SECONDS = 5.0
_GROWTH = 1.02
"""The goal of the issue."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviews", default="10000,100000,1000000", help="when to read the memory")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        topology = clusters.write(folder / "snapshot.json", options.nodes, options.classes)
        bodies = reviews.write(folder / "distinct.jsonl", reviews.distinct())
        with Servers(folder, issue(folder / "credentials")) as servers:
            server = servers.podberth("library", policies=POLICIES, topology=topology)
            readings = list(_readings(server, bodies, map(int, options.reviews.split(","))))
    print(table(("reviews", "RSS, MiB"), ((f"{count:,}", f"{mib:.1f}") for count, mib in readings)))
    print()
    (few, before), (many, after) = readings[0], readings[-1]
    growth = Ratio(name=f"RSS after {many:,} reviews / after {few:,}", each=(after / before,), most=_GROWTH)
    print(table(RATIO_HEADER, [growth.row()]))


def _readings(server: Server, bodies: Path, marks: Iterable[int]) -> Iterator[tuple[int, float]]:
    """Yield how many reviews were answered and the memory then, at each mark or soon after."""
    answered, seconds = 0, _SECONDS
    for mark in marks:
        while answered < mark:
            answered += create(server, bodies, seconds=seconds, members=1).requests
        seconds = _LATER_SECONDS
        yield answered, server.resident_mib()


if __name__ == "__main__":
    main()
