"""``podberth topology``: shows nodes as a picture, writes a snapshot of the nodes, or compares two snapshots."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Final, Literal

from ..errors import UsageError
from ..facts.bound_gangs import bound_gangs
from ..facts.cluster import collect
from ..facts.object_kinds import Document
from ..facts.pseudonyms import anonymised
from ..facts.trim import as_list, trim
from ..facts.with_holdings import collect_with_holdings
from ..files.cluster_documents import params_of, read_documents
from ..files.loading import require_node
from ..files.manifests import STDIN
from ..files.naming import read_conventions
from ..topology.cluster_difference import difference
from ..topology.node import Node
from ..topology.node_picture import picture_of
from ..topology.overview import overview
from .access import add_conventions, add_output, flag
from .access import number as number_flag
from .exitcodes import ExitCode
from .output import talk, write, write_text
from .simulated import add_simulate, documents_of
from .snapshot_time import as_of, time_of
from .topology_use import source_of_use

SHOW_FORMATS: Final = ("text", "json", "svg", "html")
DIFF_FORMATS: Final = ("text", "json")
_DAY_SECONDS: Final = 86_400
_SNAPSHOT: Final = "what kubectl get nodes,configmaps --all-namespaces -o yaml prints: a file, a directory, or -"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of ``podberth topology``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="show the cluster, or one node", allow_abbrev=False)
    show.add_argument("node", metavar="NODE", nargs="?", default="", help="a node (default: the whole cluster)")
    source = show.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--topology", metavar="SNAPSHOT", help=f"{_SNAPSHOT}; with Pods in it, what is free is shown, too"
    )
    add_simulate(source)
    show.add_argument(
        "--at",
        metavar="TIME",
        type=flag(_time),
        help="hold the agents' heartbeats (Leases in the snapshot) against this time, as 2026-01-31T12:00:00Z "
        "(default: nothing in a file is stale)",
    )
    show.add_argument("--cluster-name", metavar="NAME", default="", help="the cluster's name, for the heading")
    show.add_argument(
        "--refresh",
        metavar="SECONDS",
        type=number_flag(1, _DAY_SECONDS, f"seconds from 1 to {_DAY_SECONDS}"),
        default=0,
        help="-o html of the cluster: the browser loads the page again after so many seconds (default: never)",
    )
    add_conventions(show)
    add_output(show, SHOW_FORMATS)
    export = actions.add_parser("export", help="write the snapshot that the other commands read", allow_abbrev=False)
    export.add_argument(
        "--from", dest="sources", metavar="FILE", nargs="+", action="extend", required=True, help=_SNAPSHOT
    )
    export.add_argument("-o", "--output", metavar="FILE", default="", help="where to write it (default: stdout)")
    export.add_argument(
        "--policies",
        metavar="DIR",
        type=Path,
        help="whose parameters to keep (default: those of all policies that podberth ships)",
    )
    export.add_argument("--anonymize", action="store_true", help="replace the names of nodes and namespaces")
    diff = actions.add_parser("diff", help="show the differences; exit code 1 where there are any", allow_abbrev=False)
    diff.add_argument("before", metavar="A", help=_SNAPSHOT)
    diff.add_argument("after", metavar="B", help="the later one")
    add_conventions(diff)
    add_output(diff, DIFF_FORMATS)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand of ``podberth topology`` and return the exit code.

    Results go to stdout, problems of documents to stderr.
    """
    action: Callable[[argparse.Namespace], int] = {"show": _show, "export": _export, "diff": _diff}[arguments.action]
    return action(arguments)


def _show(arguments: argparse.Namespace) -> int:
    conventions = read_conventions(arguments.conventions)
    if arguments.simulate is not None:
        documents: Sequence[Document] = documents_of(arguments.simulate)
    else:
        documents = read_documents([arguments.topology], sys.stdin.buffer)
    objects, holdings = collect_with_holdings(documents, now=arguments.at)
    talk([*objects.problems, *(holdings.problems if holdings else ())])
    require_node(arguments.topology or "", objects.nodes)
    nodes, at, note = objects.nodes, time_of(arguments.topology, arguments.at), ""
    if at is not None:
        # A page lies about its age as soon as somebody opens it again.
        is_text = arguments.output == "text" and arguments.at is None
        note = source_of_use(holdings, as_of(at, datetime.now(UTC) if is_text else None))
    if arguments.node:
        node = _named(nodes, arguments.node)
        use = None if holdings is None else holdings.nodes[node.name]
        _print(arguments.output, "node", replace(picture_of(node, conventions, use), note=note, snapshot_at=at))
    else:
        picture = replace(
            overview(nodes, conventions, holdings, bound_gangs(documents, objects)),
            note=note,
            name=arguments.cluster_name,
            snapshot_at=at,
            refresh_seconds=int(arguments.refresh),
        )
        _print(arguments.output, "cluster", picture)
    return ExitCode.OK


def _print(form: str, subject: Literal["node", "cluster", "difference"], found: object) -> None:
    """Print ``found`` in the output format ``form``: a NodePicture, a ClusterPicture, or a Difference of two snapshots.

    Only the module of the format is imported.
    """
    module = import_module(f".topology_{form}", __package__)
    if form == "text":
        from .terminal import Terminal  # noqa: PLC0415 - what is not printed is not loaded

        write(lambda stream: getattr(module, f"show_{subject}")(found, Terminal.of(stream)), "")
    else:
        made = getattr(module, f"{subject}_{form}")(found)
        write_text(json.dumps(made, indent=2) + "\n" if form == "json" else made)


def _export(arguments: argparse.Namespace) -> int:
    is_param = params_of(arguments.policies)
    documents = read_documents(arguments.sources, sys.stdin.buffer)
    require_node(", ".join(arguments.sources), nodes_of(documents, None))
    kept = trim(documents, is_param=is_param)
    kept = anonymised(kept) if arguments.anonymize else kept
    lines = as_list(kept, lambda document: json.dumps(document, sort_keys=True))
    write_text("".join(f"{line}\n" for line in lines), arguments.output)
    return ExitCode.OK


def _diff(arguments: argparse.Namespace) -> int:
    if arguments.before == arguments.after == STDIN:
        raise UsageError("diff: got - twice, want one of the two from standard input")
    conventions = read_conventions(arguments.conventions)
    before, after = (_nodes_in(path) for path in (arguments.before, arguments.after))
    found = difference(before, after, conventions)
    _print(arguments.output, "difference", found)
    return ExitCode.OK if found.empty else ExitCode.FINDINGS


def _nodes_in(path: str) -> tuple[Node, ...]:
    nodes = nodes_of(read_documents([path], sys.stdin.buffer), None)
    require_node(path, nodes)
    return nodes


def nodes_of(documents: Sequence[Document], at: datetime | None) -> tuple[Node, ...]:
    """Return the nodes of a snapshot at a time; problems of documents are written to stderr."""
    objects = collect(documents, now=at)
    talk(objects.problems)
    return objects.nodes


def _named(nodes: Sequence[Node], name: str) -> Node:
    found = {node.name: node for node in nodes}
    if name not in found:
        near = get_close_matches(name, found, n=3) or sorted(found)[:3]
        several = f"one of the {len(found):,} nodes, such as {', '.join(near)}"
        raise UsageError(f"NODE: got {name!r}, want {several if len(found) > 1 else f'{near[0]}, the only node'}")
    return found[name]


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError("want a time with its zone, as 2026-01-31T12:00:00Z")
    return moment
