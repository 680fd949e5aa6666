"""No private key is in the repository, nor ever comes in by mistake."""

import base64
import json
import re
import subprocess
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

ROOT = Path(__file__).parents[2]

# A PEM block with something in it, also where a manifest has it in base64: what "-----BEGIN " of a key becomes.
_PEM = re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s*(?:\\n)?[A-Za-z0-9+/=\s\\]{40,}")
_BASE64 = re.compile(rb"LS0tLS1CRUdJTi(?:BQUklWQVRF|BFQyBQUklWQVRF|BSU0EgUFJJVkFURS)[A-Za-z0-9+/=]{40,}")


def _holds_key(content: bytes) -> bool:
    return bool(_PEM.search(content) or _BASE64.search(content))


def test_no_file_holds_a_private_key() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    files = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    assert len(files) > 100
    assert [file for file in files if file.is_file() and _holds_key(file.read_bytes())] == []


def test_a_key_would_be_found_in_every_form() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    for form in (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL):
        text = key.private_bytes(Encoding.PEM, form, NoEncryption())
        assert _holds_key(text)
        assert _holds_key(b"data: " + base64.b64encode(text))
        assert _holds_key(json.dumps({"key": text.decode()}).encode())
