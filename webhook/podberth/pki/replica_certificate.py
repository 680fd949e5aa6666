"""Decides when a replica's certificate must be replaced, and which authority signs the new certificate."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from .authorities import Authorities, Signer, validity
from .issue import Issued, Validity, clock_tolerance, issue_leaf

# cert-manager renews after two thirds of a certificate's life:
# https://cert-manager.io/docs/usage/certificate/#issuance-triggers (renewBefore's default)
_LIFE_SPENT_NUMERATOR = 2
_LIFE_SPENT_DENOMINATOR = 3


def renewal_due(not_before: datetime, not_after: datetime, now: datetime) -> str | None:
    """Return the reason why a certificate with this validity must be replaced at ``now``.

    None if there is no reason.
    """
    if now < not_before:
        return f"not valid before {_moment(not_before)}"
    if now >= not_after:
        return f"expired at {_moment(not_after)}"
    due = renewal_moment(not_before, not_after)
    if now >= due:
        return f"two thirds of its life were over at {_moment(due)}; it expires at {_moment(not_after)}"
    return None


def renewal_moment(not_before: datetime, not_after: datetime) -> datetime:
    """Return the moment at which two thirds of a certificate's lifetime are over."""
    return not_before + (not_after - not_before) * _LIFE_SPENT_NUMERATOR / _LIFE_SPENT_DENOMINATOR


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


# Replicas that were started together must not all renew in the same second: the last sixth of the wait is random.
_SPREAD_SHARE = 6


@dataclass(frozen=True, slots=True)
class SignedLeaf:
    """A replica's certificate, the certificate's key, and the authority that signed the certificate."""

    issued: Issued
    validity: Validity
    authority: x509.Certificate
    renew_at: datetime


def signing_due(leaf: SignedLeaf | None, authorities: Authorities, now: datetime) -> str:
    """Return why a replica needs a new certificate at ``now``; empty if none is needed, or if no authority can sign."""
    current = authorities.current
    if current is None or now >= validity(current.certificate).not_after:
        return ""
    if leaf is None:
        return "there was none"
    if leaf.authority != current.certificate:
        return "the authority was rotated"
    return "renewal is due" if now >= leaf.renew_at else ""


def sign(signer: Signer, names: Sequence[str], read_at: datetime, spread: float) -> SignedLeaf:
    """Create a replica's certificate for DNS names and IP addresses.

    ``spread`` is a random number from 0 to 1: the larger the number, the earlier the certificate is renewed, so that
    the replicas do not all renew at once.

    ``read_at`` is the time when the replica read that ``signer`` is the current authority. The lifetime starts at
    ``read_at``, so that no certificate outlives the time for which a retired authority is trusted.

    Raises:
        CertificateError: a name is invalid, or there is no name.
    """
    authority, life = signer.authority, signer.leaf_life
    of_authority = validity(authority.certificate)
    lives = Validity(
        max(read_at - clock_tolerance(life), of_authority.not_before),
        # X.509 counts whole seconds (RFC 5280, 4.1.2.5).
        min(read_at + life, of_authority.not_after).replace(microsecond=0),
    )
    due = renewal_moment(read_at, lives.not_after)
    return SignedLeaf(
        issue_leaf(authority, names, lives),
        lives,
        authority.certificate,
        due - (due - read_at) * spread / _SPREAD_SHARE,
    )
