"""The API server shows podberth a client certificate, and nobody else is answered: see docs/install-reference.md."""

import base64
import http.client
import re
import ssl
import subprocess
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import gpu_pod
from client_certificates import ClientAuthority
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from pages import page
from podberth.wellknown import NAMESPACE

from .podberth_process import ROOT, Endpoint
from .registration import pointed, shipped
from .replicas import SECONDS, Replica, marked, marking

_FILES = ROOT / "certs" / "client-auth"
_COMPONENT = ROOT / "manifests" / "components" / "client-auth" / "kustomization.yaml"
_SECTION = page("docs/install-reference.md").partition("\n## Only the API server may ask\n")[2].partition("\n## ")[0]
_ON_A_NODE = "/etc/kubernetes/podberth"


def _blocks(language: str) -> list[str]:
    """Return the section's blocks of a language, which stand indented below the numbers of steps."""
    found = re.findall(rf"^   ```{language}\n(.*?)^   ```$", _SECTION, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(each) for each in found]


def _run(block: str, directory: Path, environ: Mapping[str, str] | None = None) -> None:
    """Run a block in a directory that has the repository's files, as the shell of whoever follows the page does."""
    if not (directory / "certs").exists():
        (directory / "certs").symlink_to(ROOT / "certs")
    command = ["bash", "-euo", "pipefail", "-c", block]
    done = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


@dataclass(frozen=True, slots=True)
class _Node:
    """A control-plane node: what is in its folder, and the API server's arguments by kubeadm's configuration."""

    folder: Path
    arguments: tuple[str, ...]


def _prepared(directory: Path, host: str) -> _Node:
    """Take the steps up to the API server's start; paths are this machine's, and podberth's host the one here."""
    certificates, files, _ = _blocks("bash")
    [configuration] = _blocks("yaml")
    folder = directory / "etc-kubernetes-podberth"
    _run(certificates, directory)
    _run(files.replace(_ON_A_NODE, str(folder)), directory)
    for name in ("kubeconfig.yaml", "admission-configuration.yaml"):
        file = folder / name
        text = file.read_text().replace(_ON_A_NODE, str(folder))
        file.write_text(text.replace("podberth.podberth-system.svc", host))
    server = yaml.safe_load(configuration)["apiServer"]
    [volume] = server["extraVolumes"]
    assert volume["hostPath"] == _ON_A_NODE
    arguments = (f"--{each['name']}={each['value']}" for each in server["extraArgs"])
    return _Node(folder, tuple(each.replace(volume["mountPath"], str(folder)) for each in arguments))


def _variables(authority: Path) -> dict[str, str]:
    """Return the variables of the component, with the authority where it is here."""
    [patch] = yaml.safe_load(_COMPONENT.read_text())["patches"]
    spec = yaml.safe_load(patch["patch"])["spec"]["template"]["spec"]
    [container], [volume] = spec["containers"], spec["volumes"]
    [mount] = container["volumeMounts"]
    assert (mount["name"], volume["configMap"]["name"]) == (volume["name"], "podberth-client-ca")
    said = {each["name"]: each["value"] for each in container["env"]}
    return {name: value.replace(f"{mount['mountPath']}/ca.crt", str(authority)) for name, value in said.items()}


def _register(plane: ControlPlane, replica: Replica, host: str) -> None:
    authority = base64.b64encode((replica.directory / "tls" / "ca.crt").read_bytes()).decode()
    endpoint = Endpoint(f"https://{host}:{replica.port}", authority)
    plane.apply(*(pointed(configuration, endpoint) for configuration in shipped()))


def _create(plane: ControlPlane) -> tuple[int, bytes]:
    return plane.raw("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())


def test_only_the_api_server_is_answered(tmp_path: Path) -> None:
    directory = tmp_path / "replica"
    replica = Replica(directory, (*marking(directory), "--self-signed", str(directory / "tls")))
    # As a URL has it; a Service's name stands for its port 443.
    node = _prepared(tmp_path, f"127.0.0.1:{replica.port}")
    replica.variables = _variables(tmp_path / "ca.crt")
    try:
        replica.start()  # so probes are answered without a certificate
        assert replica.metric("policies_loaded") == 1
        assert replica.metric("client_certificate_required") == 1
        with ControlPlane.start(tmp_path / "plane", extra_apiserver_args=list(node.arguments)) as plane:
            _give_the_authority(plane, tmp_path)
            _register(plane, replica, "127.0.0.1")
            wait_for(
                lambda: marked(plane),
                timeout_seconds=SECONDS,
                what=lambda: f"podberth to be called; got {_create(plane)}",
            )
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
        _nobody_else(replica, tmp_path)
    finally:
        replica.close()


def _give_the_authority(plane: ControlPlane, directory: Path) -> None:
    """Take the step that makes the ConfigMap, and see that it holds what podberth has been given here."""
    plane.add_namespace(NAMESPACE)
    path = f"{plane.kubectl_path.parent}:/usr/bin:/bin"
    _run(_blocks("bash")[2], directory, {**plane.environ(), "PATH": path})
    config_map = plane.get("configmap", "podberth-client-ca", "-n", NAMESPACE)
    assert config_map["data"] == {"ca.crt": (directory / "ca.crt").read_text()}


def _nobody_else(replica: Replica, directory: Path) -> None:
    authority = str(replica.directory / "tls" / "ca.crt")
    host = f"127.0.0.1:{replica.port}"
    anybody = http.client.HTTPSConnection(host, context=ssl.create_default_context(cafile=authority))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        _ask(anybody)
    anybody.close()
    # Of the right authority, and of the right name but another authority.
    other = ssl.create_default_context(cafile=authority)
    other.load_cert_chain(*_issued(directory, "somebody"))
    somebody = http.client.HTTPSConnection(host, context=other)
    assert _ask(somebody) == 403
    somebody.close()
    forged = ssl.create_default_context(cafile=authority)
    forged.load_cert_chain(*ClientAuthority(directory / "forgers").issue("kube-apiserver"))
    forger = http.client.HTTPSConnection(host, context=forged)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        _ask(forger)
    forger.close()


def _issued(directory: Path, name: str) -> tuple[Path, Path]:
    """Return a certificate of the page's authority for another name, and its key."""
    request, issue = (
        line.replace("client.", f"{name}.").replace("kube-apiserver", name)
        for line in _blocks("bash")[0].splitlines()
        if "CN=kube-apiserver" in line or "-CAkey" in line
    )
    _run(f"{request}\ncp client.ext {name}.ext\n{issue}", directory)
    return directory / f"{name}.crt", directory / f"{name}.key"


def _ask(connection: http.client.HTTPSConnection) -> int:
    connection.request("POST", "/mutate", b"{}", {"Content-Type": "application/json"})
    return connection.getresponse().status


def test_the_shipped_files_name_the_service_that_the_webhooks_lead_to() -> None:
    [user] = yaml.safe_load((_FILES / "kubeconfig.yaml").read_text())["users"]
    services: list[Any] = [each["clientConfig"]["service"] for one in shipped() for each in one["webhooks"]]
    assert {f"{service['name']}.{service['namespace']}.svc" for service in services} == {user["name"]}
    plugins = yaml.safe_load((_FILES / "admission-configuration.yaml").read_text())["plugins"]
    assert {each["name"] for each in plugins} == {"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}
