"""Reports on the certificates in a cluster: trusted certificates, signing authority, times of expiry, and problems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from ..errors import CertificateError
from .authorities import Authorities, validity
from .rotation import Registration, Stage, name, stage

# A certificate is renewed when a third of its life is left. If only a sixth is left, renewals have failed for long.
_SOON_SHARE = 6
_FINGERPRINT_BYTES = 8


@dataclass(frozen=True, slots=True)
class ShownCertificate:
    """A certificate as the report shows it.

    ``role`` is "current", "next" or "previous" for podberth's authorities, "trusted" for certificates in a caBundle,
    and "presented" for the certificate that a server has sent.
    """

    role: str
    name: str
    fingerprint: str
    """The first bytes of the certificate's SHA-256 hash, in hexadecimal."""
    not_after: datetime
    until: datetime | None = None
    """The time after which podberth drops the certificate, if that is known."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The certificates that a webhook configuration trusts.

    ``complete`` is True if each entry of the configuration trusts exactly podberth's authorities. If podberth keeps no
    authorities, ``complete`` is True if all entries trust equal certificates.
    """

    where: str
    entries: int
    trusted: tuple[ShownCertificate, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Presented:
    """The certificate that a server has sent.

    ``refusal`` is the reason why the API server would not trust the certificate; empty if the API server would trust
    it.
    """

    where: str
    certificate: x509.Certificate
    refusal: str


@dataclass(frozen=True, slots=True)
class CertificateReport:
    """The report on the certificates of a podberth webhook.

    ``stage`` is the stage of the rotation; None if no Secret is used. ``problems`` are texts about problems that only a
    person can fix.
    """

    stage: Stage | None
    authorities: tuple[ShownCertificate, ...]
    bundles: tuple[Bundle, ...]
    presented: tuple[ShownCertificate, ...]
    problems: tuple[str, ...]


def inspect(
    authorities: Authorities | None,
    registrations: Sequence[Registration],
    presented: Presented | None,
    now: datetime,
) -> CertificateReport:
    """Return the report on the authorities, on the webhook configurations, and on the certificate of a server.

    ``authorities`` is None if podberth keeps no Secret, because other programs make the certificates. ``presented`` is
    None if no server was connected to.
    """
    known = tuple(_authorities(authorities)) if authorities else ()
    bundles = tuple(_bundle(each, authorities) for each in registrations)
    shown = (_known("presented", presented.certificate),) if presented else ()
    problems = [
        *_of_authorities(authorities, now),
        *(problem for each, bundle in zip(registrations, bundles, strict=True) for problem in _of(each, bundle, now)),
        *(_of_presented(presented, now) if presented else ()),
    ]
    if not registrations:
        problems.append("webhook configurations: got none, want those of manifests/base: no pod is sent to podberth")
    return CertificateReport(stage(authorities) if authorities else None, known, bundles, shown, tuple(problems))


def read_presented(where: str, der: bytes, refusal: str) -> Presented:
    """Return the facts about the certificate that a server has sent.

    ``where`` is the server's name in messages, ``der`` the certificate in DER. ``refusal`` is the reason why the API
    server would not trust the certificate; empty if the API server would.

    Raises:
        CertificateError: ``der`` is no certificate.
    """
    try:
        return Presented(where, x509.load_der_x509_certificate(der), refusal)
    except ValueError as error:
        raise CertificateError(f"{where}: got no certificate that can be read") from error


def _authorities(authorities: Authorities) -> Iterator[ShownCertificate]:
    if authorities.current:
        yield _known("current", authorities.current.certificate)
    if authorities.next:
        yield _known("next", authorities.next.certificate)
    for each in authorities.previous:
        yield _known("previous", each.certificate, each.until)


def _known(role: str, certificate: x509.Certificate, until: datetime | None = None) -> ShownCertificate:
    fingerprint = certificate.fingerprint(SHA256())[:_FINGERPRINT_BYTES].hex(":")
    return ShownCertificate(role, name(certificate), fingerprint, validity(certificate).not_after, until)


def _bundle(registration: Registration, authorities: Authorities | None) -> Bundle:
    found = registration.trusted
    wanted = authorities.trusted if authorities else found
    complete = registration.trusts_exactly(wanted) and bool(wanted)
    entries = len(registration.bundles)
    return Bundle(registration.where, entries, tuple(_known("trusted", each) for each in found), complete)


def _of_authorities(authorities: Authorities | None, now: datetime) -> Iterator[str]:
    if authorities is None:
        return
    if authorities.current is None:
        yield "authorities: got none that signs yet, want one; podberth serve puts the next one to use"
    elif why := expiring(authorities.current.certificate, now):
        yield f"{name(authorities.current.certificate)}: {why}; podberth certs rotate, and see what podberth serve logs"


def _of(registration: Registration, bundle: Bundle, now: datetime) -> Iterator[str]:
    if not bundle.complete:
        want = "all authorities in every entry, and no others"
        yield f"{bundle.where}: caBundle: got {len(bundle.trusted)} certificates, want {want}; see podberth serve's log"
    trusted = registration.trusted
    if trusted and all(now >= validity(each).not_after for each in trusted):
        yield f"{bundle.where}: caBundle: all its certificates have expired, want one that has not"


def _of_presented(presented: Presented, now: datetime) -> Iterator[str]:
    if presented.refusal:
        yield f"{presented.where}: the API server refuses this certificate: {presented.refusal}"
    elif why := expiring(presented.certificate, now):
        yield f"{presented.where}: {why}; it should have been renewed"


def expiring(certificate: x509.Certificate, now: datetime) -> str:
    """Return why a certificate is a problem: expired, or less than a sixth of its life is left; else empty."""
    lives = validity(certificate)
    if now >= lives.not_after:
        return f"expired at {lives.not_after.isoformat()}"
    if lives.not_after - now < (lives.not_after - lives.not_before) / _SOON_SHARE:
        return f"expires at {lives.not_after.isoformat()}, with less than a sixth of its life left"
    return ""
