"""Creates certificates: the certificate of an authority, and the leaf certificate of a webhook server.

The keys are ECDSA keys on P-256: OpenSSL signs with such keys ten times faster than with RSA-2048. The API server
accepts such keys, and every TLS 1.2+ client supports them (RFC 8422, 5.1.1).
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..errors import CertificateError

# RFC 5280, A.1: ub-common-name. Clients match subjectAltName alone (RFC 9525), so a shortened common name does no harm.
_COMMON_NAME_LENGTH = 64

# kubeadm and client-go backdate self-signed certificates by 5 minutes or an hour. An hour also covers a clock that is
# wrong by the fraction of an hour of a time zone. The share is for certificates that live less than a day.
CLOCKS = timedelta(hours=1)
CLOCKS_SHARE = 24


@dataclass(frozen=True, slots=True)
class Validity:
    """The first and the last moment at which a certificate is valid; both moments have a time zone."""

    not_before: datetime
    not_after: datetime


def clock_tolerance(life: timedelta) -> timedelta:
    """Return how far two clocks may differ without harm to certificates with the lifetime ``life``.

    The result is an hour, or a 24th of the lifetime if a 24th is shorter.
    """
    return min(CLOCKS, life / CLOCKS_SHARE)


def living(life: timedelta, now: datetime) -> Validity:
    """Return the validity of a certificate made at ``now``.

    The validity starts before ``now``, because machines whose clocks are behind must accept the certificate, too.
    """
    return Validity(now - clock_tolerance(life), now + life)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate as PEM, and the certificate's private key as PEM of PKCS#8 without a password."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority with its key. The field ``caBundle`` of webhook configurations has the certificate."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        """The authority's certificate as PEM."""
        return self.certificate.public_bytes(Encoding.PEM)


def new_authority(common_name: str, validity: Validity) -> Authority:
    """Create a self-signed certificate authority that may sign leaf certificates, and no further authorities."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    builder = (
        _builder(validity)
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(builder.sign(key, SHA256()), key)


def issue_leaf(authority: Authority, names: Sequence[str], validity: Validity) -> Issued:
    """Create a server certificate for DNS names and IP addresses, with a new key.

    Raises:
        CertificateError: there is no name, or a name is neither a DNS name nor an IP address.
    """
    if not names:
        raise CertificateError("certificate: names: got none, want a DNS name or an IP address")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(validity)
        .subject_name(_name(names[0]))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
        .sign(authority.key, SHA256())
    )
    return Issued(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _builder(validity: Validity) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.not_before)
        .not_valid_after(validity.not_after)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:_COMMON_NAME_LENGTH])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError as error:
        raise CertificateError(f"certificate: names: got {name!r}, want a DNS name or an IP address") from error


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    """Return the key usage that RFC 5280, 4.2.1.3 requires for an authority or for a server's certificate."""
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
