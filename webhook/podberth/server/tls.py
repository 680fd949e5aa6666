"""The TLS context of the review port, and its certificate, which can be replaced while connections stay open."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from ..errors import CertificateError
from ..files.reading import MAX_SMALL_BYTES, read_in_time
from ..pki.certificate import Leaf, check_pair, read_leaf


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The paths of a certificate chain and its key, PEM."""

    certificate: Path
    key: Path

    def revision(self) -> object:
        """Return the content of the files, or why they cannot be read: they are small enough to read each time."""
        try:
            return _read(self.certificate), _read(self.key)
        except CertificateError as error:
            return str(error)


def new_context() -> ssl.SSLContext:
    """Return a context without a certificate yet.

    TLS 1.2 is the default minimum of the apiserver (--tls-min-version), and SIG Security's recommendation. The ciphers
    are OpenSSL's own. The apiserver speaks only HTTP/1.1 to webhooks behind a Service.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def read_pair(files: CertificateFiles) -> tuple[Leaf, bytes, bytes]:
    """Return the certificate of ``files``, its chain as PEM, and its key.

    They are read once and checked before OpenSSL gets them: it accepts a certificate before it notices that the key
    belongs to another, and every handshake after that would fail.

    Raises:
        CertificateError: they cannot be read or do not fit.
    """
    certificate, key = _read(files.certificate), _read(files.key)
    leaf = read_leaf(certificate, str(files.certificate))
    check_pair(leaf, key, str(files.key))
    return leaf, certificate, key


def show_pair(context: ssl.SSLContext, certificate: bytes, key: bytes, where: str) -> None:
    """Use a certificate and its key, both PEM, for new connections of ``context``.

    Raises:
        CertificateError: OpenSSL refuses it; the context is as it was.
    """
    pem = certificate + b"\n" + key
    # Tried on a separate context first: OpenSSL may still refuse what cryptography accepts (a weak key, a bad chain).
    for target in (new_context(), context):
        try:
            _load(target, pem)
        except OSError as error:  # ssl.SSLError is one; no descriptor for the memory file is another
            reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
            raise CertificateError(f"{where}: cannot be loaded: {reason or error}") from error


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Load certificate and key from memory. ``ssl`` takes paths only, and the files may change between two reads.

    A memory file and not one in a tmpfs: no other process can open it by name, it needs no writable directory, and it
    disappears with its descriptor, however this process ends.
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
