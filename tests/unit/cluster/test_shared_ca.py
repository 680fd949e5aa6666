"""The Secret of the authorities has the key of records, too: it is made once, and never lost."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from podberth.cluster.shared_ca import ReadSecret, SharedAuthorities
from podberth.errors import ClusterError
from podberth.mutation.seal import RECORD_KEY
from podberth.pki.authorities import SECRET_KEY, Authorities, encode
from podberth.pki.rotation import new_signer

if TYPE_CHECKING:
    from podberth.api.client import ClusterClient

AUTHORITIES = Authorities(new_signer(timedelta(days=1), timedelta(hours=1), datetime(2026, 1, 1, tzinfo=UTC)), None)


class Server:
    """An API server with one Secret."""

    def __init__(self, **data: bytes) -> None:
        """Have a Secret with this data; none without."""
        self.secret: dict[str, Any] | None = None
        if data:
            encoded = {key.replace("_", "."): base64.b64encode(content).decode() for key, content in data.items()}
            self.secret = {"metadata": {"name": "ca", "resourceVersion": "1"}, "data": encoded}

    async def get(self, path: str, _: object) -> bytes:
        """Return the object."""
        if self.secret is None:
            error = ClusterError("refused", f"{path}: not found")
            error.status = 404
            raise error
        return json.dumps(self.secret).encode()

    async def send(self, _verb: str, _path: str, document: dict[str, Any]) -> None:
        """Store the Secret."""
        self.secret = document

    def has(self, name: str) -> bytes:
        """Return one entry of the Secret."""
        assert self.secret is not None
        return base64.b64decode(self.secret["data"].get(name, ""))


def shared(server: Server) -> SharedAuthorities:
    return SharedAuthorities(cast("ClusterClient", server), "ca", "podberth")


def read(server: Server) -> ReadSecret | None:
    return asyncio.run(shared(server).secret())


def store(server: Server, remembered: bytes = b"") -> None:
    asyncio.run(shared(server).store(read(server), AUTHORITIES, remembered))


def test_a_new_secret_gets_a_key_and_keeps_it_when_the_authorities_are_written() -> None:
    server = Server()
    store(server)
    made = server.has(RECORD_KEY)
    store(server, remembered=b"x" * 32)

    assert len(made) == 32
    assert server.has(RECORD_KEY) == made
    found = read(server)
    assert found is not None
    assert found.record_key == made


def test_a_secret_of_an_earlier_version_gets_one() -> None:
    server = Server(authorities_json=encode(AUTHORITIES))
    found = read(server)
    assert found is not None
    assert found.record_key == b""

    store(server)
    assert len(server.has(RECORD_KEY)) == 32
    assert server.has(SECRET_KEY) == encode(AUTHORITIES)


def test_a_replica_that_remembers_a_key_puts_it_back_after_an_earlier_version_dropped_it() -> None:
    server = Server(authorities_json=encode(AUTHORITIES))
    store(server, remembered=b"x" * 32)

    assert server.has(RECORD_KEY) == b"x" * 32


def test_a_key_that_is_too_short_is_replaced_and_other_data_of_the_secret_stays() -> None:
    server = Server(authorities_json=encode(AUTHORITIES), record_key=b"short", own_text=b"kept")
    store(server)

    assert len(server.has(RECORD_KEY)) == 32
    assert server.has("own.text") == b"kept"
