import ssl
import stat
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podberth.errors import CertificateError
from podberth.server.self_signed import LIFE, ensure

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_NAMES = ("localhost", "127.0.0.1")


def _content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_certificate_is_made_once_and_used_again(tmp_path: Path) -> None:
    files, reason = ensure(tmp_path / "new", _NAMES, _NOW)
    assert reason == "there was none"
    made = _content(tmp_path / "new")
    assert set(made) == {"ca.crt", "tls.crt", "tls.key"}
    assert ensure(tmp_path / "new", _NAMES, _NOW + timedelta(days=30)) == (files, "")
    assert _content(tmp_path / "new") == made


def test_key_is_its_owners_alone(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, _NAMES, _NOW)
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.certificate.stat().st_mode) == 0o644


def test_authority_verifies_the_leaf(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, _NAMES, datetime.now(UTC))
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate, files.key)
    sides = [(ssl.MemoryBIO(), ssl.MemoryBIO()), (ssl.MemoryBIO(), ssl.MemoryBIO())]
    client = context.wrap_bio(*sides[0], server_hostname="localhost")
    answering = server.wrap_bio(*sides[1], server_side=True)
    for _ in range(4):
        for side in (client, answering):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
            sides[1][0].write(sides[0][1].read())
            sides[0][0].write(sides[1][1].read())
    assert client.version() == "TLSv1.3"


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda directory: (directory / "ca.crt").unlink(), "there was none"),
        (lambda directory: (directory / "tls.key").write_text("x"), "got no private key"),
        (lambda directory: (directory / "tls.crt").write_text("x"), "got no certificate"),
    ],
)
def test_unusable_files_are_made_again(tmp_path: Path, harm: object, reason: str) -> None:
    ensure(tmp_path, _NAMES, _NOW)
    assert callable(harm)
    harm(tmp_path)
    assert reason in ensure(tmp_path, _NAMES, _NOW)[1]
    assert ensure(tmp_path, _NAMES, _NOW)[1] == ""


def test_other_names_and_old_age_are_reasons_for_a_new_one(tmp_path: Path) -> None:
    ensure(tmp_path, _NAMES, _NOW)
    assert ensure(tmp_path, ("localhost",), _NOW)[1] == "it was for 127.0.0.1, localhost"
    assert "two thirds" in ensure(tmp_path, ("localhost",), _NOW + LIFE * 0.7)[1]


def test_no_certificate_is_made_while_the_authority_of_before_stays(tmp_path: Path) -> None:
    files, _ = ensure(tmp_path, _NAMES, _NOW)
    key = files.key.read_bytes()
    (tmp_path / "ca.crt").unlink()
    (tmp_path / "ca.crt").mkdir()
    with pytest.raises(CertificateError, match="cannot be written"):
        ensure(tmp_path, ("localhost",), _NOW)
    assert files.key.read_bytes() == key


def test_directory_that_cannot_be_written_is_the_operators_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match="file/tls: cannot be written"):
        ensure(tmp_path / "file" / "tls", _NAMES, _NOW)
