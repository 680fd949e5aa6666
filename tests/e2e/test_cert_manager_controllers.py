"""cert-manager's own controllers issue our certificates, its injector writes caBundle, and both renew under load."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.x509 import load_pem_x509_certificate

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import NAMESPACE

from .cert_manager import CA, SERVING, install_crds, leading_here, rendered, running
from .load import Verdict, load
from .mounted_secret import MountedSecret
from .replicas import SECONDS, Replica, marked, marking

# In which order an administrator or the time may renew the two; each is renewed twice, also twice in a row.
_RENEWALS = (SERVING, CA, SERVING, CA, CA, SERVING)


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path / "control-plane") as started:
        started.add_namespace(NAMESPACE)
        install_crds(started)
        yield started
        started.check()


@pytest.mark.shared("crds/cert-manager")
def test_its_controllers_issue_inject_and_renew_under_load(
    plane: ControlPlane, cert_manager: Path, tmp_path: Path
) -> None:
    mounted = MountedSecret(tmp_path / "tls")
    files = ("--tls-cert", str(mounted.folder / "tls.crt"), "--tls-key", str(mounted.folder / "tls.key"))
    replica = Replica(tmp_path / "replica", (*files, *marking(tmp_path), "--reload-seconds", "0.1"))
    try:
        with running(cert_manager, plane, tmp_path) as issuing:
            plane.apply(*leading_here(rendered(plane, tmp_path), replica.port))
            secret = issuing.secret(SERVING)
            mounted.write(secret)
            replica.start()
            issuing.injected(secret["ca.crt"])
            wait_for(lambda: marked(plane), timeout_seconds=SECONDS, what="podberth to be called")
            with load(plane, "issued") as creating:
                for name in _RENEWALS:
                    before, renewed = issuing.secret(name), issuing.renew(name)
                    assert (_key(before) == _key(renewed)) == (name == CA), name
                    if name == SERVING:
                        # The injector is there before the kubelet: pods are created between the two as well.
                        issuing.injected(renewed["ca.crt"])
                        creating.more(5)
                        mounted.write(renewed)
                        _serves(replica, renewed)
                    creating.more(5)
        assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]
    finally:
        replica.close()


def _key(secret: dict[str, bytes]) -> object:
    return load_pem_x509_certificate(secret["tls.crt"]).public_key()


def _serves(replica: Replica, secret: dict[str, bytes]) -> None:
    """Return once the certificate of the Secret is what a client is shown."""
    wanted = load_pem_x509_certificate(secret["tls.crt"])
    wait_for(
        lambda: load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", replica.port)).encode()) == wanted,
        timeout_seconds=SECONDS,
        what="podberth to serve the renewed certificate",
    )
