"""The seal of a record: the seal proves that a holder of the key wrote the record for this pod.

The seal is computed from the annotation's text, so a record by another author is rejected before it is parsed.
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
"""The length of a seal in characters: base64url without padding."""
LEAST_KEY_BYTES: Final = 16
"""The minimum length of a secret in bytes: the length of a seal before it is encoded."""
RECORD_KEY: Final = "record.key"
"""The key under which the secret is in the data of a Secret, and the name of its file in a directory."""


class Bearer(NamedTuple):
    """The identity of a pod to which a seal is bound: the namespace, and the name that webhooks know at creation."""

    namespace: str
    name: str
    """The pod's name; for generateName the prefix, because the API server generates names after mutating webhooks."""


def bearer_of(pod: Mapping[str, Any], namespace: str) -> Bearer:
    """Return the identity of ``pod``, for which podberth seals the pod's record.

    ``namespace`` is the namespace of the review.
    """
    metadata = pod.get("metadata") or {}
    return Bearer(namespace, metadata.get("generateName") or metadata.get("name") or "")


@dataclass(frozen=True, slots=True)
class Sealer:
    """Computes and verifies the seals of records."""

    keys: tuple[bytes, ...] = field(repr=False)
    """The keys: the first key makes seals; a seal that was made with any of the keys is valid."""
    offline: bool = False
    """Whether the pods are read from files, so that no API server shows who wrote a field (``FoundRecord.sent``)."""

    @classmethod
    def of(cls, *secrets: bytes) -> "Sealer":
        """Return the sealer whose keys are derived from the given secrets, of any length.

        The newest secret comes first and makes seals. Seals that were made with the other secrets stay valid.
        """
        return cls(tuple([hashlib.sha256(_PURPOSE + secret).digest() for secret in secrets]))

    def seal(self, bearer: Bearer, text: str) -> str:
        """Return the seal of a record's text for the pod ``bearer``."""
        return _seal(self.keys[0], bearer, text)

    def believes(self, seal: str, bearer: Bearer, text: str) -> bool:
        """Return whether a seal is valid for ``text`` and the pod ``bearer``, under one of the keys."""
        given = seal.encode("utf-8", "surrogatepass")
        return any(hmac.compare_digest(_seal(key, bearer, text).encode(), given) for key in self.keys)


def _seal(key: bytes, bearer: Bearer, text: str) -> str:
    parts = [part.encode("utf-8", "surrogatepass") for part in (*bearer, text)]
    # Each part has its length before it, so two different lists of parts never give the same message.
    message = b"".join([len(part).to_bytes(8, "big") + part for part in parts])
    return urlsafe_b64encode(hmac.digest(key, message, "sha256")[:_SEAL_BYTES]).rstrip(b"=").decode()


OFFLINE: Final = Sealer(Sealer.of(b"offline").keys, offline=True)
"""The sealer for pods from files. The sealer's key is public, so no cluster accepts seals made with it."""
