"""``podberth playground``: a local page that shows what policies do to a workload while they are written."""

import argparse
import asyncio
import json
import signal
import sys
from ipaddress import ip_address
from pathlib import Path

from ..errors import PodberthError, UsageError
from ..files.reading import MAX_POLICY_BYTES, named_text
from ..playground.live import LiveCluster
from ..playground.server import Playground
from ..playground.session import Session, session_of
from ..playground.worker import Worker
from ..settings import Address
from . import access
from .exitcodes import ExitCode
from .output import talk

_TEXTS = ("policy", "workload", "cluster")
_UNREAD = "# The objects of the live cluster, as soon as it is read.\n"
_ACCESS = {"--kubeconfig": "kubeconfig", "--context": "context"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the session, the files with which the page begins, and the address where it is served."""
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", type=Path, help="a file that the page has saved (default: an example)"
    )
    parser.add_argument("--policy", metavar="FILE", type=Path, help="begin with these policies and their params")
    parser.add_argument(
        "--workload", metavar="FILE", type=Path, help="begin with this pod, or workload that makes pods"
    )
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        type=Path,
        help="begin with these nodes: topology, objects and params as in tests.yaml, or what kubectl get "
        "nodes,configmaps -o yaml prints",
    )
    parser.add_argument(
        "--live", action="store_true", help="follow the nodes, and what pods hold, of a live cluster; reads alone"
    )
    access.add_kubeconfig(parser)
    access.add_cluster_files(parser)
    parser.add_argument("--namespace", metavar="NAME", help="the namespace of objects that name none")
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        type=access.address,
        default=Address("127.0.0.1", 0),
        help="where the page is served (default 127.0.0.1 and a free port)",
    )
    parser.add_argument(
        "--expose", action="store_true", help="allow an address that other machines reach; the page has no TLS"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until a signal arrives, and return the exit code.

    Raises:
        UsageError: a file or a flag cannot be used, or the address is not this machine's alone and --expose is missing.
    """
    host = arguments.address.host
    if not _is_loopback(host):
        if not arguments.expose:
            where = host or "every interface"
            raise UsageError(f"--address: got {where}, which other machines reach, want 127.0.0.1; or add --expose")
        talk(["warning: other machines reach this page, without TLS; whoever has its address may use it"])
    playground = Playground(_session(arguments), _worker(arguments), live=_live(arguments))
    asyncio.run(_serve(playground, arguments.address))
    return ExitCode.OK


async def _serve(playground: Playground, address: Address) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await playground.start(address)
    try:
        sys.stdout.write(f"{playground.url}\n")
        sys.stdout.flush()
        talk(["open this address in a browser; Ctrl-C ends the page"])
        reading = asyncio.create_task(_say_unread(playground.live))
        await stopped.wait()
        reading.cancel()
    finally:
        await playground.stop()


async def _say_unread(live: LiveCluster | None) -> None:
    """Print a line if the live cluster cannot be read; the page says so, too, and reads it again."""
    try:
        if live is not None:
            await live.text()
    except PodberthError as error:
        talk([f"--live: the cluster cannot be read: {error}; the page shows none of its nodes, and tries again"])


def _session(arguments: argparse.Namespace) -> Session:
    session = Session()
    if arguments.session is not None:
        text = named_text(arguments.session, MAX_POLICY_BYTES)
        try:
            session = session_of(json.loads(text))
        except ValueError as error:
            raise UsageError(f"{arguments.session}: got no JSON, want a file that the page has saved") from error
        except UsageError as error:
            raise UsageError(f"{arguments.session}: {error}") from error
    files = {name: getattr(arguments, name) for name in _TEXTS}
    texts = {name: named_text(file, MAX_POLICY_BYTES) for name, file in files.items() if file is not None}
    if arguments.live:  # nodes of an example or a session would be taken for those of the cluster
        texts.setdefault("cluster", _UNREAD)
    if arguments.namespace is not None:
        texts["namespace"] = arguments.namespace
    return session_of({**session.as_json(), **texts})


def _live(arguments: argparse.Namespace) -> LiveCluster | None:
    """Return the cluster that the page follows; None without --live."""
    if arguments.live:
        return LiveCluster(kubeconfig=access.kubeconfig_of(arguments))
    if given := [flag for flag, value in _ACCESS.items() if getattr(arguments, value)]:
        raise UsageError(f"playground: got {', '.join(given)} without --live, want both")
    return None


def _worker(arguments: argparse.Namespace) -> Worker:
    """Return the worker that decides with the files about the cluster; each is read once here, for its errors."""
    if arguments.conventions is not None or arguments.pod_schema is not None:
        files = access.cluster_files_of(arguments)
        files.names()
        files.environment()
    return Worker(conventions=arguments.conventions, pod_schema=arguments.pod_schema)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
