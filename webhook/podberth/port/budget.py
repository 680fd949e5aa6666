"""One budget of bytes for what callers make the process hold: connections, bodies and parsed documents.

Heads of requests are part of what a connection is charged. The container's limit (manifests/base/deployment.yaml) is
1 GiB, and a webhook that follows 10,000 nodes has 190 MiB without callers (bench.live). The 322 MiB that 512 MiB for
callers leave are for what the allocator wastes, for sockets in the kernel and for a larger cluster.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["connections", "bodies", "documents"]
KINDS: Final[tuple[Kind, ...]] = ("connections", "bodies", "documents")

MIB: Final = 1024 * 1024
# The last of them are for the document that is being decided on: that of the largest body is charged 224.
LIMIT_BYTES: Final = 512 * MIB
# Up to where the budget may be full for a kind to take more of it. Connections come in where bodies no longer do.
# Bodies on connections that have proven nothing (port.places) leave room for those of the API server.
LEVELS: Final[Mapping[str, int]] = {
    "unproven bodies": 192 * MIB,
    "bodies": 256 * MIB,
    "connections": 288 * MIB,
    "documents": LIMIT_BYTES,
}
# What orjson makes of a byte: 29.5 of `{"a":{}},`, 24 of `{},`, 5 of real reviews. One more checks its depth.
PARSED_PER_BYTE: Final = 32
# What a connection holds at most beside a body (bench.hostile_connections): in its handshake 400 KiB, for OpenSSL takes
# a first message of 128 KiB and there are copies of it; then 83, of which 15 KiB of headers are most.
HANDSHAKE_BYTES: Final = 448 * 1024
CONNECTION_BYTES: Final = 128 * 1024


# Ordinary reviews have 5 to 10 KB. One of 16 KiB for each connection, parsed, is as much as there is.
_LARGE_DOCUMENT: Final = PARSED_PER_BYTE * 16 * 1024


class MemoryBudget:
    """Belongs to the event loop's thread."""

    def __init__(self, levels: Mapping[str, int] = LEVELS) -> None:
        """Begin with nothing taken."""
        self._levels = levels
        self._total = 0
        self.used: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.refused: dict[str, int] = dict.fromkeys(KINDS, 0)

    def take(self, kind: Kind, amount: int, *, proven: bool = True) -> bool:
        """Take so many bytes; False, and nothing is taken, where there is no room for them."""
        level = "unproven bodies" if kind == "bodies" and not proven else kind
        if self._total + amount > self._levels[level]:
            self.refused[kind] += 1
            return False
        self._total += amount
        self.used[kind] += amount
        return True

    def give_back(self, kind: Kind, amount: int) -> None:
        """Give bytes back that were taken."""
        self._total -= amount
        self.used[kind] -= amount


class Hold:
    """What one request has taken of a budget; ``release`` gives all of it back."""

    __slots__ = ("_bodies", "_budget", "_documents", "_proven")

    def __init__(self, budget: MemoryBudget, *, proven: bool) -> None:
        """Hold nothing yet."""
        self._budget = budget
        self._proven = proven
        self._bodies = self._documents = 0

    def take_body(self, size: int) -> bool:
        """Take what a body needs that has so many bytes by now; False where there is no room."""
        more = size - self._bodies
        if not self._budget.take("bodies", more, proven=self._proven):
            return False
        self._bodies = size
        return True

    def take_document(self, body_size: int) -> bool:
        """Take what the document of such a body may be; False where there is no room."""
        size = PARSED_PER_BYTE * body_size
        if not self._budget.take("documents", size):
            return False
        self._documents += size
        return True

    @property
    def is_large(self) -> bool:
        """Say whether the document is too large to stay where many others may, too."""
        return self._documents > _LARGE_DOCUMENT

    def drop_document(self) -> None:
        """Give back what was taken of a document."""
        self._budget.give_back("documents", self._documents)
        self._documents = 0

    def release(self) -> None:
        """Give everything back."""
        self.drop_document()
        self._budget.give_back("bodies", self._bodies)
        self._bodies = 0
