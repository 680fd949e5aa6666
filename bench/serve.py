"""What a pod costs a server: podberth with its policies against a typed Go webhook that does nothing, both reviews.

All servers run at once, each pinned to the same core, and are loaded one after another, round by round, by a generator
on another core: TLS, 25 kept-alive connections. The generator creates pods as the API server does (`reviews.py`):
/mutate, its patch, /validate; each workload is one that nobody asked about before, with 1, 4 or 16 pods. A ratio is
taken within a round, so that what the machine does meanwhile weighs on both sides. Every answer is checked; a wrong one
ends the run.

    python -m bench.serve [--rounds 5] [--seconds 3] [--nodes 1000] [--classes 50]
"""

import argparse
import platform
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from controlplane.credentials import issue

from . import clusters, reviews
from .decisions import POLICIES
from .figures import RATIO_HEADER, Ratio, table
from .servers import CONNECTIONS, Load, Server, Servers, create

# Caches are filled and code paths taken once.
_WARM_UP_SECONDS = 1.0
_MEMBERS = (1, 4, 16)
_LIBRARY, _FORGETFUL, _GO = "podberth, library", "podberth, nothing remembered", "Go typed, nothing"
_NO_POLICY, _AIOHTTP, _UID = "podberth, no policy", "aiohttp, nothing", "Go, uid only"
# The goals of the ratio to the typed Go webhook, by the pods of a workload, and with nothing remembered.
_MOST = {1: 2.0, 4: 1.0, 16: 1.0}
_MOST_FORGETFUL = 3.0


@dataclass(frozen=True, slots=True)
class _Run:
    """What is loaded: a server, and how many pods a workload has."""

    server: str
    members: int


Rounds = Mapping[_Run, list[Load]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="each server is loaded once a round")
    parser.add_argument("--seconds", type=float, default=3, help="for so long")
    parser.add_argument("--nodes", type=int, default=1000, help="nodes of the snapshot that podberth decides over")
    parser.add_argument("--classes", type=int, default=50, help="their equivalence classes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        with Servers(folder, issue(folder / "credentials")) as servers:
            rounds, resident = _measure(folder, servers, options)
    _check(rounds)
    _print(rounds, resident, options)


def _measure(folder: Path, servers: Servers, options: argparse.Namespace) -> tuple[Rounds, Mapping[str, float]]:
    bodies = {
        members: reviews.write(folder / f"{members}.jsonl", reviews.distinct(reviews.COUNT // members, members=members))
        for members in _MEMBERS
    }
    topology = clusters.write(folder / "snapshot.json", options.nodes, options.classes)
    nothing = folder / "no-policies"
    nothing.mkdir()
    started: dict[str, Server] = {
        _LIBRARY: servers.podberth("library", policies=POLICIES, topology=topology),
        _FORGETFUL: servers.podberth("forgetful", policies=POLICIES, topology=topology, program="bench.forgetful"),
        _GO: servers.typed(),
        _NO_POLICY: servers.podberth("no-policies", policies=nothing, topology=topology),
        _AIOHTTP: servers.bare_aiohttp(),
        _UID: servers.typed("uid"),
    }
    everywhere = [_Run(server, members) for members in _MEMBERS for server in (_LIBRARY, _GO)]
    runs = [*everywhere, *(_Run(server, 1) for server in (_FORGETFUL, _NO_POLICY, _AIOHTTP, _UID))]
    for server in started.values():
        create(server, bodies[1], seconds=_WARM_UP_SECONDS, members=1)
    rounds: dict[_Run, list[Load]] = {run: [] for run in runs}
    for _ in range(options.rounds):
        for run in runs:
            found = create(started[run.server], bodies[run.members], seconds=options.seconds, members=run.members)
            rounds[run].append(found)
    return rounds, {name: server.resident_mib() for name, server in started.items()}


def _check(rounds: Rounds) -> None:
    """Make sure that what was measured is what is claimed: pods are mutated, some denied, and only by policies."""
    for run, loads in rounds.items():
        patched, allowed = mean(each.patched for each in loads), mean(each.allowed for each in loads)
        decides = run.server in (_LIBRARY, _FORGETFUL)
        if decides != (patched > 0) or decides != (allowed < 1):
            got = f"{patched:.3f} of the reviews with a patch, {allowed:.3f} allowed"
            raise SystemExit(f"bench: {run.server}: {got}, want {'some of both' if decides else 'none, all'}")


def _print(rounds: Rounds, resident: Mapping[str, float], options: argparse.Namespace) -> None:
    size = mean(map(len, reviews.distinct(200)))
    print(
        f"{CONNECTIONS} connections, reviews of {size:,.0f} bytes in the mean, "
        f"{options.nodes} nodes in {options.classes} classes, {options.rounds} rounds of {options.seconds:g} s; "
        f"Python {platform.python_version()}; medians\n"
    )
    header = ("server", "pods", "pods/s", "CPU µs a pod", "its core", "generator's", "p50 ms", "p99 ms", "MiB")
    print(table(header, (_row(run, loads, resident[run.server]) for run, loads in rounds.items())))
    seen = rounds[_Run(_LIBRARY, 1)][0]
    print(
        f"\npodberth's answers: {seen.patched:.0%} with a patch, of {seen.operations:.1f} operations; "
        f"{1 - seen.allowed:.1%} denied; {seen.warnings:.2f} warnings each\n"
    )
    print(table(RATIO_HEADER, (ratio.row() for ratio in _ratios(rounds))))


def _row(run: _Run, loads: list[Load], mib: float) -> tuple[str, ...]:
    def middle(figure: Callable[[Load], float]) -> float:
        return median(map(figure, loads))

    return (
        run.server,
        str(run.members),
        f"{middle(lambda one: one.rps * one.pods / one.requests):,.0f}",
        f"{middle(lambda one: one.pod_us):.0f}",
        f"{middle(lambda one: one.cpu_us * one.rps / 1e6):.0%}",
        f"{middle(lambda one: one.generator):.0%}",
        f"{middle(lambda one: one.p50_ms):.1f}",
        f"{middle(lambda one: one.p99_ms):.1f}",
        f"{mib:.0f}",
    )


def _ratios(rounds: Rounds) -> list[Ratio]:
    """Return the ratios of the goals: processor time of a pod, which other work on the machine changes least."""

    def ratio(name: str, one: _Run, other: _Run, most: float | None = None) -> Ratio:
        pairs = zip(rounds[one], rounds[other], strict=True)
        return Ratio(name=name, each=tuple(ours.pod_us / theirs.pod_us for ours, theirs in pairs), most=most)

    found = [
        ratio(f"library / typed Go, {members} to a workload", _Run(_LIBRARY, members), _Run(_GO, members), most)
        for members, most in _MOST.items()
    ]
    single = _Run(_GO, 1)
    return [
        *found,
        ratio("nothing remembered / typed Go", _Run(_FORGETFUL, 1), single, _MOST_FORGETFUL),
        ratio("no policy / typed Go", _Run(_NO_POLICY, 1), single),
        ratio("bare aiohttp / typed Go", _Run(_AIOHTTP, 1), single),
    ]


if __name__ == "__main__":
    main()
