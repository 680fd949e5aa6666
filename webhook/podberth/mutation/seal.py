"""The seal of a record: it proves that a holder of the key wrote the record for this pod.

A seal covers the text of a record as it is in the annotation, so a record by another author is not even parsed.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

# The version of the sealed text's format.
_PURPOSE: Final = b"podberth.io/applied v1"
# 128 bits: an attacker has one guess for each review. HMAC-SHA-256 may be cut to half its length (RFC 2104, 5).
_SEAL_BYTES: Final = 16
SEAL_LENGTH: Final = 22
"""Characters of a seal: base64url without padding."""
LEAST_KEY_BYTES: Final = 16
"""The least length of a secret: that of a seal."""
RECORD_KEY: Final = "record.key"
"""The name of the key in the data of a Secret, and of its file in a directory."""


class Bearer(NamedTuple):
    """The pod that a record is written for, as far as it is known when the pod is created."""

    namespace: str
    name: str
    """The name, or the prefix of a generated name: the API server generates names after mutating webhooks."""


def bearer_of(pod: Mapping[str, Any], namespace: str) -> Bearer:
    """Return the bearer of a record on ``pod``; ``namespace`` is the review's."""
    metadata = pod.get("metadata") or {}
    return Bearer(namespace, metadata.get("generateName") or metadata.get("name") or "")


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals records, and verifies seals."""

    keys: tuple[bytes, ...] = field(repr=False)
    """The first key makes seals; seals of any of the keys are accepted."""
    offline: bool = False
    """Whether pods come from files. Then there is no API server to show who wrote a field (``record.Found.sent``)."""

    @classmethod
    def of(cls, *secrets: bytes) -> "Sealer":
        """Return the sealer of a cluster whose secrets are these, the newest first; secrets may have any length."""
        return cls(tuple([hashlib.sha256(_PURPOSE + secret).digest() for secret in secrets]))

    def seal(self, bearer: Bearer, text: str) -> str:
        """Return the seal of a record's text."""
        return _seal(self.keys[0], bearer, text)

    def believes(self, seal: str, bearer: Bearer, text: str) -> bool:
        """Tell whether a seal is valid for this text and this pod, by one of the keys."""
        given = seal.encode("utf-8", "surrogatepass")
        return any(hmac.compare_digest(_seal(key, bearer, text).encode(), given) for key in self.keys)


def _seal(key: bytes, bearer: Bearer, text: str) -> str:
    parts = [part.encode("utf-8", "surrogatepass") for part in (*bearer, text)]
    # Each part has its length before it, so two different lists of parts never give the same message.
    message = b"".join([len(part).to_bytes(8, "big") + part for part in parts])
    return urlsafe_b64encode(hmac.digest(key, message, "sha256")[:_SEAL_BYTES]).rstrip(b"=").decode()


OFFLINE: Final = Sealer(Sealer.of(b"offline").keys, offline=True)
"""The sealer for files. Its key is public, so no cluster accepts its seals."""
