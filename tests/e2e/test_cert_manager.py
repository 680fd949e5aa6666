"""cert-manager in the place of our own authority: its CRDs take our manifests, and a mounted Secret may rotate."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cluster.shared_ca import KINDS
from podberth.pki.issue import issue_leaf, living, new_authority
from podberth.wellknown import NAMESPACE

from .access import grant
from .cert_manager import GROUP_PATH, install_crds, rendered
from .load import Verdict, load
from .mounted_secret import MountedSecret
from .podberth_process import Endpoint
from .registration import pointed, shipped
from .replicas import SECONDS, SECRET_PATH, Replica, Replicas, marked, marking, unregister

Document = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("control-plane")) as started:
        grant(started, "shared-ca")
        yield started
        started.check()


@pytest.mark.shared("crds/cert-manager")
def test_its_own_crds_take_our_issuers_and_certificates(plane: ControlPlane, tmp_path: Path) -> None:
    install_crds(plane)
    documents = rendered(plane, tmp_path)
    plane.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", input=json.dumps(_list(documents)))
    certificates = {
        each["metadata"]["name"]: each["spec"] for each in plane.api.read(f"{GROUP_PATH}/certificates")["items"]
    }
    issuers = {each["metadata"]["name"]: each["spec"] for each in plane.api.read(f"{GROUP_PATH}/issuers")["items"]}
    assert {spec["issuerRef"]["name"] for spec in certificates.values()} == set(issuers)
    # Each issuer's CA is a certificate's Secret, and the injector's certificate is the one that is served.
    assert issuers["podberth-ca"]["ca"]["secretName"] == certificates["podberth-ca"]["secretName"]
    served = certificates["podberth-serving"]
    for path in KINDS.values():
        configuration = plane.api.read(f"{path}/podberth")
        annotation = configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        assert annotation == f"{NAMESPACE}/podberth-serving"
        for webhook in configuration["webhooks"]:
            service = webhook["clientConfig"]["service"]
            assert served["dnsNames"] == [f"{service['name']}.{service['namespace']}.svc"]
    # With a new key of the CA, an injector that replaces caBundle would outrun the kubelet, which brings certificates.
    assert certificates["podberth-ca"]["privateKey"]["rotationPolicy"] == "Never"
    unregister(plane)


@pytest.mark.shared("crds/cert-manager")
def test_where_its_injector_writes_cabundle_podberth_does_not(plane: ControlPlane, tmp_path: Path) -> None:
    replicas = Replicas(plane, tmp_path / "replicas", ())
    try:
        for each in rendered(plane, tmp_path):
            if each["kind"] in KINDS:
                [(key, value)] = each["metadata"]["annotations"].items()
                plane.kubectl("annotate", each["kind"], "podberth", f"{key}={value}")
        replicas.each[0].begin()
        message = "certificate authorities: cannot be looked after"
        lines = wait_for(lambda: replicas.each[0].lines(message), timeout_seconds=SECONDS, what="an error in the log")
        assert "which cert-manager writes caBundle too, want one writer" in lines[0]["problems"][0]
        assert plane.raw("GET", SECRET_PATH)[0] == 404
    finally:
        replicas.close()


def _list(documents: list[Document]) -> Document:
    return {"apiVersion": "v1", "kind": "List", "items": documents}


def _pairs(count: int) -> tuple[bytes, Iterator[dict[str, bytes]]]:
    """Return a CA, and the Secrets that cert-manager would make one after the other of one Certificate."""
    now = datetime.now(UTC)
    lives = living(timedelta(days=7), now)
    authority = new_authority("podberth CA", lives)

    def made() -> Iterator[dict[str, bytes]]:
        for _ in range(count):
            issued = issue_leaf(authority, ("127.0.0.1",), lives)
            yield {"tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": authority.pem}

    return authority.pem, made()


def test_its_secret_may_rotate_under_load(plane: ControlPlane, tmp_path: Path) -> None:
    count = 8
    authority, secrets = _pairs(count)
    mounted = MountedSecret(tmp_path / "tls")
    mounted.write(next(secrets))
    files = ("--tls-cert", str(mounted.folder / "tls.crt"), "--tls-key", str(mounted.folder / "tls.key"))
    replica = Replica(tmp_path / "replica", (*files, *marking(tmp_path), "--reload-seconds", "0.1"))
    try:
        replica.start()
        endpoint = Endpoint(f"https://127.0.0.1:{replica.port}", base64.b64encode(authority).decode())
        plane.apply(*(pointed(configuration, endpoint) for configuration in shipped()))
        wait_for(lambda: marked(plane), timeout_seconds=SECONDS, what="podberth to be called")
        loaded = 'reload_total{result="ok",what="certificate"}'
        with load(plane, "mounted") as creating:
            for number, secret in enumerate(secrets, start=2):
                mounted.write(secret)
                wait_for(
                    lambda number=number: replica.metric(loaded) == number,  # type: ignore[misc]
                    timeout_seconds=SECONDS,
                    what=f"certificate {number}",
                )
        assert replica.metric(loaded) == count
        assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]
    finally:
        replica.close()
        unregister(plane)
