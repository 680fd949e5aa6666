from datetime import UTC, datetime

import pytest

from podberth.errors import CertificateError
from podberth.pki.certificate import check_pair, read_leaf
from podberth.pki.issue import Validity, issue_leaf, new_authority

_VALIDITY = Validity(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "pem",
    [b"", b"hello", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\xff" * 100],
    ids=["empty", "text", "no certificate inside", "bytes"],
)
def test_a_file_that_is_no_certificate_is_refused_by_name(pem: bytes) -> None:
    with pytest.raises(CertificateError, match=r"^tls\.crt: got no certificate"):
        read_leaf(pem, "tls.crt")


def test_first_of_a_chain_is_the_leaf() -> None:
    authority = new_authority("ca", _VALIDITY)
    issued = issue_leaf(authority, ("localhost",), _VALIDITY)
    assert read_leaf(issued.certificate + authority.pem, "tls.crt").names == ("localhost",)


def test_key_of_another_certificate_is_refused_and_not_shown() -> None:
    authority = new_authority("ca", _VALIDITY)
    first, second = (issue_leaf(authority, ("localhost",), _VALIDITY) for _ in range(2))
    with pytest.raises(CertificateError, match=r"^tls\.key: got the key of another") as caught:
        check_pair(read_leaf(first.certificate, "tls.crt"), second.key, "tls.key")
    assert second.key.decode().splitlines()[1] not in str(caught.value)


def test_a_file_that_is_no_key_is_refused_and_not_shown() -> None:
    issued = issue_leaf(new_authority("ca", _VALIDITY), ("localhost",), _VALIDITY)
    with pytest.raises(CertificateError, match=r"^tls\.key: got no private key") as caught:
        check_pair(read_leaf(issued.certificate, "tls.crt"), b"secret", "tls.key")
    assert "secret" not in str(caught.value)
