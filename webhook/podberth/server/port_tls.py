"""The TLS settings of the review port: the port's certificate, and the CA certificates that sign clients' certificates.

The certificate and the CA certificates can be replaced at run time. No CA certificate can be removed from an
``ssl.SSLContext``. So if clients must authenticate, each set of CA certificates has its own context, and a handshake
switches to the newest context after the client's hello. Open connections stay open.
"""

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CertificateError
from ..files.reading import MAX_SMALL_BYTES, read_in_time
from ..pki.authorities import certificates_in, pem
from ..pki.certificate import LeafCertificate, check_pair, read_leaf
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The paths of two PEM files: a certificate chain and its private key."""

    certificate: Path
    key: Path

    def revision(self) -> object:
        """Return a value that changes when the files change: the content, or the reason why the files cannot be read.

        The files are small enough to be read each time.
        """
        try:
            return _read(self.certificate), _read(self.key)
        except CertificateError as error:
            return str(error)


def new_context() -> ssl.SSLContext:
    """Return a TLS context for the server, without a certificate.

    The minimum version is TLS 1.2, the default minimum of the apiserver (--tls-min-version) and SIG Security's
    recommendation. The ciphers are OpenSSL's defaults. The context offers only HTTP/1.1, the only version that the
    apiserver uses for webhooks behind a Service.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def read_pair(files: CertificateFiles) -> tuple[LeafCertificate, bytes, bytes]:
    """Return the certificate in ``files``, its chain as PEM, and its private key as PEM.

    The files are read once and checked before OpenSSL gets them. OpenSSL accepts a certificate before it notices that
    the key belongs to another certificate, and every handshake after that would fail.

    Raises:
        CertificateError: the files cannot be read, or the key does not belong to the certificate.
    """
    certificate, key = _read(files.certificate), _read(files.key)
    leaf = read_leaf(certificate, str(files.certificate))
    check_pair(leaf, key, str(files.key))
    return leaf, certificate, key


def show_pair(context: ssl.SSLContext, certificate: bytes, key: bytes, where: str) -> None:
    """Use a certificate and key (PEM) for new connections of ``context``.

    ``where`` names the source of the certificate in messages.

    Raises:
        CertificateError: OpenSSL refuses the certificate; the context is unchanged.
    """
    pem = certificate + b"\n" + key
    # Tried on a separate context first: OpenSSL may still refuse what cryptography accepts (a weak key, a bad chain).
    for target in (new_context(), context):
        try:
            _load(target, pem)
        except OSError as error:  # ssl.SSLError, or no descriptor was left for the memory file
            reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
            raise CertificateError(f"{where}: cannot be loaded: {reason or error}") from error


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Load certificate and key from memory, because the files may change between two reads.

    Python's ssl module accepts only paths, so the PEM is written to an anonymous memory file. No other process can open
    a memory file by name, a memory file needs no writable directory, and disappears with its descriptor, however this
    process ends.
    """
    descriptor = os.memfd_create("podberth-certificate")
    try:
        os.write(descriptor, pem)
        # The password keeps OpenSSL from asking for one at the terminal; encrypted keys were refused before.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password="")
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes:
    try:
        return read_in_time(path, MAX_SMALL_BYTES)
    except OSError as error:
        raise CertificateError(f"{path}: cannot be read: {error.strerror}") from error


class PortTls:
    """The TLS settings of a port: listeners use ``context``, and the methods change it for new connections."""

    def __init__(self, *, ask_clients: bool = False) -> None:
        """Create the context without a certificate.

        If ``ask_clients`` is set, clients must authenticate, and no client is accepted before the first call of
        ``trust``.
        """
        self.context = new_context()
        self._pair: tuple[bytes, bytes, str] | None = None
        self._authorities = ""
        self._current: ssl.SSLContext | None = None
        if ask_clients:
            _ask(self.context)
            self.context.sni_callback = self._choose

    def show(self, certificate: bytes, key: bytes, where: str) -> None:
        """Use a certificate and key (PEM) for new connections; ``where`` names the source of both in messages.

        Raises:
            CertificateError: OpenSSL refuses the certificate; the previous certificate stays in use.
        """
        show_pair(self.context, certificate, key, where)
        self._pair = (certificate, key, where)
        if self._authorities:
            self._current = self._built(self._authorities)

    def trust(self, authorities: bytes, where: str) -> int:
        """Accept only clients with certificates that ``authorities`` have signed.

        ``authorities`` are the CA certificates (PEM), and ``where`` names their source in messages. The result is the
        number of CA certificates.

        Raises:
            CertificateError: the text has no CA certificate; the previous CA certificates stay in use.
        """
        found = certificates_in(authorities)
        if not found:
            raise CertificateError(f"{where}: got no certificate that can be read, want the CA of clients, PEM")
        text = pem(found).decode()
        self._current = self._built(text)
        self._authorities = text
        return len(found)

    def _built(self, authorities: str) -> ssl.SSLContext:
        context = new_context()
        _ask(context)
        context.load_verify_locations(cadata=authorities)
        if self._pair:
            show_pair(context, *self._pair)
        return context

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        if self._current is not None:
            connection.context = self._current


def _ask(context: ssl.SSLContext) -> None:
    context.verify_mode = ssl.CERT_REQUIRED
    # A resumed session would skip this check, and so outlive a removed authority.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0


class WatchedClientAuthority:
    """Watches the file with the CA certificates that sign clients' certificates, and loads each new version."""

    what = "client CA"

    def __init__(self, path: Path, tls: PortTls, metrics: Metrics, log: Log) -> None:
        self._path = path
        self._tls = tls
        self._metrics = metrics
        self._log = log
        self._seen: tuple[bytes, str] | None = None

    async def refresh(self) -> None:
        """Load the file with the CA certificates if it has changed.

        Raises:
            CertificateError: the file cannot be used; the previous CA certificates stay in use.
        """
        try:
            text = await asyncio.to_thread(read_in_time, self._path, MAX_SMALL_BYTES)
            failure = ""
        except OSError as error:
            text, failure = b"", f"--client-ca: {self._path}: cannot be read: {error.strerror}"
        if (text, failure) == self._seen:
            return
        self._seen = (text, failure)
        if failure:
            raise CertificateError(failure)
        count = self._tls.trust(text, f"--client-ca: {self._path}")
        self._metrics.reloaded(self.what, ok=True)
        self._log.event("info", "loaded", what=[self.what], authorities=count)


def names_of(certificate: Mapping[str, Any]) -> set[str]:
    """Return the common name and the alternative names in a client's certificate, as Python's ssl module decodes it."""
    subject = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return subject | {value for _, value in certificate.get("subjectAltName", ())}
