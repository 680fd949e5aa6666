import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podberth.errors import CertificateError
from podberth.pki.authorities import (
    SECRET_KEY,
    Authorities,
    Retired,
    certificates_in,
    decode,
    encode,
    life_of,
    pem,
)
from podberth.pki.rotation import new_signer

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_YEAR, _DAY = timedelta(days=365), timedelta(days=1)
_ONE, _TWO, _THREE = (new_signer(_YEAR, _DAY, _NOW) for _ in range(3))
_ALL = Authorities(_ONE, _TWO, (Retired(_THREE.certificate, _NOW + _DAY),), hurried=True)


def _read(document: Any) -> Authorities:
    return decode({SECRET_KEY: json.dumps(document).encode()}, "Secret a/b")


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(encode(_ALL))
    return document


def test_encoded_authorities_are_decoded_to_the_same() -> None:
    found = decode({SECRET_KEY: encode(_ALL)}, "Secret a/b")
    assert found.trusted == _ALL.trusted
    assert (found.previous, found.hurried) == (_ALL.previous, True)
    assert found.current
    assert found.current.leaf_life == _DAY
    assert found.current.authority.key.private_numbers() == _ONE.authority.key.private_numbers()


def test_a_retired_authority_is_kept_without_its_key() -> None:
    assert set(_document()["previous"][0]) == {"certificate", "until"}
    assert encode(_ALL).count(b"BEGIN PRIVATE KEY") == 2


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ({"schemaVersion": "v2"}, "schemaVersion 'v2'"),
        ({"current": None, "next": None}, "neither a current nor a next authority"),
        ({"current": {**_document()["current"], "key": _document()["next"]["key"]}}, "cannot be read"),
        ({"current": {**_document()["current"], "key": "secret"}}, "cannot be read"),
        ({"current": "secret"}, "cannot be read"),
        ({"previous": [{"certificate": "secret", "until": "2026-01-01T00:00:00Z"}]}, "cannot be read"),
        ({"previous": [{**_document()["previous"][0], "until": "2026-01-01T00:00:00"}]}, "cannot be read"),
        ({"previous": [{}]}, "no 'certificate'"),
    ],
)
def test_a_secret_of_another_writer_is_refused_and_not_shown(change: dict[str, Any], got: str) -> None:
    with pytest.raises(
        CertificateError, match=r"^Secret a/b: got .*, want the authorities .*delete the Secret"
    ) as caught:
        _read({**_document(), **change})
    assert got in str(caught.value)
    assert "secret" not in str(caught.value).replace("Secret", "")


@pytest.mark.parametrize("data", [{}, {"tls.key": b"secret"}, {SECRET_KEY: b"{"}, {SECRET_KEY: b"\xff"}])
def test_a_secret_of_somebody_elses_is_refused(data: dict[str, bytes]) -> None:
    with pytest.raises(CertificateError, match=r"^Secret a/b: got "):
        decode(data, "Secret a/b")


def test_parts_of_a_bundle_that_are_no_certificates_are_skipped() -> None:
    whole = _ONE.authority.pem
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    found = certificates_in(b"# ours\n" + broken + whole + b"\nnoise\n" + whole + _TWO.authority.pem[:-20])
    assert found == (_ONE.certificate,)
    assert certificates_in(b"") == ()
    assert pem(found) == whole


@pytest.mark.parametrize("life", [_YEAR, _DAY, timedelta(hours=1), timedelta(days=30)])
def test_the_life_of_an_authority_is_found_again(life: timedelta) -> None:
    assert life_of(new_signer(life, _DAY, _NOW).certificate) == life
