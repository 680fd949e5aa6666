"""Replay the OpenB trace without podberth, with its defaults, and with ``mode: required``; print tables, draw plots.

The trace is read from a folder with its two CSV files; a sample of its machines and pods is taken at equal distances.
With --inflate pods are drawn from that sample by lot instead, and with --gangs some come as gangs (arrivals.py).
The replays go one after the other on one control plane: the three that are compared; three with live labels and the
optional policies about them (labels written before the next pod comes, or 50 pods late, and with small-machines); two
that say what podberth could at best or need not do: users who look MIG profiles up by hand, and a cluster without MIG;
one in which gangs are placed as a whole, by PodGroups, as in the last two;
and two in which MIG machines are cut otherwise: as ``podberth plan mig`` says for the pods of ``--demand``, and as pods
come, by the claims of slices-on-demand. The last is slow: it runs only if --modes names it, with few machines.

    python -m bench.placement --trace FOLDER [--nodes 303] [--pods 2038] [--seed 1] [--demand 1.0]
        [--inflate 1.3] [--gangs] [--rack 16] [--modes off,defaults,required] [--out FOLDER]
"""

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from controlplane.cluster import ControlPlane

from ..figures import table
from . import arrivals, plots, report
from .outcome import Outcome, work_out
from .overlay import RACK_SIZE, Machine, lay_over
from .partitions import by_claims, planned
from .replay import GROUPS, ON_DEMAND, Cluster, Mode, Stage, say
from .trace import NODE_FILE, POD_FILE, TraceError, TraceNode, TracePod, read_nodes, read_pods, sample

MODES = {
    mode.name: mode
    for mode in (
        Mode(name="off"),
        Mode(name="defaults", podberth=True),
        Mode(name="required", podberth=True, required=True),
        Mode(name="free-linked", podberth=True, optional=("free-linked",), live=True),
        Mode(name="free-linked late", podberth=True, optional=("free-linked",), live=True, lag=50),
        Mode(name="small machines", podberth=True, optional=("free-linked", "small-machines"), live=True),
        Mode(name="MIG by hand", by_hand=True),
        Mode(name="no MIG", cluster="whole"),
        Mode(name="groups", podberth=True, optional=(GROUPS,)),
        Mode(name="planned", podberth=True, optional=(GROUPS,), cluster="planned"),
        Mode(name="claims", podberth=True, optional=(ON_DEMAND, GROUPS), cluster="claims"),
    )
}

# The scheduler needs a second of a core and more for each pod if 93 of 303 machines are behind a DRA driver.
_BY_DEFAULT = [name for name, mode in MODES.items() if mode.cluster != "claims"]

# A quarter of both lists: minutes on two cores, and still some machines of nearly every kind.
_NODES, _PODS = 303, 2038


def main() -> None:
    """Replay, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, required=True, help=f"a folder with {NODE_FILE} and {POD_FILE}")
    parser.add_argument("--nodes", type=int, default=_NODES, help="machines in the sample; 0: all 1,213")
    parser.add_argument("--pods", type=int, default=_PODS, help="pods in the sample; 0: all 8,152")
    parser.add_argument("--seed", type=int, default=1, help="where the sample begins")
    parser.add_argument("--demand", type=float, default=1.0, help="share of the pods that the layouts are made for")
    parser.add_argument("--inflate", type=float, help="draw pods by lot until they have use for this share of the GPUs")
    parser.add_argument("--gangs", action="store_true", help="every eighth pod of whole GPUs comes as a gang of four")
    parser.add_argument("--rack", type=int, default=RACK_SIZE, help="machines of a rack")
    parser.add_argument("--modes", default=",".join(_BY_DEFAULT), help="which replays; default: all but claims")
    parser.add_argument("--out", type=Path, help="where the plots go; without it none are drawn")
    options = parser.parse_args()
    try:
        modes = [MODES[name] for name in options.modes.split(",")]
    except KeyError as error:
        raise SystemExit(f"bench: --modes: got {error}, want some of {','.join(MODES)}") from None
    try:
        nodes, pods = _sampled(options.trace, options.nodes, options.pods, options.seed)
        pods = _arriving(pods, sum(node.gpus for node in nodes), options)
        clusters = {
            each: _cluster(each, nodes, pods, options) for each in dict.fromkeys(mode.cluster for mode in modes)
        }
    except (OSError, TraceError) as error:
        raise SystemExit(f"bench: {error}") from None
    outcomes = _replayed(modes, clusters, pods)
    for how, machines in clusters.items():
        print(f"{how}: {report.cluster(machines)}")
    print(report.arrivals(pods))
    print("\nWhen the first pod cannot be placed\n")
    print(table(*report.moments(outcomes, "at_first")))
    print("\nWhen all have been tried\n")
    print(table(*report.moments(outcomes, "at_end")))
    print("\nThe scheduler, of the first\n")
    print("\n".join(report.reasons(outcomes)))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, drawing in plots.drawings(outcomes).items():
            (options.out / name).write_text(drawing, encoding="utf-8")


def _sampled(
    folder: Path, node_count: int, pod_count: int, seed: int
) -> tuple[tuple[TraceNode, ...], tuple[TracePod, ...]]:
    nodes = read_nodes((folder / NODE_FILE).read_text(encoding="utf-8"))
    pods = read_pods((folder / POD_FILE).read_text(encoding="utf-8"))
    by_kind = sorted(nodes, key=lambda node: (node.model, node.gpus, node.cpu_milli, node.name))
    drawn = sample(by_kind, node_count, seed)
    return tuple(sorted(drawn, key=lambda node: node.name)), sample(pods, pod_count, seed)


def _arriving(pods: Sequence[TracePod], gpus: int, options: argparse.Namespace) -> tuple[TracePod, ...]:
    coming = pods if options.inflate is None else arrivals.drawn(pods, options.seed)
    coming = arrivals.with_gangs(coming) if options.gangs else coming
    return tuple(coming) if options.inflate is None else arrivals.until(coming, options.inflate * gpus)


def _cluster(
    name: Cluster, nodes: Sequence[TraceNode], pods: Sequence[TracePod], options: argparse.Namespace
) -> tuple[Machine, ...]:
    machines = lay_over(nodes, pods, cut=name == "ruled", demand=options.demand, rack_size=options.rack)
    match name:
        case "planned":
            return planned(machines, pods, options.demand, options.seed)
        case "claims":
            return by_claims(machines)
        case _:
            return machines


def _replayed(
    modes: Sequence[Mode], clusters: Mapping[Cluster, Sequence[Machine]], pods: Sequence[TracePod]
) -> dict[str, Outcome]:
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        # Without kubelets' heartbeats this controller would give the machines up.
        left_out = ["--controllers=*,-node-lifecycle-controller"]
        with ControlPlane.start(folder / "plane", extra_controller_args=left_out) as control_plane:
            stage = Stage(control_plane, folder)
            for mode in modes:
                began = time.monotonic()
                machines = clusters[mode.cluster]
                outcomes[mode.name] = work_out(stage.replay(mode, machines, pods), machines)
                say(f"{mode.name}: done in {time.monotonic() - began:.0f} s")
    return outcomes


if __name__ == "__main__":
    main()
