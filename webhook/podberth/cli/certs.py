"""``podberth certs``: show and rotate the certificate authorities of a cluster."""

import argparse
import asyncio
import re
import socket
import ssl
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

from ..api.protocol import Timing
from ..cluster.shared_ca import ReadConfiguration, ReadSecret, SharedAuthorities, open_shared
from ..errors import CertificateError, ClusterError, UsageError
from ..pki.authorities import life_of
from ..pki.inspection import Presented, inspect, read_presented
from ..pki.rotation import new_signer, rotated, stage
from ..settings import Address, parse_address
from ..wellknown import NAMESPACE
from .access import add_kubeconfig, kubeconfig_of
from .certs_text import as_json, as_text
from .exitcodes import ExitCode
from .output import write_text

_CONNECT_SECONDS = 10.0
# A replica reads about every ten seconds.
_LOOK_SECONDS = 1.0
_UNITS = {"s": 1, "m": 60, "h": 3600}
# As the API server's own requests: a person waits.
_TIMING = Timing(list_seconds=15.0)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    status = actions.add_parser("status", help="show authorities and caBundles; exit 1 if there is a problem")
    status.add_argument("--connect", metavar="HOST:PORT", help="also show what podberth presents there")
    status.add_argument(
        "--server-name",
        metavar="NAME",
        default=f"podberth.{NAMESPACE}.svc",
        help="the name that the API server checks (default %(default)s)",
    )
    status.add_argument("-o", "--output", choices=("text", "json"), default="text", help="(default text)")
    rotate = actions.add_parser("rotate", help="start a rotation of the authority; the replicas complete it")
    rotate.add_argument("--wait", metavar="LIFE", type=_seconds, help="return once it is done; 1 if not within, as 48h")
    rotate.add_argument(
        "--force",
        action="store_true",
        help="a key has leaked: start even during a rotation, and drop the old authority within minutes",
    )
    for each in (status, rotate):
        add_kubeconfig(each)
        each.add_argument("--ca-secret", metavar="NAME", default="podberth-ca", help="(default %(default)s)")
        each.add_argument(
            "--webhook-configuration", metavar="NAME", default="podberth", help="of both kinds (default %(default)s)"
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand."""
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    kubeconfig = kubeconfig_of(arguments)
    shared = open_shared(kubeconfig, arguments.ca_secret, arguments.webhook_configuration, _TIMING)
    try:
        if arguments.action == "status":
            return await _status(shared, arguments)
        return await _rotate(shared, force=arguments.force, wait_seconds=arguments.wait)
    finally:
        await shared.reset()


async def _status(shared: SharedAuthorities, arguments: argparse.Namespace) -> int:
    configurations = await shared.configurations(injected=True)
    secret, unreadable = None, ""
    try:
        secret = await shared.secret()
    except CertificateError as error:
        unreadable = str(error)
    presented = None
    if arguments.connect:
        presented = await asyncio.to_thread(_presented, arguments.connect, arguments.server_name, configurations)
    now = datetime.now(UTC)
    registrations = [each.registration for each in configurations]
    report = inspect(secret.authorities if secret else None, registrations, presented, now)
    if unreadable:
        report = replace(report, problems=(unreadable, *report.problems))
    text = as_json(report) if arguments.output == "json" else as_text(report, shared.where, now)
    write_text(text)
    return ExitCode.FINDINGS if report.problems else ExitCode.OK


def _presented(address: str, server_name: str, configurations: tuple[ReadConfiguration, ...]) -> Presented:
    """Shake hands twice: once to read the certificate, once as the API server does."""
    host, port = _reachable(address)
    seeing = ssl.create_default_context()
    seeing.check_hostname = False
    seeing.verify_mode = ssl.CERT_NONE
    bundles = b"\n".join(bundle for each in configurations for bundle in each.registration.bundles)
    try:
        der = _handshake(host, port, server_name, seeing)
        refusal = _refusal(host, port, server_name, bundles.decode("ascii", "replace"))
    except OSError as error:
        raise ClusterError("lost", f"--connect: {address}: cannot be reached: {error}; check the address") from error
    return read_presented(address, der, refusal)


def _reachable(address: str) -> tuple[str, int]:
    """Parse an address that a client can connect to: ``parse_address`` also accepts those of servers alone."""
    try:
        where = parse_address(address)
    except ValueError:
        where = Address("", 0)
    if not (where.host and where.port):
        raise UsageError(f"--connect: got {address!r}, want HOST:PORT")
    return where.host, where.port


def _refusal(host: str, port: int, server_name: str, authorities: str) -> str:
    """Shake hands with these authorities, PEM; return why that fails, "" where it does not."""
    try:
        # No certificate at all is an error of ssl's own.
        _handshake(host, port, server_name, ssl.create_default_context(cadata=authorities))
    except (ssl.SSLError, ValueError) as error:
        return getattr(error, "verify_message", "") or str(error)
    return ""


def _handshake(host: str, port: int, server_name: str, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=server_name) as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""


async def _rotate(shared: SharedAuthorities, *, force: bool, wait_seconds: float | None) -> int:
    await _begin(shared, force=force)
    sys.stderr.write(f"podberth: {shared.where}: a new authority was made; the replicas complete the rotation\n")
    if wait_seconds is None:
        return ExitCode.OK
    deadline = asyncio.get_running_loop().time() + wait_seconds
    while left := await _left(shared):
        if asyncio.get_running_loop().time() >= deadline:
            sys.stderr.write(f"podberth: {shared.where}: {left}: not done in time; see podberth certs status\n")
            return ExitCode.FINDINGS
        await asyncio.sleep(_LOOK_SECONDS)
    sys.stderr.write(f"podberth: {shared.where}: rotated\n")
    return ExitCode.OK


async def _begin(shared: SharedAuthorities, *, force: bool) -> None:
    """Write a new next authority into the Secret."""
    while True:
        secret = await shared.secret()
        if secret is None:
            raise UsageError(f"{shared.where}: got none, want one; podberth serve --ca-secret makes it")
        authorities = secret.authorities
        if stage(authorities) != "none" and not force:
            raise UsageError(f"{shared.where}: a rotation is under way; wait for it, or --force if a key leaked")
        model = authorities.current or authorities.next
        assert model is not None  # noqa: S101 - decode sees to one or the other
        try:
            # With the lifetimes of the present authority: only the replicas have the flags.
            signer = new_signer(life_of(model.certificate), model.leaf_life, datetime.now(UTC))
            await shared.store(secret, rotated(authorities, signer, hurried=force))
        except ClusterError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        else:
            return


async def _left(shared: SharedAuthorities) -> str:
    """Return the condition that a rotation waits for; "" once it is done. An API server may be away for a day.

    Raises:
        ClusterError: the API server refuses.
    """
    try:
        secret = await shared.secret()
        if secret is None:
            return "stage deleted"
        at = stage(secret.authorities)
        return "" if at == "none" and await _trusted(shared, secret) else f"stage {at}"
    except ClusterError as error:
        if error.reason == "refused":
            raise
        await shared.reset()
        return str(error)


async def _trusted(shared: SharedAuthorities, secret: ReadSecret) -> bool:
    try:
        configurations = await shared.configurations()
    except CertificateError:
        return False
    return all(each.registration.trusts_exactly(secret.authorities.trusted) for each in configurations)


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([smh])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"got {text!r}, want a number and s, m or h, as in 10m")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]]).total_seconds()
