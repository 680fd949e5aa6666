"""What one control plane's parts know each other by: keys, certificates, tokens and kubeconfig files.

All are made for one cluster on 127.0.0.1 and written with mode 0600 below its directory.
"""

import base64
import ipaddress
import json
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A demonstration may be left running for long, and nothing else depends on these certificates.
_VALID = timedelta(days=365)
# Clocks of containers and of their host may differ a little.
_BACKDATED = timedelta(hours=1)

SERVICE_RANGE = "10.96.0.0/16"
_KUBERNETES_SERVICE = "10.96.0.1"

# The names that RBAC's built-in roles are bound to, so that scheduler and controller-manager run with no
# more rights than on a real cluster. The simulated nodes stand for many kubelets and need a cluster-wide view.
_IDENTITIES = {
    "admin": ("podberth-test-admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "nodes": ("podberth-test-nodes", "system:masters"),
}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Paths of the written files; `tokens` maps each identity to its bearer token."""

    folder: Path
    tokens: dict[str, str]

    @property
    def ca_file(self) -> Path:
        """The certificate authority, in PEM form."""
        return self.folder / "ca.crt"

    @property
    def serving_cert(self) -> Path:
        """The certificate that all components serve with."""
        return self.folder / "serving.crt"

    @property
    def serving_key(self) -> Path:
        """Its private key."""
        return self.folder / "serving.key"

    @property
    def service_account_key(self) -> Path:
        """The private key that signs service account tokens."""
        return self.folder / "service-account.key"

    @property
    def service_account_public_key(self) -> Path:
        """Its public half."""
        return self.folder / "service-account.pub"

    @property
    def token_file(self) -> Path:
        """The API server's --token-auth-file."""
        return self.folder / "tokens.csv"

    def kubeconfig(self, identity: str, server_url: str) -> Path:
        """Write a self-contained kubeconfig (JSON, which is YAML too) and return its path."""
        authority = base64.b64encode(self.ca_file.read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": server_url, "certificate-authority-data": authority}}],
            "users": [{"name": identity, "user": {"token": self.tokens[identity]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": identity}}],
            "current-context": "test",
        }
        path = self.folder / f"{identity}.kubeconfig"
        _write(path, json.dumps(document, indent=2).encode())
        return path


def issue(folder: Path) -> Credentials:
    """Make and write everything but the kubeconfig files, which need the server's port."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    credentials = Credentials(folder, {identity: secrets.token_urlsafe(32) for identity in _IDENTITIES})
    rows = (
        f'{credentials.tokens[identity]},{user},{user},"{group}"' for identity, (user, group) in _IDENTITIES.items()
    )
    _write(credentials.token_file, "\n".join(rows).encode())
    _issue_serving(credentials)
    signer = ec.generate_private_key(ec.SECP256R1())
    _write(credentials.service_account_key, _private_pem(signer))
    _write(
        credentials.service_account_public_key,
        signer.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )
    return credentials


def _issue_serving(credentials: Credentials) -> None:
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name("podberth-test-ca")
    authority_id = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(authority_id, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    serving_key = ec.generate_private_key(ec.SECP256R1())
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    hosts: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    hosts += [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", _KUBERNETES_SERVICE)]
    serving = (
        _builder(_name("podberth-test-control-plane"), authority_name, serving_key.public_key())
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        # Python 3.13's default context refuses a chain without the two key identifiers (RFC 5280, 4.2.1.1).
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(serving_key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_id), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    _write(credentials.ca_file, authority.public_bytes(serialization.Encoding.PEM))
    _write(credentials.serving_cert, serving.public_bytes(serialization.Encoding.PEM))
    _write(credentials.serving_key, _private_pem(serving_key))


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _VALID)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # SEC 1 form ("EC PRIVATE KEY"): PKCS#8 too is read by Kubernetes, this one by every tool.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(content)
