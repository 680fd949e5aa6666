"""Strangers at the review port who want its memory: connections that never finish, and the largest reviews.

Used by a test and by ``bench.hostile_connections``. Loopback only.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from builders import gpu_pod, review

MIB: Final = 1024 * 1024
REVIEW_BYTES: Final = 6_600_000
_HANDSHAKES_AT_ONCE: Final = 32
_HELLO_BYTES: Final = 130_000
"""OpenSSL lets a ClientHello have 131,396 (SSL3_RT_MAX_PLAIN_LENGTH and its extensions, statem_srvr.c)."""
_RECORD_BYTES: Final = 16_000
_HALF: Final = b" " * (REVIEW_BYTES // 2)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Callers:
    """Connections to one port; ``close`` ends all of them."""

    host: str
    port: int
    context: ssl.SSLContext
    open: list[asyncio.StreamWriter] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    """How many answers of which status came."""

    async def attack(self, attacks: Mapping["Attack", int]) -> None:
        """Open so many connections of each kind, mixed, and leave them as they are."""
        turns = [attack for attack, count in attacks.items() for _ in range(count)]
        mixed = [turns[start] for offset in range(7) for start in range(offset, len(turns), 7)]
        await self._all([self._one(attack) for attack in mixed])

    async def ask(self, bodies: Sequence[bytes], path: str) -> None:
        """Send each body on a connection of its own, and read the answers."""
        await self._all([self._review(body, path) for body in bodies])

    async def close(self) -> None:
        """End all."""
        for writer in self.open:
            writer.transport.abort()
        self.open.clear()

    async def _all(self, coroutines: Sequence[Awaitable[None]]) -> None:
        gate = asyncio.Semaphore(_HANDSHAKES_AT_ONCE)

        async def gated(one: Awaitable[None]) -> None:
            async with gate:
                await one

        await asyncio.gather(*map(gated, coroutines))

    async def _connect(self, *, tls: bool = True) -> Streams:
        context, name = (self.context, "localhost") if tls else (None, None)
        reader, writer = await asyncio.open_connection(self.host, self.port, ssl=context, server_hostname=name)
        self.open.append(writer)
        return reader, writer

    async def _one(self, attack: "Attack") -> None:
        # The server may end it at any moment.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(60):
                await attack(self)

    async def _review(self, body: bytes, path: str) -> None:
        status = "none"
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(60):
                reader, writer = await self._connect()
                writer.write(_head(len(body), path) + b"\r\n" + body)
                with contextlib.suppress(OSError):
                    await writer.drain()
                line = await reader.readuntil(b"\r\n")
                status = line.split(b" ")[1].decode()
                writer.transport.abort()
        self.statuses[status] = self.statuses.get(status, 0) + 1

    async def say(self, *data: bytes, tls: bool = True) -> None:
        """Connect, send, and stay."""
        _, writer = await self._connect(tls=tls)
        for each in data:
            writer.write(each)
        # Nobody waits for the rest to be taken: the server may never read it.


Attack = Callable[[Callers], Awaitable[None]]


async def silent(callers: Callers) -> None:
    """Connect and say nothing."""
    await callers.say(b"", tls=False)


async def endless_hello(callers: Callers) -> None:
    """Begin a handshake whose first message never ends."""
    message = b"\x01" + _HELLO_BYTES.to_bytes(3) + b"\x03\x03" + b"\x00" * (_HELLO_BYTES - 1_000)
    records = [message[start : start + _RECORD_BYTES] for start in range(0, len(message), _RECORD_BYTES)]
    await callers.say(b"".join(b"\x16\x03\x01" + len(each).to_bytes(2) + each for each in records), tls=False)


async def idle_tls(callers: Callers) -> None:
    """Shake hands and say nothing."""
    await callers.say(b"")


async def dribbled_head(callers: Callers) -> None:
    """Send headers of just below the bound, and never their end."""
    await callers.say(_head(1, "/mutate") + b"".join(b"X-%d: %b\r\n" % (n, b"x" * 200) for n in range(70)))


async def huge_head(callers: Callers) -> None:
    """Send a megabyte of headers."""
    await callers.say(_head(1, "/mutate") + b"".join(b"X-%d: %b\r\n" % (n, b"x" * 8_000) for n in range(120)))


async def half_body(callers: Callers) -> None:
    """Send half of a body that is as large as may be."""
    await callers.say(_head(REVIEW_BYTES, "/mutate?timeout=30s") + b"\r\n", _HALF)


async def pipelined_head(callers: Callers) -> None:
    """Send a whole request, and behind it headers that never end."""
    whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    await callers.say(whole + b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %b\r\n" % (n, b"x" * 2_000) for n in range(100)))


ATTACKS: Final[tuple[Attack, ...]] = (
    silent,
    endless_hello,
    idle_tls,
    dribbled_head,
    huge_head,
    half_body,
    pipelined_head,
)


DENSE: Final = b'{"a":{}},'
"""Becomes thirty times as large when it is parsed."""
PLAIN: Final = b'"' + b"x" * 10_000 + b'",'


def large_review(namespace: str, item: bytes) -> bytes:
    """Return a review of REVIEW_BYTES that is full of items of JSON."""
    document = gpu_pod()
    document["spec"]["unknown"] = []
    text = json.dumps(review(document, namespace=namespace)).encode()
    room = (REVIEW_BYTES - len(text)) // len(item)
    return text.replace(b'"unknown": []', b'"unknown": [' + item * room + b"0]")


def _head(length: int, path: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n").encode()
