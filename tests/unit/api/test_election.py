"""One replica's part in an election, against a simulated API server that may refuse, hang and have other writers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest

from controlplane.wait import until
from podberth.api.election import Election, Term
from podberth.api.protocol import refusal
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import Log

if TYPE_CHECKING:
    from podberth.api.client import ClusterClient

Document = dict[str, Any]
# So long that no leader loses its Lease on a busy machine, and so short that a leader without renewal soon loses it.
LASTING = Term(lease_seconds=120, renew_seconds=60.0, retry_seconds=0.02)
SHORT = Term(lease_seconds=1, renew_seconds=0.2, retry_seconds=0.02)


class Server:
    """The part of a client that the election uses, with one Lease."""

    def __init__(self) -> None:
        self.lease: Document | None = None
        self.hangs = False
        self.status = 0
        self.says = b""
        """Replaces every answer, if set."""
        self.sent = 0
        self._version = 0

    async def get(self, path: str, query: dict[str, str]) -> bytes:
        del query
        await self._fault()
        if self.lease is None:
            raise refusal(f"GET {path}", 404, b"{}", "")
        return self.says or orjson.dumps(self.lease)

    async def send(self, method: str, path: str, document: Document, content_type: str = "") -> bytes:
        del content_type
        await self._fault()
        if self.says:
            return self.says
        self.sent += 1
        known = self.lease or {}
        version = document["metadata"].get("resourceVersion")
        if (method == "POST" and self.lease) or (method == "PATCH" and version != known["metadata"]["resourceVersion"]):
            raise refusal(f"{method} {path}", 409, b"{}", "")
        self.write({**known.get("spec", {}), **document["spec"]})
        return orjson.dumps(self.lease)

    async def reset(self) -> None:
        """Have no connections."""

    def write(self, spec: Document) -> None:
        self._version += 1
        self.lease = {"metadata": {"resourceVersion": str(self._version)}, "spec": spec}

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"]) if self.lease else ""

    async def _fault(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.status:
            raise refusal("PATCH lease", self.status, b"{}", "")


class Nothing(LineWriter):
    """Keeps no lines."""

    def __init__(self) -> None:
        self.dropped = 0

    def write(self, line: bytes) -> None:
        """Forget it."""


class Replica:
    """One candidate, and whether it acts."""

    def __init__(self, server: Server, name: str, term: Term = LASTING) -> None:
        self.acts = False
        self.election = Election(cast("ClusterClient", server), name, Log(Nothing()), term)
        self.task = asyncio.create_task(self.election.run(self._act))

    async def _act(self) -> None:
        self.acts = True
        try:
            await asyncio.Event().wait()
        finally:
            self.acts = False

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def run(scene: Callable[[Server], Awaitable[None]]) -> None:
    async def play() -> None:
        await scene(Server())

    asyncio.run(play())


def test_one_of_two_replicas_acts_and_after_its_end_the_other() -> None:
    async def scene(server: Server) -> None:
        one = Replica(server, "one")
        await until(lambda: one.acts, what="one to act")
        other = Replica(server, "other")
        await until(lambda: other.election.answered, what="the other to have read the Lease")
        assert (one.acts, other.acts, server.holder) == (True, False, "one")
        await one.end()
        assert not one.acts
        assert server.holder in ("", "other")
        await until(lambda: other.acts, what="the other to act")
        assert server.lease is not None
        assert server.lease["spec"]["leaseTransitions"] == 1
        await other.end()

    run(scene)


@pytest.mark.parametrize("fault", ["hangs", "refused", "down", "no JSON", "no Lease"])
def test_a_leader_that_cannot_renew_stops_and_leads_again_when_it_can(fault: str) -> None:
    async def scene(server: Server) -> None:
        one = Replica(server, "one", SHORT)
        await until(lambda: one.acts, what="one to act")
        server.hangs, server.status = fault == "hangs", {"refused": 403, "down": 503}.get(fault, 0)
        server.says = {"no JSON": b"<html>", "no Lease": b'{"metadata": {}}'}.get(fault, b"")
        await until(lambda: not one.acts, what="one to stop acting")
        assert not one.election.leads
        server.hangs, server.status, server.says = False, 0, b""
        await until(lambda: one.acts, what="one to act")
        await one.end()

    run(scene)


def test_a_leader_that_finds_another_in_its_place_stops() -> None:
    async def scene(server: Server) -> None:
        one = Replica(server, "one")
        await until(lambda: one.acts, what="one to act")
        server.write({"holderIdentity": "other", "leaseDurationSeconds": 3600})
        await until(lambda: not one.acts, what="one to stop acting")
        assert server.holder == "other"
        await one.end()
        assert server.holder == "other"

    run(scene)


def test_a_lease_that_nobody_renews_is_taken() -> None:
    async def scene(server: Server) -> None:
        server.write({"holderIdentity": "dead", "leaseDurationSeconds": 1})
        one = Replica(server, "one")
        await until(lambda: one.acts, what="one to act")
        await one.end()

    run(scene)


def test_a_leader_renews() -> None:
    async def scene(server: Server) -> None:
        one = Replica(server, "one")
        await until(lambda: server.sent > 3, what=lambda: f"a fourth write; got {server.sent}")
        assert one.acts
        await one.end()

    run(scene)


def test_an_error_of_the_leader_ends_the_election() -> None:
    async def fail() -> None:
        raise RuntimeError("a bug")

    async def scene(server: Server) -> None:
        election = Election(cast("ClusterClient", server), "one", Log(Nothing()), LASTING)
        with pytest.raises(RuntimeError, match="a bug"):
            await election.run(fail)

    run(scene)
