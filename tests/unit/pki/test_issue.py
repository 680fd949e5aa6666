from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from podberth.errors import CertificateError
from podberth.pki.certificate import check_pair, read_leaf
from podberth.pki.issue import Authority, Validity, issue_leaf, new_authority

_VALIDITY = Validity(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))


def _authority() -> Authority:
    return new_authority("test", _VALIDITY)


def test_leaf_is_for_its_names_and_its_time() -> None:
    issued = issue_leaf(_authority(), ("podberth.ns.svc", "127.0.0.1", "::1"), _VALIDITY)
    leaf = read_leaf(issued.certificate, "tls.crt")
    assert leaf.names == ("127.0.0.1", "::1", "podberth.ns.svc")
    assert leaf.validity == _VALIDITY
    check_pair(leaf, issued.key, "tls.key")


def test_leaf_is_signed_by_the_authority_and_cannot_sign() -> None:
    authority = _authority()
    issued = issue_leaf(authority, ("localhost",), _VALIDITY)
    certificate = x509.load_pem_x509_certificate(issued.certificate)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.pem))
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert authority.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_common_name_is_shortened_to_the_limit_of_x509() -> None:
    name = "podberth." + "a" * 60 + ".svc"
    leaf = read_leaf(issue_leaf(_authority(), (name,), _VALIDITY).certificate, "tls.crt")
    assert leaf.names == (name,)


@pytest.mark.parametrize("names", [(), ("münchen",)])
def test_names_that_are_none_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(CertificateError, match="want a DNS name or an IP address"):
        issue_leaf(_authority(), names, _VALIDITY)


def test_two_leaves_never_share_key_or_serial() -> None:
    authority = _authority()
    first, second = (issue_leaf(authority, ("localhost",), _VALIDITY) for _ in range(2))
    assert first.key != second.key
    serials = {x509.load_pem_x509_certificate(each.certificate).serial_number for each in (first, second)}
    assert len(serials) == 2


def test_longer_life_is_kept() -> None:
    validity = Validity(_VALIDITY.not_before, _VALIDITY.not_before + timedelta(days=3650))
    assert read_leaf(new_authority("ca", validity).pem, "ca.crt").validity == validity
