"""How the agent finds the API server and reads answers; the server follows a script."""

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podberth.agent.api import Access, Api, find_access
from podberth.agent.api_requests import ask_node, write_config_map
from podberth.cli.main import main


@dataclass
class Script:
    """What the server answers, and what it was asked."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def https(script: Script, folder: Path) -> Iterator[Access]:
    """Serve on a port of the system's choice."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            script.asked.append((self.command, self.path, dict(self.headers), body))
            self.send_response(script.status)
            for name, value in {**script.headers, "Content-Length": str(len(script.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(script.body)

        do_GET = do_PATCH = answer  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None: ...

    certificate, key = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    token = folder / "token"
    token.write_text("first\n")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Access(f"https://127.0.0.1:{server.server_address[1]}", token, certificate)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, key_file = folder / "ca.crt", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key_file.write_bytes(key.private_bytes(*encoding))
    return certificate, key_file


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def access(script: Script, tmp_path: Path) -> Iterator[Access]:
    with https(script, tmp_path) as found:
        yield found


def test_a_request_has_its_credentials_and_its_object(script: Script, access: Access) -> None:
    script.body = b'{"metadata": {"uid": "u"}}'
    with closing(Api(access)) as api:
        assert api.send(ask_node("n")).metadata == {"uid": "u"}
        access.token_file.write_text("second\n")
        api.send(write_config_map("n", "u", "{}"))
    (get, node, first, _), (patch, path, second, body) = script.asked
    assert (get, node, patch) == ("GET", "/api/v1/nodes/n", "PATCH")
    assert path == "/api/v1/namespaces/podberth-system/configmaps/n?fieldManager=podberth-agent&force=true"
    assert [each["Authorization"] for each in (first, second)] == ["Bearer first", "Bearer second"]
    assert second["Content-Type"] == "application/apply-patch+yaml"
    assert first["Accept"].endswith("as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    assert first["User-Agent"].startswith("podberth-agent/")
    assert json.loads(body)["data"] == {"topology.json": "{}"}


def test_a_path_in_front_is_kept(script: Script, access: Access) -> None:
    with closing(Api(Access(f"{access.url}/clusters/a/", access.token_file, access.ca_file))) as api:
        api.send(ask_node("n"))
    assert script.asked[0][1] == "/clusters/a/api/v1/nodes/n"


@pytest.mark.parametrize(
    ("answered", "said", "after"),
    [
        (Script(403, b'{"kind": "Status", "message": "no"}'), "no", None),
        (Script(429, b"busy", {"Retry-After": "7"}), "Too Many Requests", 7.0),
        (Script(503, b"[]", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), "Service Unavailable", None),
        (Script(500, b'{"message": "' + b"x" * 9999 + b'"}'), "x" * 300, None),
        (Script(302, b"", {"Location": "/elsewhere"}), "Found", None),
    ],
)
def test_an_answer_is_a_value_whatever_it_is(
    script: Script, access: Access, answered: Script, said: str, after: float | None
) -> None:
    script.status, script.body, script.headers = answered.status, answered.body, answered.headers
    with closing(Api(access)) as api:
        answer = api.send(ask_node("n"))
    assert (answer.status, answer.said, answer.retry_after_seconds) == (answered.status, said, after)


def test_a_missing_answer_is_an_answer_too(script: Script, tmp_path: Path) -> None:
    script.headers = {"Connection": "close"}
    with https(script, tmp_path) as access:
        api = Api(access)
        assert api.send(ask_node("n")).status == 200
    with closing(api):
        lost = api.send(ask_node("n"))
        assert (lost.status, lost.said.startswith(f"no answer from {access.url}: ")) == (0, True)


def test_a_server_that_another_authority_signed_is_no_answer(access: Access, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, _ = _certificate(tmp_path / "other")
    with closing(Api(Access(access.url, access.token_file, other))) as api:
        answer = api.send(ask_node("n"))
    assert (answer.status, "CERTIFICATE_VERIFY_FAILED" in answer.said) == (0, True)


def test_an_authority_that_was_rotated_is_read_again(access: Access, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, _ = _certificate(tmp_path / "other")
    with closing(Api(Access(access.url, access.token_file, other))) as api:
        assert api.send(ask_node("n")).status == 0
        other.write_text("half of one")
        assert api.send(ask_node("n")).status == 0
        other.write_bytes(access.ca_file.read_bytes())
        assert [api.send(ask_node("n")).status for _ in range(2)] == [0, 200]


def test_a_token_that_is_gone_is_no_answer(access: Access) -> None:
    with closing(Api(access)) as api:
        access.token_file.unlink()
        assert "No such file" in api.send(ask_node("n")).said


@pytest.mark.parametrize(
    ("host", "url"), [("10.0.0.1", "https://10.0.0.1:6443"), ("fd00::1", "https://[fd00::1]:6443")]
)
def test_a_pod_finds_the_api_server_by_its_environment(access: Access, host: str, url: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "6443"}
    assert find_access(None, access.token_file, access.ca_file, environ).url == url


def test_a_flag_counts_before_the_environment(access: Access) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert find_access(access.url, access.token_file, access.ca_file, environ) == access


@pytest.mark.parametrize("text", ["", " \n", "zwölf", "secret\nof two lines", "secret\rof two lines"])
def test_a_token_file_that_holds_something_else_is_no_answer_and_is_not_shown(access: Access, text: str) -> None:
    with closing(Api(access)) as api:
        access.token_file.write_bytes(text.encode())
        answer = api.send(ask_node("n"))
        assert (answer.status, answer.said) == (0, f"{access.token_file}: got no token, want one line of ASCII")
        access.token_file.write_text("first\n")
        assert api.send(ask_node("n")).status == 200


def flags(**changes: Any) -> list[str]:
    return [part for key, value in changes.items() for part in (f"--{key.replace('_', '-')}", str(value))]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"api_server": "http://127.0.0.1:8001"}, "--api-server: got http://127.0.0.1:8001, want https://HOST:PORT"),
        ({"api_server": "https://a:b"}, "--api-server: got https://a:b, want https://HOST:PORT"),
        ({"api_server": "https://a:65536"}, "--api-server: got https://a:65536, want https://HOST:PORT"),
        ({"api_server": "https://[::1"}, "--api-server: got https://[::1, want https://HOST:PORT"),
        ({"token_file": "nowhere"}, "--token-file: nowhere: No such file or directory"),
        ({"ca_file": "nowhere"}, "--ca-file: nowhere: No such file or directory"),
        ({"ca_file": __file__}, "want certificates in PEM"),
    ],
    ids=str,
)
def test_a_lasting_failure_ends_with_2(
    access: Access, capsys: pytest.CaptureFixture[str], change: dict[str, str], said: str
) -> None:
    given = {"api_server": access.url, "token_file": access.token_file, "ca_file": access.ca_file}
    assert main(["agent", "--simulate", "l4-1", "--node", "n", *flags(**{**given, **change})]) == 2
    assert said in capsys.readouterr().err


def test_without_configuration_it_ends_with_2_and_names_the_missing_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert main(["agent", "--simulate", "l4-1", "--node", "n"]) == 2
    assert "no KUBERNETES_SERVICE_HOST, as in a pod, and no --api-server" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--once"], ["--node", "a/b"], ["--node", "A"], ["--heartbeat", "0"]])
def test_wrong_flags_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "--simulate", "l4-1", *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


def test_the_node_is_named_by_the_environment_where_no_flag_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NODE_NAME", "from-the-pod")
    assert main(["agent", "--print", "--simulate", "l4-1"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["name"] == "from-the-pod"
