"""Reads certificates and keys that other programs made, such as cert-manager, and checks that both belong together."""

from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from ..errors import CertificateError
from .authorities import validity
from .issue import Validity

_KEY_TYPES = (
    ec.EllipticCurvePrivateKey,
    rsa.RSAPrivateKey,
    ed25519.Ed25519PrivateKey,
    ed448.Ed448PrivateKey,
)


@dataclass(frozen=True, slots=True)
class LeafCertificate:
    """A server certificate. ``names`` are the certificate's DNS names and IP addresses, sorted."""

    validity: Validity
    names: tuple[str, ...]
    public_key: bytes
    """The public key as DER of a SubjectPublicKeyInfo."""


def read_leaf(pem: bytes, where: str) -> LeafCertificate:
    """Return the first certificate of a PEM chain. TLS requires that it is the server's (RFC 8446, 4.4.2).

    Raises:
        CertificateError: no certificate can be read; the message names ``where``.
    """
    try:
        certificate = x509.load_pem_x509_certificates(pem)[0]
        names = _names(certificate)
        public_key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, IndexError, x509.DuplicateExtension) as error:
        raise CertificateError(f"{where}: got no certificate that can be read, want PEM: {error}") from error
    return LeafCertificate(validity(certificate), names, public_key)


def check_pair(leaf: LeafCertificate, key: bytes, where: str) -> None:
    """Check that ``key``, a PEM private key without a password, belongs to the server certificate ``leaf``.

    Raises:
        CertificateError: the key cannot be read or belongs to another certificate; the message names ``where``, never
            the content.
    """
    try:
        private = load_pem_private_key(key, password=None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"{where}: got no private key that can be read, want PEM without a password") from error
    if not isinstance(private, _KEY_TYPES):
        raise CertificateError(f"{where}: got a {type(private).__name__}, want an ECDSA, RSA or EdDSA key")
    if private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != leaf.public_key:
        raise CertificateError(f"{where}: got the key of another certificate; put certificate and key of one pair")


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return tuple(sorted([*names.get_values_for_type(x509.DNSName), *addresses]))
