"""Decides the next step of rotating the authorities that all replicas share. Every replica decides; there is no leader.

A rotation has three steps. Any replica may take each of them, and a step may be taken twice or partly:

1. A replica writes the next authority into the Secret and into every ``caBundle``. The next authority signs nothing
   yet: this stage is *spreading*.
2. When every ``caBundle`` has had the next authority for so long that all API servers use it, it becomes the current
   authority. Replicas sign their certificates (leaves) with it; this stage is *draining*. The previous authority is
   still trusted, but its key is deleted.
3. When every leaf of the previous authority has expired, a replica removes that authority. In a hurried rotation the
   replica does so when every replica has had the time to sign a new leaf.

The first authority takes the same steps without waiting, because there is no earlier leaf that could be refused.

The caller reads the webhook configurations first, then the Secret, and writes only if the Secret has not changed since
(resourceVersion). So a replica with outdated data cannot remove a newer certificate from ``caBundle``:
docs/adr/0021-certificates.md.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self, TypeAlias

from cryptography import x509

from .authorities import Authorities, Retired, Signer, certificates_in, validity
from .issue import clock_tolerance, living, new_authority
from .replica_certificate import renewal_due

Stage: TypeAlias = Literal["none", "spreading", "draining"]
STAGES: tuple[Stage, ...] = ("none", "spreading", "draining")


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The lifetimes of an authority and of leaves; ``trust`` is the time until all API servers use a new caBundle."""

    ca_life: timedelta
    leaf_life: timedelta
    trust: timedelta


@dataclass(frozen=True, slots=True)
class Registration:
    """A webhook configuration as it was read.

    ``bundles`` are the caBundles of the entries, decoded; b"" for an entry without a caBundle. ``generation`` is
    metadata.generation, with which the API server counts changes of the entries.
    """

    where: str
    generation: int
    bundles: tuple[bytes, ...]

    @classmethod
    def of(cls, where: str, document: Mapping[str, Any]) -> Self:
        """Return the facts of a webhook configuration, read from its JSON; ``where`` is its name in messages."""
        webhooks = document.get("webhooks") or ()
        bundles = tuple(base64.b64decode(each["clientConfig"].get("caBundle") or "") for each in webhooks)
        return cls(where, document["metadata"]["generation"], bundles)

    @property
    def trusted(self) -> tuple[x509.Certificate, ...]:
        """The certificates that at least one entry of the webhook configuration trusts, without duplicates."""
        return certificates_in(b"\n".join(self.bundles))

    def trusts_exactly(self, certificates: Sequence[x509.Certificate]) -> bool:
        """Return whether every entry of the webhook configuration trusts exactly ``certificates``."""
        wanted = set(certificates)
        return all(set(certificates_in(bundle)) == wanted for bundle in self.bundles)


@dataclass(frozen=True, slots=True)
class Held:
    """A replica's observation that every webhook configuration trusts the next authority, and since when.

    ``serial`` is the authority's serial number, and ``generations`` has the generation of each webhook configuration:
    if a serial number or generation changes, the time starts again.
    """

    serial: int
    generations: tuple[tuple[str, int], ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class Store:
    """The action of a rotation that writes authorities into the Secret."""

    authorities: Authorities
    why: str


@dataclass(frozen=True, slots=True)
class Trust:
    """The action of a rotation that writes the trusted certificates into webhook configurations."""

    where: tuple[str, ...]
    pem: bytes


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """The next action of a rotation (None for no action), and the observation to pass to the next call of ``plan``."""

    action: Store | Trust | None
    held: Held | None


def plan(
    authorities: Authorities | None,
    registrations: Sequence[Registration],
    held: Held | None,
    now: datetime,
    profile: Lifetimes,
) -> RotationPlan:
    """Return the next action of a rotation.

    ``authorities`` is None if there is no Secret. ``held`` is the observation that the last call returned, None for the
    first call. ``profile`` has the lifetimes of certificates, and the time to wait until all API servers use a
    caBundle.
    """
    if authorities is None:
        return RotationPlan(Store(_first(registrations, now, profile), "there was no Secret"), None)
    if store := _due(authorities, now, profile):
        return RotationPlan(store, None)
    off = tuple(each.where for each in registrations if not each.trusts_exactly(authorities.trusted))
    if off:
        return RotationPlan(Trust(off, authorities.pem), None)
    if authorities.next is None:
        return RotationPlan(None, None)
    held = _seen(authorities.next, registrations, held, now)
    if now - held.since < profile.trust and _leaf_may_live(authorities, now):
        return RotationPlan(None, held)
    return RotationPlan(Store(_promoted(authorities, now, profile), "every caBundle holds the next authority"), None)


def stage(authorities: Authorities) -> Stage:
    """Return the stage of the rotation: "spreading", "draining", or "none" if no rotation is in progress."""
    if authorities.next:
        return "spreading"
    return "draining" if authorities.previous else "none"


def rotated(authorities: Authorities, signer: Signer, *, hurried: bool = False) -> Authorities:
    """Return the authorities with ``signer`` as the next authority.

    A next authority from an earlier call, which has signed nothing, is replaced.

    ``hurried`` is for a leaked key: once ``signer`` has replaced the current authority, that authority is trusted only
    until the replicas have had the time to get new leaves. Otherwise, it is trusted until its last leaf has expired.
    """
    return replace(authorities, next=signer, hurried=hurried)


def new_signer(ca_life: timedelta, leaf_life: timedelta, now: datetime) -> Signer:
    """Create a certificate authority with a key. Leaf certificates with its signature are valid for ``leaf_life``."""
    # The name has the time of creation, in milliseconds, so that a user can distinguish two authorities.
    made = now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    common_name = f"podberth CA {made}Z"
    return Signer(new_authority(common_name, living(ca_life, now)), leaf_life)


def _first(registrations: Sequence[Registration], now: datetime, profile: Lifetimes) -> Authorities:
    """Return the first authorities of a new Secret.

    If the Secret was deleted, leaves may still be in use: the certificates that are trusted now remain trusted until
    such leaves have expired.
    """
    known = dict.fromkeys(found for each in registrations for found in each.trusted)
    previous = tuple(_retired(found, profile.leaf_life, now) for found in known if _alive(found, now))
    return Authorities(None, new_signer(profile.ca_life, profile.leaf_life, now), previous)


def _retired(certificate: x509.Certificate, leaf_life: timedelta, now: datetime) -> Retired:
    return Retired(certificate, now + leaf_life + clock_tolerance(leaf_life))


def _alive(certificate: x509.Certificate, now: datetime) -> bool:
    return now < validity(certificate).not_after


def _due(authorities: Authorities, now: datetime, profile: Lifetimes) -> Store | None:
    """Return the action that is due because of the time: to drop or to create an authority; None if none is due."""
    gone = [each.certificate for each in authorities.previous if not _needed(each, now)]
    if gone:
        kept = tuple(each for each in authorities.previous if _needed(each, now))
        why = f"no leaf of {', '.join(map(name, gone))} can be alive"
        return Store(replace(authorities, previous=kept), why)
    why_new: str | None = "there was no authority"
    if newest := authorities.next or authorities.current:
        lives = validity(newest.certificate)
        why_new = renewal_due(lives.not_before, lives.not_after, now)
        why_new = why_new and f"{name(newest.certificate)}: {why_new}"
    if not why_new:
        return None
    return Store(rotated(authorities, new_signer(profile.ca_life, profile.leaf_life, now)), why_new)


def _needed(retired: Retired, now: datetime) -> bool:
    return now < retired.until and _alive(retired.certificate, now)


def name(certificate: x509.Certificate) -> str:
    """Return a certificate's subject for messages, without a "CN=" at the beginning; at most 64 characters."""
    return certificate.subject.rfc4514_string().removeprefix("CN=")[:64]


def _seen(signer: Signer, registrations: Sequence[Registration], held: Held | None, now: datetime) -> Held:
    serial = signer.certificate.serial_number
    generations = tuple((each.where, each.generation) for each in registrations)
    if held and (held.serial, held.generations) == (serial, generations):
        return held
    return Held(serial, generations, now)


def _leaf_may_live(authorities: Authorities, now: datetime) -> bool:
    """Return whether a leaf signed by the current or a previous authority may still be in use."""
    current = authorities.current
    others = [each.certificate for each in authorities.previous] + ([current.certificate] if current else [])
    return any(_alive(each, now) for each in others)


def _promoted(authorities: Authorities, now: datetime, profile: Lifetimes) -> Authorities:
    before = authorities.current
    previous = authorities.previous
    if before:
        previous = (_retired(before.certificate, before.leaf_life, now), *previous)
    if authorities.hurried:
        # Until then, each replica that can reach the API server has signed a new leaf.
        soon = now + profile.trust
        previous = tuple(replace(each, until=min(each.until, soon)) for each in previous)
    return Authorities(authorities.next, None, previous)
