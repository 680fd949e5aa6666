"""``podberth plan mig``: plans the MIG layouts of a fleet for a demand, as a configuration of mig-parted."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any, Final

from ..errors import UsageError
from ..facts.object_kinds import Document, unlist
from ..files.cluster_documents import read_documents
from ..files.reading import MAX_POLICY_BYTES, named_text
from ..kube.documents import load_documents
from ..kube.unchecked import is_pod
from ..mig_plan.demand import Need, of_document, of_pods
from ..mig_plan.hosts import Hosts, hosts_of
from ..mig_plan.layouts import UNCUT, Layout
from ..mig_plan.plan import Config, Plan, PoolPlan, plan
from ..mig_plan.pools import LeftOut, pools_of
from ..mig_plan.serving import Served
from ..words import counted
from .access import add_output, number
from .exitcodes import ExitCode
from .output import write_text
from .simulated import add_simulate, documents_of
from .topology import nodes_of

FORMATS: Final = ("text", "json", "yaml")
_MOST_NAMED: Final = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand ``mig``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    mig = actions.add_parser("mig", help="print a layout for each pool, in mig-parted's format", allow_abbrev=False)
    source = mig.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--topology",
        metavar="SNAPSHOT",
        help="what kubectl get nodes,configmaps,pods --all-namespaces -o yaml prints: a file, a directory, or -",
    )
    add_simulate(source)
    mig.add_argument(
        "--demand",
        metavar="FILE",
        type=Path,
        help="what is needed, as needs: [{memory: 10Gi, count: 4}, {profile: 1g.10gb, perHour: 30, minutes: 20}, "
        "{gpus: 1, count: 2}] (default: the Pods in the snapshot)",
    )
    mig.add_argument(
        "--seconds",
        metavar="N",
        type=number(0.001, 3600, "seconds from 0.001 to 3600"),
        default=10.0,
        help="the time for the search (default 10)",
    )
    add_output(mig, FORMATS)


def run(arguments: argparse.Namespace) -> int:
    """Print the plan and return the exit code.

    Raises:
        UsageError: there is no demand, or a file cannot be used.
    """
    documents: Sequence[Document]
    if arguments.simulate is not None:
        documents = documents_of(arguments.simulate)
    else:
        documents = read_documents([arguments.topology], sys.stdin.buffer)
    singles = [single for document in documents for single in unlist(document)]
    pools, left_out = pools_of(nodes_of(documents, None))
    if not pools:
        reasons = "".join(f"; {counted(count, 'node')}: {reason}" for reason, count in left_out)
        raise UsageError(f"got no node whose GPUs can be partitioned{reasons}")
    names = frozenset(machine.name for pool in pools for machine in pool.machines)
    demand = _demand(arguments.demand, singles, names)
    # What the pods of a file request of CPU and memory is unknown, and the Pods of the snapshot are not its demand.
    hosts = Hosts() if arguments.demand else hosts_of(singles, names)
    found = plan(pools, demand, hosts, clock=time.monotonic, seconds=arguments.seconds)
    text = {"text": _text, "json": _json, "yaml": _yaml}[arguments.output](found, left_out, demand)
    write_text(text)
    return ExitCode.OK


def _demand(file: Path | None, documents: Sequence[Document], nodes: frozenset[str]) -> Counter[Need]:
    if file is None:
        demand = of_pods(filter(is_pod, documents), nodes)
        if not demand:
            raise UsageError(
                "got no Pod with NVIDIA GPUs in the snapshot that waits or is on a node whose GPUs can be partitioned; "
                "want some, or --demand FILE"
            )
        return demand
    text = named_text(file, MAX_POLICY_BYTES)
    loaded, problems = load_documents(text, str(file))
    if problems:
        raise UsageError(str(problems[0]))
    if len(loaded) != 1:
        raise UsageError(f"{file}: got {len(loaded)} documents, want one")
    return of_document(loaded[0].document, str(file))


# ---- the formats ----------------------------------------------------------------------------------------------------


def _text(found: Plan, left_out: LeftOut, demand: Counter[Need]) -> str:
    lines = [f"demand: {demand.total()} pods, {_gib(found.demand_mib)}", f"today: {_served(found.today, found)}"]
    if found.keeps:
        lines.append("planned: nothing better than today's layouts was found; keep them")
    else:
        lines.append(f"planned: {_served(found.planned, found)}")
        lines += [_pool_line(each) for each in found.pools]
    lines.append(_certainty(found))
    lines += [f"left out: {counted(count, 'node')}: {reason}" for reason, count in left_out]
    return "\n".join([*lines, *([] if found.keeps else ["", _yaml(found, left_out, demand).rstrip()])]) + "\n"


def _served(served: Served, found: Plan) -> str:
    share = f"{100 * served.memory_mib / max(found.demand_mib, 1):.0f} % of it, {_gib(served.memory_mib)}, has a place"
    waiting = ", ".join(f"{counted(count, 'pod')} of {need}" for need, count in served.waiting[:_MOST_NAMED])
    more = "" if len(served.waiting) <= _MOST_NAMED else ", and others"
    return f"{share}; {f'wait: {waiting}{more}' if waiting else 'nothing waits'}"


def _pool_line(each: PoolPlan) -> str:
    nodes, gpus = counted(len(each.pool.machines), "node"), counted(each.pool.gpus, "GPU")
    changed = sum(len(config.nodes) for config in each.configs)
    use = f"in use {_gib(each.today_mib)} today, {_gib(each.planned_mib)} planned"
    return f"{each.pool.table.name}: {nodes}, {gpus}; {use}; {changed} to change"


def _certainty(found: Plan) -> str:
    if found.exact:
        return "exact: no layouts serve more"
    gap = 100 * (found.bound_mib / found.planned.memory_mib - 1) if found.planned.memory_mib else 100.0
    return f"not exact: other layouts may serve more, at most {ceil(10 * gap) / 10:.1f} % more"


def _yaml(found: Plan, _left_out: LeftOut, _demand: Counter[Need]) -> str:
    lines = ["version: v1", "mig-configs:" if found.pools else "mig-configs: {}"]
    for config in (config for each in found.pools for config in each.configs):
        lines += [f"  # {_nodes(config)}", f"  {config.name}:"]
        for indexes, layout in _devices(config.layouts):
            lines += [f"  - devices: {json.dumps(indexes)}", f"    mig-enabled: {json.dumps(layout != UNCUT)}"]
            if layout != UNCUT:
                lines += ["    mig-devices:", *(f'      "{profile}": {count}' for profile, count in layout)]
    return "\n".join(lines) + "\n"


def _json(found: Plan, left_out: LeftOut, _demand: Counter[Need]) -> str:
    document: dict[str, Any] = {
        "demandMiB": found.demand_mib,
        "today": _served_json(found.today),
        "planned": _served_json(found.planned),
        "keepsToday": found.keeps,
        "boundMiB": ceil(found.bound_mib),
        "exact": found.exact,
        "pools": [
            {
                "model": each.pool.table.name,
                "gpus": each.pool.gpus,
                "todayMiB": round(each.today_mib),
                "plannedMiB": round(each.planned_mib),
                "configs": [
                    {
                        "name": config.name,
                        "devices": [
                            {"devices": indexes, "migEnabled": layout != UNCUT, "migDevices": _instances(layout)}
                            for indexes, layout in _devices(config.layouts)
                        ],
                        "nodes": config.nodes,
                    }
                    for config in each.configs
                ],
                "kept": each.kept,
            }
            for each in found.pools
        ],
        "leftOut": [{"reason": reason, "nodes": count} for reason, count in left_out],
    }
    return json.dumps(document, indent=2) + "\n"


def _served_json(served: Served) -> dict[str, Any]:
    return {
        "servedMiB": round(served.memory_mib),
        "waiting": [{"need": str(need), "pods": count} for need, count in served.waiting],
    }


def _instances(layout: Layout) -> dict[str, int]:
    return {} if layout == UNCUT else dict(layout)


def _devices(layouts: Sequence[Layout]) -> Iterator[tuple[list[int], Layout]]:
    """Yield (the indexes of GPUs, their layout) for each run of GPUs with one layout."""
    for layout, indexed in groupby(enumerate(layouts), key=lambda each: each[1]):
        yield [index for index, _ in indexed], layout


def _nodes(config: Config) -> str:
    names = ", ".join(config.nodes[:_MOST_NAMED])
    more = len(config.nodes) - _MOST_NAMED
    return f"{names}, and {more} more" if more > 0 else names


def _gib(mib: float) -> str:
    return f"{mib / 1024:,.0f} GiB"
