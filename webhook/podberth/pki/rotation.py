"""What must be done now with the authorities that all replicas share, given all that can be read. Nobody leads.

A rotation has three stages, each of which any replica may take, twice or half:

1. *spreading*: the next authority stands in the Secret and in every ``caBundle``, and signs nothing;
2. it becomes the current one, and replicas sign their leaves with it, once every ``caBundle`` has held it for so long
   that all API servers go by it;
3. *draining*: the one before is trusted, without its key, until no leaf of it can be alive.

The first authority comes the same way, but nobody is waited for: no leaf could be refused that was taken before.

The caller reads the webhook configurations first, then the Secret, and writes only on what it has read
(resourceVersion). So no replica with an old view can take a certificate out of ``caBundle`` that has come in since:
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
from .renewal import renewal_due

Stage: TypeAlias = Literal["none", "spreading", "draining"]
STAGES: tuple[Stage, ...] = ("none", "spreading", "draining")


@dataclass(frozen=True, slots=True)
class Profile:
    """How long an authority and its leaves live, and within which time all API servers have taken a caBundle."""

    ca_life: timedelta
    leaf_life: timedelta
    trust: timedelta


@dataclass(frozen=True, slots=True)
class Registration:
    """A webhook configuration as read.

    ``bundles`` are the caBundles of its entries, decoded; b"" where an entry has none. ``generation`` is the API
    server's, which counts changes of the entries (metadata.generation).
    """

    where: str
    generation: int
    bundles: tuple[bytes, ...]

    @classmethod
    def of(cls, where: str, document: Mapping[str, Any]) -> Self:
        """Read a webhook configuration of the API server's."""
        webhooks = document.get("webhooks") or ()
        bundles = tuple(base64.b64decode(each["clientConfig"].get("caBundle") or "") for each in webhooks)
        return cls(where, document["metadata"]["generation"], bundles)

    @property
    def trusted(self) -> frozenset[x509.Certificate]:
        """What any of its entries trusts."""
        return frozenset(each for bundle in self.bundles for each in certificates_in(bundle))

    def trusts_exactly(self, certificates: Sequence[x509.Certificate]) -> bool:
        """Tell whether every entry trusts these and no others."""
        wanted = set(certificates)
        return all(set(certificates_in(bundle)) == wanted for bundle in self.bundles)


@dataclass(frozen=True, slots=True)
class Held:
    """Since when one replica has seen the next authority in every configuration, all unchanged."""

    serial: int
    generations: tuple[tuple[str, int], ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class Store:
    """Write these authorities into the Secret."""

    authorities: Authorities
    why: str


@dataclass(frozen=True, slots=True)
class Trust:
    """Write what is trusted into every entry of these configurations."""

    where: tuple[str, ...]
    pem: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The one thing to do now, None if nothing; and what to remember until the next look."""

    action: Store | Trust | None
    held: Held | None


def plan(
    authorities: Authorities | None,
    registrations: Sequence[Registration],
    held: Held | None,
    now: datetime,
    profile: Profile,
) -> Plan:
    """Return what must be done now. ``authorities`` is None where there is no Secret."""
    if authorities is None:
        return Plan(Store(_first(registrations, now, profile), "there was no Secret"), None)
    if store := _due(authorities, now, profile):
        return Plan(store, None)
    off = tuple(each.where for each in registrations if not each.trusts_exactly(authorities.trusted))
    if off:
        return Plan(Trust(off, authorities.pem), None)
    if authorities.next is None:
        return Plan(None, None)
    held = _seen(authorities.next, registrations, held, now)
    if now - held.since < profile.trust and _leaf_may_live(authorities, now):
        return Plan(None, held)
    return Plan(Store(_promoted(authorities, now, profile), "every caBundle holds the next authority"), None)


def stage(authorities: Authorities) -> Stage:
    """Return where in a rotation they are."""
    if authorities.next:
        return "spreading"
    return "draining" if authorities.previous else "none"


def rotated(authorities: Authorities, signer: Signer, *, hurried: bool = False) -> Authorities:
    """Return the authorities with this next one. One that was on its way has signed nothing, and is dropped.

    ``hurried`` is for a key that has leaked: nobody is then waited for but the API servers.
    """
    return replace(authorities, next=signer, hurried=hurried)


def new_signer(ca_life: timedelta, leaf_life: timedelta, now: datetime) -> Signer:
    """Make an authority."""
    # With the time in its name, so that a person can tell two of them apart, also those of one second.
    made = now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    common_name = f"podberth CA {made}Z"
    return Signer(new_authority(common_name, living(ca_life, now)), leaf_life)


def _first(registrations: Sequence[Registration], now: datetime, profile: Profile) -> Authorities:
    """Return new ones. If the Secret was deleted, leaves are alive: who is trusted now stays so as long as they are."""
    known = dict.fromkeys(
        found for each in registrations for bundle in each.bundles for found in certificates_in(bundle)
    )
    previous = tuple(_retired(found, profile.leaf_life, now) for found in known if _alive(found, now))
    return Authorities(None, _signer(profile, now), previous)


def _signer(profile: Profile, now: datetime) -> Signer:
    return new_signer(profile.ca_life, profile.leaf_life, now)


def _retired(certificate: x509.Certificate, leaf_life: timedelta, now: datetime) -> Retired:
    return Retired(certificate, now + leaf_life + clock_tolerance(leaf_life))


def _alive(certificate: x509.Certificate, now: datetime) -> bool:
    return now < validity(certificate).not_after


def _due(authorities: Authorities, now: datetime, profile: Profile) -> Store | None:
    """Return what time alone has made due: an authority to drop, or a new one."""
    gone = [each.certificate for each in authorities.previous if not _needed(each, now)]
    if gone:
        kept = tuple(each for each in authorities.previous if _needed(each, now))
        why = f"no leaf of {', '.join(map(name, gone))} can be alive"
        return Store(replace(authorities, previous=kept), why)
    newest = authorities.next or authorities.current
    if newest is None:
        return Store(rotated(authorities, _signer(profile, now)), "there was no authority")
    lives = validity(newest.certificate)
    why_new = renewal_due(lives.not_before, lives.not_after, now)
    if why_new is None:
        return None
    return Store(rotated(authorities, _signer(profile, now)), f"{name(newest.certificate)}: {why_new}")


def _needed(retired: Retired, now: datetime) -> bool:
    return now < retired.until and _alive(retired.certificate, now)


def name(certificate: x509.Certificate) -> str:
    """Return a certificate's name for people."""
    return certificate.subject.rfc4514_string().removeprefix("CN=")[:64]


def _seen(signer: Signer, registrations: Sequence[Registration], held: Held | None, now: datetime) -> Held:
    serial = signer.certificate.serial_number
    generations = tuple((each.where, each.generation) for each in registrations)
    if held and (held.serial, held.generations) == (serial, generations):
        return held
    return Held(serial, generations, now)


def _leaf_may_live(authorities: Authorities, now: datetime) -> bool:
    """Tell whether a leaf of another authority than the next may be in force somewhere."""
    current = authorities.current
    others = [each.certificate for each in authorities.previous] + ([current.certificate] if current else [])
    return any(_alive(each, now) for each in others)


def _promoted(authorities: Authorities, now: datetime, profile: Profile) -> Authorities:
    before = authorities.current
    previous = authorities.previous
    if before:
        previous = (_retired(before.certificate, before.leaf_life, now), *previous)
    if authorities.hurried:
        # Each replica that can reach the API server has signed anew before the margin is over.
        soon = now + profile.trust
        previous = tuple(replace(each, until=min(each.until, soon)) for each in previous)
    return Authorities(authorities.next, None, previous)
