from dataclasses import replace
from datetime import UTC, datetime, timedelta

from podberth.pki.authorities import Authorities, Signer, validity
from podberth.pki.replica_certificate import SignedLeaf, sign, signing_due
from podberth.pki.rotation import (
    Lifetimes,
    Registration,
    RotationPlan,
    Store,
    Trust,
    name,
    new_signer,
    plan,
    rotated,
    stage,
)

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_PROFILE = Lifetimes(timedelta(days=365), timedelta(days=1), timedelta(seconds=60))


def _signer(now: datetime = _NOW) -> Signer:
    return new_signer(_PROFILE.ca_life, _PROFILE.leaf_life, now)


def _both(pem: bytes, generation: int = 1) -> tuple[Registration, ...]:
    return tuple(Registration(where, generation, (pem, pem)) for where in ("mutating", "validating"))


_FIRST = Authorities(_signer(), None)


def _stored(planned: RotationPlan) -> Authorities:
    assert isinstance(planned.action, Store)
    return planned.action.authorities


def _to_draining(authorities: Authorities, now: datetime) -> Authorities:
    trusted = _both(authorities.pem)
    held = plan(authorities, trusted, None, now, _PROFILE).held
    return _stored(plan(authorities, trusted, held, now + _PROFILE.trust, _PROFILE))


def test_on_an_empty_cluster_the_first_authority_is_trusted_and_put_to_use_at_once() -> None:
    made = _stored(plan(None, _both(b""), None, _NOW, _PROFILE))
    assert (made.current, made.previous, stage(made)) == (None, (), "spreading")
    assert plan(made, _both(b""), None, _NOW, _PROFILE).action == Trust(("mutating", "validating"), made.pem)
    used = _stored(plan(made, _both(made.pem), None, _NOW, _PROFILE))
    assert (used.current, used.next, stage(used)) == (made.next, None, "none")
    assert plan(used, _both(used.pem), None, _NOW, _PROFILE) == RotationPlan(None, None)


def test_a_lost_secret_is_made_again_and_who_is_trusted_stays_trusted() -> None:
    made = _stored(plan(None, _both(_FIRST.pem), None, _NOW, _PROFILE))
    assert [each.certificate for each in made.previous] == list(_FIRST.trusted)
    assert made.previous[0].until == _NOW + timedelta(hours=25)  # a leaf's day, and an hour for clocks
    # The new one has to wait, because leaves of the old one are still valid.
    assert plan(made, _both(made.pem), None, _NOW, _PROFILE).action is None


def test_two_thirds_through_its_life_an_authority_gets_a_successor() -> None:
    due = _NOW + timedelta(days=244)
    assert plan(_FIRST, _both(_FIRST.pem), None, due - timedelta(days=2), _PROFILE).action is None
    spreading = _stored(plan(_FIRST, _both(_FIRST.pem), None, due, _PROFILE))
    assert spreading.current == _FIRST.current
    assert spreading.next


def test_nothing_is_signed_by_the_next_one_before_every_configuration_has_held_it_for_the_margin() -> None:
    spreading = rotated(_FIRST, _signer())
    half = (Registration("mutating", 1, (spreading.pem, _FIRST.pem)), Registration("validating", 1, (spreading.pem,)))
    assert plan(spreading, half, None, _NOW, _PROFILE).action == Trust(("mutating",), spreading.pem)
    looked = plan(spreading, _both(spreading.pem), None, _NOW, _PROFILE)
    assert looked.action is None
    almost = _NOW + timedelta(seconds=59)
    assert plan(spreading, _both(spreading.pem), looked.held, almost, _PROFILE).action is None
    changed = plan(spreading, _both(spreading.pem, generation=2), looked.held, almost, _PROFILE)
    assert changed.held
    assert changed.held.since == almost  # somebody has changed a configuration: begin to count again
    draining = _stored(plan(spreading, _both(spreading.pem), looked.held, _NOW + timedelta(seconds=60), _PROFILE))
    assert (draining.current, draining.next, stage(draining)) == (spreading.next, None, "draining")


def test_the_one_before_is_trusted_until_its_last_leaf_has_expired() -> None:
    draining = _to_draining(rotated(_FIRST, _signer()), _NOW)
    end = _NOW + _PROFILE.trust + timedelta(hours=25)
    trusted = _both(draining.pem)
    assert plan(draining, trusted, None, end - timedelta(seconds=1), _PROFILE).action is None
    done = _stored(plan(draining, trusted, None, end, _PROFILE))
    assert done.previous == ()
    assert plan(done, trusted, None, end, _PROFILE).action == Trust(("mutating", "validating"), done.pem)


def test_after_a_leak_it_is_trusted_no_longer_than_replicas_take_to_sign_again() -> None:
    draining = _to_draining(rotated(_FIRST, _signer(), hurried=True), _NOW)
    assert not draining.hurried
    assert [each.until for each in draining.previous] == [_NOW + 2 * _PROFILE.trust]


def test_a_next_one_that_has_grown_old_while_nobody_looked_is_replaced() -> None:
    spreading = rotated(_FIRST, _signer())
    late = _NOW + timedelta(days=300)
    again = _stored(plan(spreading, _both(spreading.pem), None, late, _PROFILE))
    assert again.next
    assert validity(again.next.certificate).not_after > late + timedelta(days=364)


def test_names_of_authorities_distinguish_them() -> None:
    assert name(_signer(_NOW + timedelta(milliseconds=1)).certificate) == "podberth CA 2026-01-01T00:00:00.001Z"
    assert name(_signer().certificate) == "podberth CA 2026-01-01T00:00:00.000Z"


# ---- leaves ---------------------------------------------------------------------------------------------------------


def _leaf(spread: float = 0.0) -> SignedLeaf:
    assert _FIRST.current
    return sign(_FIRST.current, ("localhost",), _NOW, spread)


def test_a_leaf_is_renewed_between_five_ninths_and_two_thirds_of_its_life() -> None:
    assert _leaf(0.0).renew_at == _NOW + timedelta(hours=16)
    assert _leaf(1.0).renew_at == _NOW + timedelta(hours=16) * 5 / 6
    assert signing_due(_leaf(), _FIRST, _NOW + timedelta(hours=15)) == ""
    assert signing_due(_leaf(), _FIRST, _NOW + timedelta(hours=16)) == "renewal is due"


def test_a_leaf_does_not_outlive_its_authority() -> None:
    assert _FIRST.current
    expires = validity(_FIRST.current.certificate).not_after
    assert sign(_FIRST.current, ("localhost",), expires - timedelta(hours=2), 0.0).validity.not_after == expires


def test_a_leaf_of_an_authority_before_is_signed_again() -> None:
    other = Authorities(_signer(), None)
    assert signing_due(_leaf(), other, _NOW) == "the authority was rotated"
    assert signing_due(None, other, _NOW) == "there was none"


def test_nothing_is_signed_where_nobody_can() -> None:
    assert signing_due(None, replace(_FIRST, current=None, next=_signer()), _NOW) == ""
    assert signing_due(_leaf(), _FIRST, _NOW + timedelta(days=366)) == ""
