"""The API server shows podberth a client certificate, and nobody else is answered: certs/client-auth as shipped."""

import base64
import http.client
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import gpu_pod
from client_certificates import ClientAuthority
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for

from .podberth_process import ROOT, Endpoint
from .registration import pointed, shipped
from .replicas import SECONDS, Replica, marked, marking

_FILES = ROOT / "certs" / "client-auth"


def _configured(directory: Path, host: str, client: tuple[Path, Path]) -> Path:
    """Write the shipped files with this machine's paths, and the host that is called here; return the first."""
    kubeconfig = (_FILES / "kubeconfig.yaml").read_text()
    for name, path in (("client.crt", client[0]), ("client.key", client[1])):
        kubeconfig = kubeconfig.replace(f"/etc/kubernetes/podberth/{name}", str(path))
    (directory / "kubeconfig.yaml").write_text(kubeconfig.replace("podberth.podberth-system.svc", host))
    admission = (_FILES / "admission-configuration.yaml").read_text()
    path = directory / "admission-configuration.yaml"
    path.write_text(admission.replace("/etc/kubernetes/podberth/kubeconfig.yaml", str(directory / "kubeconfig.yaml")))
    return path


def _register(plane: ControlPlane, replica: Replica, host: str) -> None:
    authority = base64.b64encode((replica.directory / "tls" / "ca.crt").read_bytes()).decode()
    endpoint = Endpoint(f"https://{host}:{replica.port}", authority)
    plane.apply(*(pointed(configuration, endpoint) for configuration in shipped()))


def _create(plane: ControlPlane) -> tuple[int, bytes]:
    return plane.raw("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())


def test_only_the_api_server_is_answered(tmp_path: Path) -> None:
    clients = ClientAuthority(tmp_path / "clients")
    directory = tmp_path / "replica"
    flags = ("--client-ca", str(clients.file), "--client-name", "kube-apiserver")
    replica = Replica(directory, (*flags, *marking(directory), "--self-signed", str(directory / "tls")))
    try:
        replica.start()  # so probes are answered without a certificate
        assert replica.metric("policies_loaded") == 1
        host = f"127.0.0.1:{replica.port}"
        admission = _configured(tmp_path, host, clients.issue("kube-apiserver"))
        arguments = [f"--admission-control-config-file={admission}"]
        with ControlPlane.start(tmp_path / "plane", extra_apiserver_args=arguments) as plane:
            _register(plane, replica, "127.0.0.1")
            wait_for(lambda: marked(plane), timeout_seconds=SECONDS, what="podberth to be called")
            # Under another host the API server has no certificate for it.
            _register(plane, replica, "localhost")
            refused = b'failed calling webhook \\"pods.mutate.podberth.io\\"'
            wait_for(
                lambda: refused in _create(plane)[1],
                timeout_seconds=SECONDS,
                what=lambda: f"a call without a certificate to be refused; got {_create(plane)}",
            )
            _register(plane, replica, "127.0.0.1")
            wait_for(lambda: marked(plane), timeout_seconds=SECONDS, what="podberth to be called again")
        authority = str(directory / "tls" / "ca.crt")
        anybody = http.client.HTTPSConnection(host, context=ssl.create_default_context(cafile=authority))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            _ask(anybody)
        anybody.close()
        other = ssl.create_default_context(cafile=authority)
        other.load_cert_chain(*clients.issue("somebody"))
        somebody = http.client.HTTPSConnection(host, context=other)
        assert _ask(somebody) == 403
        somebody.close()
    finally:
        replica.close()


def _ask(connection: http.client.HTTPSConnection) -> int:
    connection.request("POST", "/mutate", b"{}", {"Content-Type": "application/json"})
    return connection.getresponse().status


def test_the_shipped_files_name_the_service_that_the_webhooks_lead_to() -> None:
    [user] = yaml.safe_load((_FILES / "kubeconfig.yaml").read_text())["users"]
    services: list[Any] = [each["clientConfig"]["service"] for one in shipped() for each in one["webhooks"]]
    assert {f"{service['name']}.{service['namespace']}.svc" for service in services} == {user["name"]}
    plugins = yaml.safe_load((_FILES / "admission-configuration.yaml").read_text())["plugins"]
    assert {each["name"] for each in plugins} == {"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}
