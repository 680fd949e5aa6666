import os
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from podberth.errors import CertificateError
from podberth.server.port_tls import CertificateFiles, PortTls, new_context, read_pair
from podberth.server.self_signed import ensure

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_nothing_below_tls_1_2_is_spoken() -> None:
    assert new_context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"nowhere\.crt: cannot be read: No such file"):
        read_pair(CertificateFiles(tmp_path / "nowhere.crt", tmp_path / "nowhere.key"))


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
def test_a_named_pipe_is_named_and_is_not_waited_for(tmp_path: Path, name: str) -> None:
    files, _ = ensure(tmp_path, ("localhost",), _NOW)
    before = files.revision()
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert files.revision() != before
    with pytest.raises(CertificateError, match=f"{name}: cannot be read: got a named pipe, want a regular file"):
        read_pair(files)


def test_a_pair_that_openssl_cannot_load_is_refused(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, ("localhost",), _NOW)
    tls = PortTls()
    _, certificate, key = read_pair(files)
    tls.show(certificate, key, "tls.crt")
    files.certificate.write_bytes(files.certificate.read_bytes() + b"-----BEGIN CERTIFICATE-----\nAAAA\n")
    with pytest.raises(CertificateError):
        tls.show(files.certificate.read_bytes(), key, "tls.crt")


def test_revision_changes_with_the_files(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, ("localhost",), _NOW)
    before = files.revision()
    assert files.revision() == before
    files.key.unlink()
    assert files.revision() != before
