"""The seal of a record: who has the key wrote it, and wrote it for the pod that has it.

A seal is made over the text of a record as it stands in the annotation, so a record that anybody else has written is
not even parsed.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

# Of the format of the text that is sealed; another one is another version.
_PURPOSE: Final = b"podberth.io/applied v1"
# 128 bits: whoever guesses has one try for each review. HMAC-SHA-256 may be cut to half its length (RFC 2104, 5).
_SEAL_BYTES: Final = 16
SEAL_LENGTH: Final = 22
"""Characters of a seal: base64url without padding."""
LEAST_KEY_BYTES: Final = 16
"""What a key is made from has at least as many bytes as a seal."""
RECORD_KEY: Final = "record.key"
"""What the key is called among the data of a Secret, and in a directory."""


class Bearer(NamedTuple):
    """The pod that a record is written for, as far as it is known when the pod is created."""

    namespace: str
    name: str
    """The prefix of a generated name: the API server generates it after mutating webhooks."""


def bearer_of(pod: Mapping[str, Any], namespace: str) -> Bearer:
    """Return whom a record on ``pod`` is sealed for; ``namespace`` is the review's."""
    metadata = pod.get("metadata") or {}
    return Bearer(namespace, metadata.get("generateName") or metadata.get("name") or "")


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals records, and tells its own seals from all others."""

    keys: tuple[bytes, ...] = field(repr=False)
    """The first one seals, and all of them are believed."""
    offline: bool = False
    """Whether pods come from files, of which no API server says who wrote what (``record.Found.sent``)."""

    @classmethod
    def of(cls, *secrets: bytes) -> "Sealer":
        """Return the sealer of a cluster whose secrets are these, the newest first; secrets may have any length."""
        return cls(tuple([hashlib.sha256(_PURPOSE + secret).digest() for secret in secrets]))

    def seal(self, bearer: Bearer, text: str) -> str:
        """Return the seal of a record's text."""
        return _seal(self.keys[0], bearer, text)

    def believes(self, seal: str, bearer: Bearer, text: str) -> bool:
        """Tell whether a seal is one that this sealer has made of this text for this pod, or may have made before."""
        given = seal.encode("utf-8", "surrogatepass")
        return any(hmac.compare_digest(_seal(key, bearer, text).encode(), given) for key in self.keys)


def _seal(key: bytes, bearer: Bearer, text: str) -> str:
    parts = [part.encode("utf-8", "surrogatepass") for part in (*bearer, text)]
    # Each with its length before it: no two lists of parts are one text.
    message = b"".join([len(part).to_bytes(8, "big") + part for part in parts])
    return urlsafe_b64encode(hmac.digest(key, message, "sha256")[:_SEAL_BYTES]).rstrip(b"=").decode()


OFFLINE: Final = Sealer(Sealer.of(b"offline").keys, offline=True)
"""For files, where everybody may say what podberth wrote. No cluster believes it: its key is public."""
