from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.serialization import Encoding

from podberth.pki.authorities import Authorities
from podberth.pki.inspection import CertificateReport, inspect, read_presented
from podberth.pki.rotation import Registration, new_signer, rotated

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_YEAR, _DAY = timedelta(days=365), timedelta(days=1)
_FIRST = Authorities(new_signer(_YEAR, _DAY, _NOW), None)


def _report(authorities: Authorities | None, *bundles: bytes, now: datetime = _NOW) -> CertificateReport:
    return inspect(authorities, [Registration("mutating", 1, bundles)], None, now)


def test_all_is_well_where_every_entry_holds_the_authority() -> None:
    report = _report(_FIRST, _FIRST.pem, _FIRST.pem)
    assert (report.stage, report.problems) == ("none", ())
    assert report.authorities[0].fingerprint == report.bundles[0].trusted[0].fingerprint


def test_an_entry_that_lacks_one_is_a_problem() -> None:
    spreading = rotated(_FIRST, new_signer(_YEAR, _DAY, _NOW))
    report = _report(spreading, spreading.pem, _FIRST.pem)
    assert report.stage == "spreading"
    assert [each.role for each in report.authorities] == ["current", "next"]
    [problem] = report.problems
    assert problem.startswith("mutating: caBundle: got 2 certificates, want all authorities in every entry")


def test_an_authority_that_nobody_has_replaced_is_a_problem_before_it_expires() -> None:
    assert _report(_FIRST, _FIRST.pem, now=_NOW + timedelta(days=300)).problems == ()
    [problem] = _report(_FIRST, _FIRST.pem, now=_NOW + timedelta(days=310)).problems
    assert "with less than a sixth of its life left; podberth certs rotate" in problem


def test_without_a_secret_the_bundles_are_still_looked_at() -> None:
    assert _report(None, _FIRST.pem, _FIRST.pem).problems == ()
    assert len(_report(None, _FIRST.pem, b"").problems) == 1
    assert len(_report(None, b"").problems) == 1
    [problem] = _report(None, _FIRST.pem, now=_NOW + timedelta(days=400)).problems
    assert problem == "mutating: caBundle: all its certificates have expired, want one that has not"
    assert "got none, want those of manifests/base" in inspect(None, [], None, _NOW).problems[0]


def test_a_certificate_that_the_api_server_refuses_is_a_problem() -> None:
    der = new_signer(_YEAR, _DAY, _NOW).certificate.public_bytes(Encoding.DER)
    presented = read_presented("127.0.0.1:9443", der, "unable to get local issuer certificate")
    [problem] = inspect(_FIRST, [Registration("mutating", 1, (_FIRST.pem,))], presented, _NOW).problems
    assert problem == "127.0.0.1:9443: the API server refuses this certificate: unable to get local issuer certificate"
