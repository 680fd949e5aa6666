"""Compares the CA certificates that the API server trusts with the certificates that the webhook's replicas serve.

No Secret is read. A replica reports in its metrics when its certificate expires, and when the CA certificate that
signed it expires. The trusted CA certificate with exactly this time of expiry is taken for the certificate that signed.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from ..pki.authorities import certificates_in, validity
from ..pki.inspection import expiring, inspect
from ..pki.rotation import Registration, name
from ..words import counted, lasting, named, parse_life
from .observation import Fact, InstallationState, ObservedObject, Replica, Row, Unread, option, readable, unread

_LEAF: Final = "podberth_certificate_not_after_seconds"
_AUTHORITY: Final = "podberth_ca_not_after_seconds"
_STAGE: Final = "podberth_ca_rotation_stage"
# Half of the time that is left when a leaf is renewed, as in the alert (manifests/components/monitoring). A leaf of a
# shared authority lives a day by default, and is renewed when a third of its life is left. The lifetime of other leaves
# is not known; the shortest that podberth ships is renewed 56 hours before its end (certs/cert-manager).
_SOON_SHARE: Final = 6
_SOON_SHARED_SECONDS: Final = 4 * 3_600
_SOON_SECONDS: Final = 28 * 3_600
_NETWORK: Final = "a NetworkPolicy may be in between (docs/status.md)"


def certificates(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's lines about trusted and served certificates, and about the rotation of the CA.

    Replicas whose metrics could not be read have a line, too.
    """
    registrations = [
        Registration.of(kind, found)
        for kind, found in observed.configurations.items()
        if found is not None and not isinstance(found, Unread)
    ]
    unreadable = [found for found in observed.configurations.values() if isinstance(found, Unread)]
    if unreadable:
        yield unread("trusted", unreadable[0])
    else:
        yield _trusted(registrations, observed.now)
    if isinstance(observed.replicas, Unread):
        yield unread("served", observed.replicas)
        return
    found_replicas = readable(observed.replicas)
    if silent := _silent(observed.replicas, len(found_replicas)):
        yield silent
    if found_replicas:
        yield _served(found_replicas, registrations, observed.now, _soon_seconds(observed.deployment))
        yield _rotation(found_replicas)


def _trusted(registrations: Sequence[Registration], now: datetime) -> Row:
    found = frozenset[Any]().union(*(each.trusted for each in registrations))
    newest = max(found, key=lambda each: validity(each).not_after, default=None)
    problems = list(inspect(None, registrations, None, now).problems)
    if newest is None:
        problems = problems or ["caBundle: got no certificate"]
        return Row("trusted", "attention", f"no authority: {problems[0]}", {"certificates": 0})
    if len({frozenset(each.trusted) for each in registrations}) > 1:
        problems.append("caBundle: the two configurations trust different authorities; see podberth serve's log")
    elif not problems and (why := expiring(newest, now)):
        problems.append(f"caBundle: {name(newest)} {why}; it was not renewed")
    until = validity(newest).not_after
    facts: dict[str, Fact] = {"certificates": len(found), "newest": name(newest), "notAfter": until.isoformat()}
    if problems:
        return Row("trusted", "attention", problems[0], facts)
    entries = sum(len(each.bundles) for each in registrations)
    text = f"caBundle of {entries} entries: {name(newest)}, {_until(until, now)}"
    return Row("trusted", "ok", text + (f", and {len(found) - 1} more" if len(found) > 1 else ""), facts)


def _silent(replicas: tuple[Replica, ...], reached: int) -> Row | None:
    """Return the report's line on replicas that are missing or whose metrics were not read; None if all were read.

    ``reached`` is the number of replicas whose metrics were read.
    """
    if not replicas:
        return Row("served", "note", "no replica runs, so the served certificate is unknown")
    reasons = [each.metrics for each in replicas if isinstance(each.metrics, Unread)]
    if not reasons:
        return None
    [first, *_] = reasons
    if first.refused:
        return unread("metrics", first)
    count = f"{len(reasons)} of {counted(len(replicas), 'replica')}"
    text = f"not reached through the API server, {count}: {first.why}; {_NETWORK}"
    return Row("metrics", "note", text, {"reached": reached})


def _soon_seconds(deployment: ObservedObject) -> float:
    """Return the seconds before its end at which a leaf of a shared authority should have been renewed.

    ``--leaf-life`` only shortens that time, because the authority that signs now may be older than the flag.
    """
    with suppress(ValueError):
        life = parse_life(option(deployment, "leaf-life"))
        return min(_SOON_SHARED_SECONDS, life.total_seconds() / _SOON_SHARE)
    return _SOON_SHARED_SECONDS


def _served(
    replicas: tuple[Replica, ...], registrations: Sequence[Registration], now: datetime, soon_shared_seconds: float
) -> Row:
    leaves = {each.name: each.value(_LEAF) or 0.0 for each in replicas}
    first = min(leaves, key=lambda each: leaves[each])
    until = datetime.fromtimestamp(leaves[first], UTC)
    shared = any(each.value(_AUTHORITY) for each in replicas)
    strangers = tuple(each.name for each in replicas if not _fits(each, registrations))
    facts: dict[str, Fact] = {"notAfter": until.isoformat(), "shared": shared, "untrusted": strangers}
    if strangers:
        whose = f"signed by an authority that caBundle lacks: {named(strangers)}"
        return Row("served", "attention", f"{whose}; see podberth certs status, and their logs", facts)
    if not leaves[first]:
        return Row("served", "attention", f"{first}: it has no certificate yet; see its log", facts)
    left = leaves[first] - now.timestamp()
    if left < (soon_shared_seconds if shared else _SOON_SECONDS):
        return Row("served", "attention", f"{first}: {_until(until, now)}: it should have been renewed", facts)
    authority = "by a shared authority" if shared else "from files"
    return Row(
        "served", "ok", f"{counted(len(replicas), 'replica')}, {authority}, the first {_until(until, now)}", facts
    )


def _fits(replica: Replica, registrations: Sequence[Registration]) -> bool:
    """Return whether every webhook entry trusts the CA of a replica's certificate; True for certificates from files."""
    authority = replica.value(_AUTHORITY)
    if not authority or not registrations:
        return True
    return all(
        any(int(validity(each).not_after.timestamp()) == int(authority) for each in certificates_in(bundle))
        for registration in registrations
        for bundle in registration.bundles
    )


def _rotation(replicas: tuple[Replica, ...]) -> Row:
    stages = {
        dict(labels).get("stage", "")
        for replica in replicas
        for labels, value in replica.labelled(_STAGE).items()
        if value
    }
    under_way = tuple(sorted(stages - {"none"}))
    facts: dict[str, Fact] = {"stages": tuple(sorted(stages))}
    if under_way:
        return Row("rotation", "note", f"{' and '.join(under_way)}; see podberth certs status", facts)
    return Row("rotation", "ok", "none under way" if stages else "none: podberth keeps no authority", facts)


def _until(moment: datetime, now: datetime) -> str:
    left = (moment - now).total_seconds()
    said = f"in {lasting(left)}" if left > 0 else f"{lasting(-left)} ago"
    return f"expires {moment:%Y-%m-%d %H:%M}Z ({said})"
