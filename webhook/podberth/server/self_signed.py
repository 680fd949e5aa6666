"""A self-signed certificate for demos and tests in clusters without cert-manager, created at start in a directory.

The CA's private key is discarded after signing the serving certificate, so no other certificate can be signed with the
key. A renewal changes the CA, so ca.crt has to be put into caBundle again.
"""

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from secrets import token_bytes

from ..errors import CertificateError
from ..files.reading import in_time
from ..mutation.seal import RECORD_KEY
from ..pki.issue import issue_leaf, living, new_authority
from ..pki.replica_certificate import renewal_due
from .port_tls import CertificateFiles, read_pair

# A restart renews the certificate after two thirds of this time. New releases restart a replica sooner than that.
LIFE = timedelta(days=365)
# As many bytes as a SHA-256 hash has.
_KEY_BYTES = 32


def ensure(directory: Path, names: Sequence[str], now: datetime) -> tuple[CertificateFiles, str]:
    """Return (the files of a serving certificate for ``names``, the reason why the certificate was created now).

    The reason is "" if the present certificate is kept.

    Raises:
        CertificateError: the directory cannot be written, or the result cannot be used.
    """
    try:
        return in_time(directory, partial(_ensured, directory, names, now))
    except TimeoutError as error:
        raise CertificateError(f"{directory}: cannot be read: {error.strerror}") from error


def _ensured(directory: Path, names: Sequence[str], now: datetime) -> tuple[CertificateFiles, str]:
    files = CertificateFiles(directory / "tls.crt", directory / "tls.key")
    reason = _unusable(files, directory / "ca.crt", names, now)
    if reason:
        validity = living(LIFE, now)
        authority = new_authority("podberth self-signed", validity)
        issued = issue_leaf(authority, names, validity)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            # An interrupted renewal must not leave a ca.crt that did not sign the new pair: without it, the next start
            # renews again.
            (directory / "ca.crt").unlink(missing_ok=True)
            _write(files.key, issued.key, 0o600)
            _write(files.certificate, issued.certificate, 0o644)
            _write(directory / "ca.crt", authority.pem, 0o644)
        except OSError as error:
            raise CertificateError(f"{directory}: cannot be written: {error.strerror}") from error
    return files, reason


def ensure_record_key(directory: Path) -> Path:
    """Return the path of the key that seals records; the file is created if it does not exist.

    Raises:
        CertificateError: the directory cannot be written.
    """
    path = directory / RECORD_KEY
    try:
        in_time(directory, partial(_make_once, path))
    except OSError as error:
        raise CertificateError(f"{directory}: cannot be written: {error.strerror}") from error
    return path


def _make_once(path: Path) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, token_bytes(_KEY_BYTES), 0o600)


def _unusable(files: CertificateFiles, authority: Path, names: Sequence[str], now: datetime) -> str:
    """Return why the present certificate files cannot be used; "" if they can be used."""
    if not (files.certificate.exists() and files.key.exists() and authority.exists()):
        return "there was none"
    try:
        leaf, *_ = read_pair(files)
    except CertificateError as error:
        return str(error)
    if set(leaf.names) != set(names):
        return f"it was for {', '.join(leaf.names)}"
    return renewal_due(leaf.validity.not_before, leaf.validity.not_after, now) or ""


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace a file atomically: a reader sees the old or the new content.

    The file gets its mode before its content.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
