"""The certificate authorities that all replicas share, as one value, and the value's format in a Secret.

At most two authorities have keys: the current authority, which signs leaves, and the next authority, which will replace
the current one. Earlier authorities are certificates without a key. A leaf is the certificate of a replica. Each
earlier authority is trusted until every leaf with its signature has expired or, if the rotation is hurried, until the
replicas have new leaves.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from ..errors import CertificateError
from .issue import CLOCKS, CLOCKS_SHARE, Authority, Validity

SECRET_KEY = "authorities.json"  # noqa: S105 - the name under which it stands in the Secret's data
_SCHEMA = "v1"


@dataclass(frozen=True, slots=True)
class Signer:
    """A certificate authority with its key, and the lifetime of the leaves (replicas' certificates) that it signs."""

    authority: Authority
    leaf_life: timedelta

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate of the certificate authority."""
        return self.authority.certificate


@dataclass(frozen=True, slots=True)
class Retired:
    """A certificate authority that signs no more leaves (replicas' certificates).

    The API server trusts the authority's leaves until ``until``.
    """

    certificate: x509.Certificate
    until: datetime


@dataclass(frozen=True, slots=True)
class Authorities:
    """All certificate authorities that the replicas share.

    ``current`` is None until the first authority is trusted. ``next`` is None if no authority is being introduced.
    ``hurried`` is for a leaked key: once ``next`` has replaced the current authority, the API server trusts the
    replaced authority only until the replicas have had the time to get new leaves. Otherwise, the API server trusts a
    replaced authority until the last of its leaves has expired.
    """

    current: Signer | None
    next: Signer | None
    previous: tuple[Retired, ...] = ()
    hurried: bool = False

    @property
    def trusted(self) -> tuple[x509.Certificate, ...]:
        """The certificates that the API server must trust: of the current, the next and the previous authorities."""
        signers = (signer.certificate for signer in (self.current, self.next) if signer)
        return (*signers, *(each.certificate for each in self.previous))

    @property
    def pem(self) -> bytes:
        """The trusted certificates as PEM, for the field ``caBundle`` of a webhook configuration."""
        return pem(self.trusted)


def validity(certificate: x509.Certificate) -> Validity:
    """Return the first and the last moment at which a certificate is valid."""
    return Validity(certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def life_of(certificate: x509.Certificate) -> timedelta:
    """Return the lifetime that podberth intended for a certificate that it made.

    The validity of the certificate starts earlier, because clocks differ (``clock_tolerance``); that time is
    subtracted.
    """
    lives = validity(certificate)
    whole = lives.not_after - lives.not_before
    return max(whole - CLOCKS, whole * CLOCKS_SHARE / (CLOCKS_SHARE + 1))


def pem(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return certificates as concatenated PEM."""
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"


def certificates_in(bundle: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates in a field ``caBundle``, without duplicates.

    Unreadable certificates are skipped, as Go does.
    """
    return tuple(dict.fromkeys(_readable(bundle)))


def _readable(bundle: bytes) -> Iterator[x509.Certificate]:
    for block in bundle.split(_BEGIN)[1:]:
        body, end, _ = block.partition(_END)
        try:
            yield x509.load_pem_x509_certificate(_BEGIN + body + end + b"\n")
        except ValueError:
            continue


def encode(authorities: Authorities) -> bytes:
    """Return the data of the Secret that stores the authorities. The data include private keys: never log them."""
    document = {
        "schemaVersion": _SCHEMA,
        "hurried": authorities.hurried,
        "current": _encode_signer(authorities.current),
        "next": _encode_signer(authorities.next),
        "previous": [
            {"certificate": pem([each.certificate]).decode(), "until": each.until.isoformat()}
            for each in authorities.previous
        ],
    }
    return json.dumps(document, indent=1).encode()


def _encode_signer(signer: Signer | None) -> Mapping[str, Any] | None:
    if signer is None:
        return None
    key = signer.authority.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {
        "certificate": signer.authority.pem.decode(),
        "key": key.decode(),
        "leafSeconds": signer.leaf_life.total_seconds(),
    }


def decode(data: Mapping[str, bytes], where: str) -> Authorities:
    """Return the authorities in a Secret's data; ``where`` is the Secret's name for messages.

    Raises:
        CertificateError: the data has another format than podberth writes, or has neither a current nor a next
            authority. The message does not show the content.
    """
    try:
        document = json.loads(data[SECRET_KEY])
        schema = document["schemaVersion"]
        if schema != _SCHEMA:
            raise _unusable(where, f"{SECRET_KEY} of schemaVersion {str(schema)[:20]!r}")
        found = Authorities(
            _signer(document["current"]),
            _signer(document["next"]),
            tuple(Retired(_certificate(each["certificate"]), _moment(each["until"])) for each in document["previous"]),
            hurried=bool(document["hurried"]),
        )
    except CertificateError:
        raise
    # Errors have no cause attached, because the messages of json and cryptography may quote the key.
    except KeyError as error:
        raise _unusable(where, f"no {str(error.args[0])[:40]!r}") from None
    except (ValueError, TypeError, AttributeError):
        raise _unusable(where, f"{SECRET_KEY} that cannot be read") from None
    if found.current is None and found.next is None:
        raise _unusable(where, "neither a current nor a next authority")
    return found


def _unusable(where: str, got: str) -> CertificateError:
    return CertificateError(
        f"{where}: got {got}, want the authorities as podberth keeps them; put it back, or delete the Secret: "
        "podberth then makes a new one"
    )


def _signer(document: Mapping[str, Any] | None) -> Signer | None:
    if document is None:
        return None
    certificate = _certificate(document["certificate"])
    key = load_pem_private_key(document["key"].encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise ValueError("the key is another's")
    return Signer(Authority(certificate, key), timedelta(seconds=document["leafSeconds"]))


def _certificate(text: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(text.encode())


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment
