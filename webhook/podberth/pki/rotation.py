"""The next step for the authorities that all replicas share, from everything that can be read. There is no leader.

A rotation has three stages. Any replica may take each of them, twice or half:

1. *spreading*: the next authority is in the Secret and in every ``caBundle``, and signs nothing;
2. it becomes the current one, and replicas sign their leaves with it, once every ``caBundle`` has held it for so long
      that all API servers use that ``caBundle``;
3. *draining*: the previous one is trusted, without its key, until every leaf that it signed has expired.

The first authority comes the same way but at once: there is no earlier leaf that could be refused.

The caller reads the webhook configurations first, then the Secret, and writes only if the Secret has not changed since
(resourceVersion). So a replica with an old view cannot remove a newer certificate from ``caBundle``:
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
from .leaf import renewal_due

Stage: TypeAlias = Literal["none", "spreading", "draining"]
STAGES: tuple[Stage, ...] = ("none", "spreading", "draining")


@dataclass(frozen=True, slots=True)
class Profile:
    """The lives of an authority and of its leaves, and the time in which all API servers take over a caBundle."""

    ca_life: timedelta
    leaf_life: timedelta
    trust: timedelta


@dataclass(frozen=True, slots=True)
class Registration:
    """A webhook configuration as read.

    ``bundles`` are the caBundles of its entries, decoded; b"" for an entry without one. ``generation`` is the API
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
        """The certificates that any of its entries trusts."""
        return frozenset(each for bundle in self.bundles for each in certificates_in(bundle))

    def trusts_exactly(self, certificates: Sequence[x509.Certificate]) -> bool:
        """Tell whether every entry trusts exactly these certificates."""
        wanted = set(certificates)
        return all(set(certificates_in(bundle)) == wanted for bundle in self.bundles)


@dataclass(frozen=True, slots=True)
class Held:
    """The time since which one replica has seen the next authority in every configuration, without a change."""

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
    """Write the trusted certificates into every entry of these configurations."""

    where: tuple[str, ...]
    pem: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The one action to take now, or None; and the state to keep until the next look."""

    action: Store | Trust | None
    held: Held | None


def plan(
    authorities: Authorities | None,
    registrations: Sequence[Registration],
    held: Held | None,
    now: datetime,
    profile: Profile,
) -> Plan:
    """Return the next action. ``authorities`` is None if there is no Secret."""
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
    """Return the stage of the rotation."""
    if authorities.next:
        return "spreading"
    return "draining" if authorities.previous else "none"


def rotated(authorities: Authorities, signer: Signer, *, hurried: bool = False) -> Authorities:
    """Return the authorities with ``signer`` as the next one. An earlier next one has signed nothing, and is dropped.

    ``hurried`` is for a leaked key: the rotation then waits only for the API servers.
    """
    return replace(authorities, next=signer, hurried=hurried)


def new_signer(ca_life: timedelta, leaf_life: timedelta, now: datetime) -> Signer:
    """Create an authority."""
    # With the time in its name, so that a person can distinguish two of them; milliseconds distinguish those of one
    # second.
    made = now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    common_name = f"podberth CA {made}Z"
    return Signer(new_authority(common_name, living(ca_life, now)), leaf_life)


def _first(registrations: Sequence[Registration], now: datetime, profile: Profile) -> Authorities:
    """Return new authorities. After a deleted Secret leaves still live: trusted certificates stay trusted as long."""
    known = dict.fromkeys(
        found for each in registrations for bundle in each.bundles for found in certificates_in(bundle)
    )
    previous = tuple(_retired(found, profile.leaf_life, now) for found in known if _alive(found, now))
    return Authorities(None, new_signer(profile.ca_life, profile.leaf_life, now), previous)


def _retired(certificate: x509.Certificate, leaf_life: timedelta, now: datetime) -> Retired:
    return Retired(certificate, now + leaf_life + clock_tolerance(leaf_life))


def _alive(certificate: x509.Certificate, now: datetime) -> bool:
    return now < validity(certificate).not_after


def _due(authorities: Authorities, now: datetime, profile: Profile) -> Store | None:
    """Return the action that is due because time has passed: an authority to drop, or a new one."""
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
    """Return a certificate's name for people."""
    return certificate.subject.rfc4514_string().removeprefix("CN=")[:64]


def _seen(signer: Signer, registrations: Sequence[Registration], held: Held | None, now: datetime) -> Held:
    serial = signer.certificate.serial_number
    generations = tuple((each.where, each.generation) for each in registrations)
    if held and (held.serial, held.generations) == (serial, generations):
        return held
    return Held(serial, generations, now)


def _leaf_may_live(authorities: Authorities, now: datetime) -> bool:
    """Tell whether a leaf of another authority than the next may still be in use."""
    current = authorities.current
    others = [each.certificate for each in authorities.previous] + ([current.certificate] if current else [])
    return any(_alive(each, now) for each in others)


def _promoted(authorities: Authorities, now: datetime, profile: Profile) -> Authorities:
    before = authorities.current
    previous = authorities.previous
    if before:
        previous = (_retired(before.certificate, before.leaf_life, now), *previous)
    if authorities.hurried:
        # Each replica that can reach the API server has signed a new leaf before the margin is over.
        soon = now + profile.trust
        previous = tuple(replace(each, until=min(each.until, soon)) for each in previous)
    return Authorities(authorities.next, None, previous)
