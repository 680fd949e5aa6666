"""Limits the bytes that the process holds for its callers together: connections, request bodies, parsed documents.

The charge for a connection includes the heads of its requests. The container's limit (manifests/base/deployment.yaml)
is 1 GiB. A webhook that follows 10,000 nodes uses 190 MiB without callers (bench.live), and callers get 512 MiB. The
remaining 322 MiB are for the allocator's overhead, for sockets in the kernel and for a larger cluster.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["connections", "bodies", "documents"]
KINDS: Final[tuple[Kind, ...]] = ("connections", "bodies", "documents")

MIB: Final = 1024 * 1024
# The limit for everything. What lies above the other levels is left for the parsed document of the current decision:
# that of the largest body is charged 224 MiB.
LIMIT_BYTES: Final = 512 * MIB
# For each kind, the total up to which it may take more of the budget. So connections are still accepted when bodies are
# already refused, and bodies from unproven callers (port.slots) leave room for those from the API server.
LEVELS: Final[Mapping[str, int]] = {
    "unproven bodies": 192 * MIB,
    "bodies": 256 * MIB,
    "connections": 288 * MIB,
    "documents": LIMIT_BYTES,
}
# Bytes of memory that one byte of JSON takes when orjson has parsed it: 29.5 in `{"a":{}},`, 24 in `{},`, 5 in real
# reviews. The check of the document's depth takes one more.
PARSED_PER_BYTE: Final = 32
# The most bytes that a connection holds beside a body (bench.hostile_connections). During its handshake these are 400
# KiB, because OpenSSL accepts a first message of 128 KiB and copies it; later 83 KiB, with up to 15 KiB of headers.
HANDSHAKE_BYTES: Final = 448 * 1024
CONNECTION_BYTES: Final = 128 * 1024


# Ordinary reviews have 5 to 10 KB. If each connection held one parsed review of 16 KiB, the budget would be used up.
_LARGE_DOCUMENT: Final = PARSED_PER_BYTE * 16 * 1024


class MemoryBudget:
    """The memory budget of a process, used only by the event loop's thread."""

    def __init__(self, levels: Mapping[str, int] = LEVELS) -> None:
        """Create a budget of which nothing is used.

        ``levels`` is a mapping from a use of memory, such as "bodies" or "connections", to a limit in bytes. Memory for
        a use is granted only while the total of all uses stays within the limit of that use.
        """
        self._levels = levels
        self._total = 0
        self.used: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.refused: dict[str, int] = dict.fromkeys(KINDS, 0)

    def take(self, kind: Kind, amount: int, *, proven: bool = True) -> bool:
        """Charge ``amount`` bytes to the use ``kind`` and return True, or return False if the bytes do not fit.

        ``proven`` says whether the connection's caller is known to be legitimate; the bodies of other callers get fewer
        bytes.
        """
        level = "unproven bodies" if kind == "bodies" and not proven else kind
        if self._total + amount > self._levels[level]:
            self.refused[kind] += 1
            return False
        self._total += amount
        self.used[kind] += amount
        return True

    def give_back(self, kind: Kind, amount: int) -> None:
        """Free ``amount`` bytes that were charged to the use ``kind``."""
        self._total -= amount
        self.used[kind] -= amount


class Hold:
    """The memory that one request uses, as part of a memory budget; ``release`` frees the memory."""

    __slots__ = ("_bodies", "_budget", "_documents", "_proven")

    def __init__(self, budget: MemoryBudget, *, proven: bool) -> None:
        """Create the object without bytes. ``proven`` says whether the request's caller is known to be legitimate."""
        self._budget = budget
        self._proven = proven
        self._bodies = self._documents = 0

    def take_body(self, size: int) -> bool:
        """Charge ``size`` bytes, which are all bytes of the request's body so far; return False if they do not fit.

        Bytes that an earlier call charged are not charged again.
        """
        more = size - self._bodies
        if more <= 0:
            return True
        if not self._budget.take("bodies", more, proven=self._proven):
            return False
        self._bodies = size
        return True

    def take_document(self, body_size: int) -> bool:
        """Charge the most memory that the parsed document of a body of ``body_size`` bytes can need.

        Return False if the budget has not so much memory left.
        """
        size = PARSED_PER_BYTE * body_size
        if not self._budget.take("documents", size):
            return False
        self._documents += size
        return True

    @property
    def is_large(self) -> bool:
        """Whether the request's parsed document is so large that one for every connection would exceed the budget."""
        return self._documents > _LARGE_DOCUMENT

    def drop_document(self) -> None:
        """Free the bytes that were charged for the parsed document."""
        self._budget.give_back("documents", self._documents)
        self._documents = 0

    def release(self) -> None:
        """Free all bytes that were charged for the request."""
        self.drop_document()
        self._budget.give_back("bodies", self._bodies)
        self._bodies = 0
