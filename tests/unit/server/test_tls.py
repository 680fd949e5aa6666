import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from podberth.errors import CertificateError
from podberth.server.self_signed import ensure
from podberth.server.tls import CertificateFiles, load_certificate, new_context

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_nothing_below_tls_1_2_is_spoken() -> None:
    assert new_context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"nowhere\.crt: cannot be read: No such file"):
        load_certificate(new_context(), CertificateFiles(tmp_path / "nowhere.crt", tmp_path / "nowhere.key"))


def test_key_that_openssl_finds_too_weak_leaves_the_context_as_it_was(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, ("localhost",), _NOW)
    context = new_context()
    load_certificate(context, files)
    files.certificate.write_bytes(files.certificate.read_bytes() + b"-----BEGIN CERTIFICATE-----\nAAAA\n")
    with pytest.raises(CertificateError):
        load_certificate(context, files)


def test_revision_changes_with_the_files(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, ("localhost",), _NOW)
    before = files.revision()
    assert files.revision() == before
    files.key.unlink()
    assert files.revision() != before
