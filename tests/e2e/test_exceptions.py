"""Exceptions of a real cluster: in force when they are made, gone when they end, refused when they are malformed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from exceptions import exception
from podberth.kube.documents import load_documents
from podberth.kube.yaml_text import as_yaml
from snapshots import policy

from .access import grant
from .following import Following
from .podberth_process import ROOT
from .registration import pointed, shipped

# Compiling the library takes half a second of a free core; a busy machine has less.
COMPILES_SECONDS = 60.0
# Long enough to be seen in force: on a free machine, and on a busy one.
LASTS = (timedelta(seconds=10), timedelta(seconds=60))
DENIES = policy(
    "few", "  validations:\n  - {expression: gpu.count < 2, message: too many}\n  validationActions: [Deny]"
)


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        for name in ("gpupolicy-crd.yaml", "gpupolicyexception-crd.yaml"):
            plane.kubectl("apply", "-f", str(ROOT / "manifests" / "base" / name))
        plane.await_crds()
        following = Following(plane, tmp_path_factory.mktemp("following"))
        with following:
            put(following, DENIES)
            until(following, denied=True)
            yield following
        plane.check()


def until(following: Following, *, denied: bool) -> None:
    wait_for(
        lambda: following.ask(gpu_pod(4), "/validate")["allowed"] is not denied,
        timeout_seconds=LASTS[-1].total_seconds() + COMPILES_SECONDS,
        what=lambda: str(following.ask(gpu_pod(4), "/validate")),
    )


def put(following: Following, text: str) -> str:
    """Apply one document; return the words of a refusal."""
    [one], _ = load_documents(text, "")
    made = following.control_plane.kubectl("apply", "-f", "-", input=as_yaml(one.document), check=False)
    return made.stderr if made.returncode else ""


def test_an_exception_holds_from_its_creation_to_its_end_without_another_change(following: Following) -> None:
    assert any(holds_to_its_end(following, lasts) for lasts in LASTS)
    following.control_plane.kubectl("delete", "gpolex", "pinned")


def holds_to_its_end(following: Following, lasts: timedelta) -> bool:
    """Return False if an exception that lasts so long was over before all could be seen of it."""
    end = datetime.now(UTC).replace(microsecond=0) + lasts
    assert not put(following, exception("pinned", "few", until=end.isoformat()))
    wait_for(
        lambda: following.ask(gpu_pod(4), "/validate")["allowed"] or datetime.now(UTC) >= end,
        timeout_seconds=lasts.total_seconds() + COMPILES_SECONDS,
        what="the exception to be in force, or over",
    )
    elsewhere = following.ask(gpu_pod(4), "/validate", namespace="kube-public")["allowed"]
    metrics = following.podberth.metrics()
    if datetime.now(UTC) >= end:
        return False
    assert elsewhere is False
    assert metrics['podberth_policy_decisions_total{policy="few",verdict="except"}'] > 0
    assert metrics['podberth_exception_expires_seconds{exception="pinned"}'] == end.timestamp()
    until(following, denied=True)
    assert datetime.now(UTC) >= end
    return True


def test_one_that_is_deleted_has_no_effect(following: Following) -> None:
    until_then = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert not put(following, exception("pinned", "few", until=until_then))
    until(following, denied=False)
    following.control_plane.kubectl("delete", "gpolex", "pinned")
    until(following, denied=True)


def test_the_api_server_refuses_what_the_parser_refuses(following: Following) -> None:
    good = exception("pinned", "few")
    for line, other in [
        ("  expiresAt: '2027-03-31T00:00:00+00:00'\n", ""),
        ("2027-03-31T00:00:00+00:00", "soon"),
        ("team-vision", ""),
        ("[default]", "[]"),
        ("[default]", "['*']"),
        ("[few]", "[]"),
    ]:
        assert line in good
        assert put(following, good.replace(line, other)), line


def test_the_webhook_refuses_more_than_a_year_and_a_broken_expression(following: Following) -> None:
    [entry] = [each for each in shipped()[1]["webhooks"] if each["name"].startswith("policies.")]
    configuration = pointed({**shipped()[1], "webhooks": [entry]}, following.podberth.endpoint)
    following.control_plane.apply(configuration)
    long = exception("long", "few", until=(datetime.now(UTC) + timedelta(days=400)).isoformat())

    def refusal() -> str:
        said = put(following, long)
        following.control_plane.kubectl("delete", "gpolex", "long", "--ignore-not-found")
        return said

    wait_for(lambda: "more than 366 days" in refusal(), timeout_seconds=COMPILES_SECONDS, what=refusal)
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    broken = exception("broken", "few", until=soon, more="  expression: gpu.cuont == 1\n")
    assert "gpupolicyexception/broken:" in put(following, broken)
    following.control_plane.kubectl("delete", configuration["kind"], configuration["metadata"]["name"])
