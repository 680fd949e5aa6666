"""The keys that records are sealed with: from a file, or from the Secret of the authorities."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..files.reading import MAX_SMALL_BYTES, read_in_time
from ..mutation.seal import LEAST_KEY_BYTES, Sealer
from ..telemetry.log import Log

# The key in force, the one before it, whose pods are still there, and what a file held while it was being written.
# Each costs a review with a false record some 10 us.
_BELIEVED: Final = 3


class RecordKeys:
    """The key in force, and who is told of it."""

    def __init__(self, adopt: Callable[[Sealer], None], log: Log) -> None:
        """Know no key yet; ``adopt`` takes the sealer whenever it is another."""
        self._adopt = adopt
        self._log = log
        self._secrets: tuple[bytes, ...] = ()

    def use(self, secret: bytes, where: str) -> None:
        """Seal with this key from now on; the keys before it are still believed. ``where`` is where it was found."""
        if self._secrets[:1] == (secret,):
            return
        self._secrets = (secret, *(each for each in self._secrets if each != secret))[:_BELIEVED]
        self._adopt(Sealer.of(*self._secrets))
        self._log.event("info", "loaded", what=["record key"], source=where)


class WatchedRecordKey:
    """The file of the key."""

    what = "record key"

    def __init__(self, path: Path, keys: RecordKeys) -> None:
        """Nothing is loaded yet."""
        self._path = path
        self._keys = keys

    async def refresh(self) -> None:
        """Load the file if it has changed.

        Raises:
            UsageError: it cannot be used; the key in force stays.
        """
        try:
            secret = await asyncio.to_thread(read_in_time, self._path, MAX_SMALL_BYTES)
        except OSError as error:
            raise UsageError(f"record key: {self._path}: cannot be read: {error.strerror}") from error
        if len(secret) < LEAST_KEY_BYTES:
            raise UsageError(
                f"record key: {self._path}: got {len(secret)} bytes, want {LEAST_KEY_BYTES} at least; do: "
                "head -c 32 /dev/urandom"
            )
        self._keys.use(secret, str(self._path))
