"""``podberth certs``: shows and rotates the certificate authorities of a cluster."""

import argparse
import asyncio
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from ..api.protocol import Timing
from ..cluster.shared_ca import ReadConfiguration, ReadSecret, SharedAuthorities, open_shared
from ..errors import CertificateError, ClusterError, UsageError
from ..pki.authorities import life_of
from ..pki.inspection import CertificateReport, Presented, ShownCertificate, inspect, read_presented
from ..pki.rotation import new_signer, rotated, stage
from ..settings import Address, parse_address
from ..wellknown import NAMESPACE
from ..words import lasting
from .access import add_kubeconfig, add_output, kubeconfig_of, life
from .exitcodes import ExitCode
from .output import talk, write_text

_CONNECT_SECONDS = 10.0
# A replica reads about every ten seconds.
_LOOK_SECONDS = 1.0
# As the API server's own requests: a person waits.
_TIMING = Timing(list_seconds=15.0)
_STAGES = {
    None: "none: certificates come from elsewhere (cert-manager, files)",
    "none": "no rotation under way",
    "spreading": "rotation: the next authority is spreading to all API servers, and signs nothing yet",
    "draining": "rotation: the next authority signs; the one before is trusted until its last leaf has expired",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of ``podberth certs``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    status = actions.add_parser("status", help="show authorities and caBundles; exit 1 if there is a problem")
    status.add_argument("--connect", metavar="HOST:PORT", help="also show what podberth presents there")
    status.add_argument(
        "--server-name",
        metavar="NAME",
        default=f"podberth.{NAMESPACE}.svc",
        help="the name that the API server checks (default %(default)s)",
    )
    add_output(status)
    rotate = actions.add_parser("rotate", help="start a rotation of the authority; the replicas complete it")
    rotate.add_argument("--wait", metavar="LIFE", type=life, help="return once it is done; 1 if not within, as 48h")
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
    """Run the subcommand of ``podberth certs`` and return the exit code."""
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    kubeconfig = kubeconfig_of(arguments)
    shared = open_shared(kubeconfig, arguments.ca_secret, arguments.webhook_configuration, _TIMING)
    try:
        if arguments.action == "status":
            return await _status(shared, arguments)
        return await _rotate(shared, force=arguments.force, wait=arguments.wait)
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
    as_json = arguments.output == "json"
    write_text(_as_json(report) if as_json else "\n".join(_lines(report, shared.where, now)) + "\n")
    return ExitCode.FINDINGS if report.problems else ExitCode.OK


def _presented(address: str, server_name: str, configurations: tuple[ReadConfiguration, ...]) -> Presented:
    """Return the certificate that a server presents, and the reason why the API server would refuse the certificate.

    The reason is empty if the API server would accept the certificate. The API server trusts the CA certificates in
    ``configurations``. The call makes two TLS handshakes.
    """
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
    """Return (host, port) from the value of --connect, which must have both."""
    try:
        where = parse_address(address)
    except ValueError:
        where = Address("", 0)
    if not (where.host and where.port):
        raise UsageError(f"--connect: got {address!r}, want HOST:PORT")
    return where.host, where.port


def _refusal(host: str, port: int, server_name: str, authorities: str) -> str:
    """Return why a TLS handshake that trusts ``authorities`` (PEM) fails with a server; empty if there is no error."""
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


async def _rotate(shared: SharedAuthorities, *, force: bool, wait: timedelta | None) -> int:
    await _begin(shared, force=force)
    talk([f"{shared.where}: a new authority was made; the replicas complete the rotation"])
    if wait is None:
        return ExitCode.OK
    deadline = asyncio.get_running_loop().time() + wait.total_seconds()
    while left := await _left(shared):
        if asyncio.get_running_loop().time() >= deadline:
            talk([f"{shared.where}: {left}: not done in time; see podberth certs status"])
            return ExitCode.FINDINGS
        await asyncio.sleep(_LOOK_SECONDS)
    talk([f"{shared.where}: rotated"])
    return ExitCode.OK


async def _begin(shared: SharedAuthorities, *, force: bool) -> None:
    """Start a rotation: write a new CA, the future one, into the Secret.

    ``force`` is for a leaked key: the rotation starts even if another one is under way, and the API server trusts
    the replaced CA only for a short time.

    Raises:
        UsageError: there is no Secret, or a rotation is under way and ``force`` is false.
    """
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
    """Return the condition that a rotation of the CA still waits for; empty if the rotation is complete.

    If the API server cannot be reached, the result is the error message, because a rotation may outlast an outage of
    the API server.

    Raises:
        ClusterError: the API server refuses the request.
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


# ---- the output of certs status --------------------------------------------------------------------------------------


def _as_json(report: CertificateReport) -> str:
    """Return a certificate report as a JSON document."""
    document = {
        "stage": report.stage,
        "authorities": [_document(each) for each in report.authorities],
        "caBundles": [
            {
                "configuration": each.where,
                "entries": each.entries,
                "complete": each.complete,
                "certificates": [_document(one) for one in each.trusted],
            }
            for each in report.bundles
        ],
        "presented": [_document(each) for each in report.presented],
        "problems": list(report.problems),
    }
    return json.dumps(document, indent=2) + "\n"


def _lines(report: CertificateReport, where: str, now: datetime) -> Iterator[str]:
    """Yield the lines of a certificate report as text; ``where`` names the Secret with the CA."""
    yield f"{where}: {_STAGES[report.stage]}"
    yield from (_row(each, now) for each in report.authorities)
    for bundle in report.bundles:
        state = "as expected" if bundle.complete else "NOT as expected"
        yield f"{bundle.where}: caBundle of {bundle.entries} entries {state}"
        yield from (_row(each, now) for each in bundle.trusted)
    if report.presented:
        yield "presented:"
        yield from (_row(each, now) for each in report.presented)
    yield from (f"problem: {problem}" for problem in report.problems)


def _row(known: ShownCertificate, now: datetime) -> str:
    left = f"expires {known.not_after:%Y-%m-%d %H:%M:%SZ} ({_in(known.not_after, now)})"
    until = f", dropped {_in(known.until, now)}" if known.until else ""
    return f"  {known.role:9} {known.name}  sha256 {known.fingerprint}  {left}{until}"


def _in(moment: datetime, now: datetime) -> str:
    seconds = (moment - now).total_seconds()
    return f"in {lasting(seconds)}" if seconds > 0 else "over"


def _document(known: ShownCertificate) -> dict[str, Any]:
    return {
        "role": known.role,
        "name": known.name,
        "sha256": known.fingerprint,
        "notAfter": known.not_after.isoformat(),
        "until": known.until and known.until.isoformat(),
    }
