"""Client certificates for tests: a CA in a folder, and what it issues."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from podberth.pki.issue import living, new_authority

_LIFE = timedelta(days=2)


class ClientAuthority:
    """A CA of clients; ``file`` is its certificate."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._authority = new_authority(f"clients of {folder.name}", living(_LIFE, datetime.now(UTC)))
        self.file = folder / "ca.crt"
        self.file.write_bytes(self._authority.pem)

    def issue(self, name: str, not_after: datetime | None = None) -> tuple[Path, Path]:
        """Write a certificate and its key; return both files."""
        key = ec.generate_private_key(ec.SECP256R1())
        until = not_after or datetime.now(UTC) + timedelta(days=1)
        certificate = (
            x509.CertificateBuilder()
            .serial_number(x509.random_serial_number())
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self._authority.certificate.subject)
            .public_key(key.public_key())
            .not_valid_before(until - 2 * _LIFE)
            .not_valid_after(until)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self._authority.key, SHA256())
        )
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
        files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return files
