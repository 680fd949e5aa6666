"""Reviews per second per core: podberth with its policies against a typed Go webhook that does nothing.

All servers run at once, each pinned to the same core, and are loaded one after another, round by round, by a generator
on another core: TLS, 25 kept-alive connections, distinct pods. A ratio is taken within a round, so that what the
machine does meanwhile weighs on both sides. Every answer is checked; a wrong one ends the run.

    python -m bench.serve [--rounds 7] [--seconds 4] [--nodes 1000] [--classes 50]
"""

import argparse
import platform
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from controlplane.credentials import issue

from . import clusters, reviews
from .decisions import POLICIES, four_policies
from .figures import RATIO_HEADER, Ratio, table
from .servers import CONNECTIONS, Load, Server, Servers, load

# Caches are filled and code paths taken once.
_WARM_UP_SECONDS = 1.0

Rounds = Mapping[str, list[Load]]


def main() -> None:
    """Measure and print."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        with Servers(folder, issue(folder / "credentials")) as servers:
            rounds, resident = _measure(folder, servers, options)
    _check(rounds)
    _print(rounds, resident, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="each server is loaded once a round")
    parser.add_argument("--seconds", type=float, default=4, help="for so long")
    parser.add_argument("--nodes", type=int, default=1000, help="nodes of the snapshot that podberth decides over")
    parser.add_argument("--classes", type=int, default=50, help="their equivalence classes")
    return parser.parse_args()


def _measure(folder: Path, servers: Servers, options: argparse.Namespace) -> tuple[Rounds, Mapping[str, float]]:
    distinct = reviews.write(folder / "distinct.jsonl", reviews.distinct())
    repeated = reviews.write(folder / "repeated.jsonl", reviews.repeated())
    topology = clusters.write(folder / "snapshot.json", options.nodes, options.classes)
    nothing = folder / "no-policies"
    nothing.mkdir()
    with_policies = servers.podberth("podberth", policies=four_policies(folder / "four"), topology=topology)
    loads: dict[str, tuple[Server, Path]] = {
        "podberth": (with_policies, distinct),
        "podberth, one template": (with_policies, repeated),
        "podberth, library": (servers.podberth("library", policies=POLICIES, topology=topology), distinct),
        "podberth, no policy": (servers.podberth("no-policies", policies=nothing, topology=topology), distinct),
        "aiohttp, nothing": (servers.bare_aiohttp(), distinct),
        "Go typed, nothing": (servers.typed(), distinct),
        "Go, uid only": (servers.typed("uid"), distinct),
    }
    for server, bodies in loads.values():
        load(server, bodies, seconds=_WARM_UP_SECONDS)
    rounds: dict[str, list[Load]] = {label: [] for label in loads}
    for _ in range(options.rounds):
        for label, (server, bodies) in loads.items():
            rounds[label].append(load(server, bodies, seconds=options.seconds))
    return rounds, {label: server.resident_mib() for label, (server, _) in loads.items()}


def _check(rounds: Rounds) -> None:
    """Make sure that what was measured is what is claimed: every pod is mutated, and only by policies."""
    for label, wanted in (("podberth", 1.0), ("podberth, one template", 1.0), ("podberth, no policy", 0.0)):
        got = rounds[label][0].patched
        if got != wanted:
            raise SystemExit(f"bench: {label}: share of reviews with a patch: got {got:.3f}, want {wanted:g}")


def _print(rounds: Rounds, resident: Mapping[str, float], options: argparse.Namespace) -> None:
    print(
        f"{CONNECTIONS} connections, {reviews.COUNT} distinct reviews of {reviews.BYTES} bytes, "
        f"{options.nodes} nodes in {options.classes} classes, {options.rounds} rounds of {options.seconds:g} s; "
        f"Python {platform.python_version()}; medians\n"
    )
    header = ("server", "reviews/s", "CPU µs", "its core", "generator's", "p50 ms", "p99 ms", "MiB")
    print(table(header, (_row(label, loads, resident[label]) for label, loads in rounds.items())))
    seen = rounds["podberth"][0]
    print(f"\npodberth's answers: {seen.operations:.1f} operations and {seen.warnings:.1f} warnings each\n")
    print(table(RATIO_HEADER, (ratio.row() for ratio in ratios(rounds))))


def _row(label: str, loads: list[Load], mib: float) -> tuple[str, ...]:
    def middle(figure: Callable[[Load], float]) -> float:
        return median(map(figure, loads))

    return (
        label,
        f"{middle(lambda one: one.rps):,.0f}",
        f"{middle(lambda one: one.cpu_us):.0f}",
        f"{middle(lambda one: one.cpu_us * one.rps / 1e6):.0%}",
        f"{middle(lambda one: one.generator):.0%}",
        f"{middle(lambda one: one.p50_ms):.1f}",
        f"{middle(lambda one: one.p99_ms):.1f}",
        f"{mib:.0f}",
    )


def ratios(rounds: Rounds) -> list[Ratio]:
    """Return the ratios of the goals, each by reviews per second and by processor time.

    The first is what is promised. On a machine with other work the second says the same with less noise.
    """
    pairs = (
        ("policies / typed Go", "podberth", "Go typed, nothing", 1.0),
        ("policies / no policy", "podberth", "podberth, no policy", 0.66),
        ("library / no policy", "podberth, library", "podberth, no policy", 0.66),
        ("library / typed Go", "podberth, library", "Go typed, nothing", None),
        ("no policy / bare aiohttp", "podberth, no policy", "aiohttp, nothing", None),
        ("one template / typed Go", "podberth, one template", "Go typed, nothing", None),
    )
    found = []
    for name, one, other, least in pairs:
        both = list(zip(rounds[one], rounds[other], strict=True))
        found.append(Ratio(name=name, each=tuple(ours.rps / theirs.rps for ours, theirs in both), least=least))
        by_cpu = tuple(theirs.cpu_us / ours.cpu_us for ours, theirs in both)
        found.append(Ratio(name=f"{name}, by CPU time", each=by_cpu))
    return found


if __name__ == "__main__":
    main()
