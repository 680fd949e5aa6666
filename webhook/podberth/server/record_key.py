"""The keys that seal records, read from a file or from the Secret of the shared CA."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..files.reading import MAX_SMALL_BYTES, read_in_time
from ..mutation.seal import LEAST_KEY_BYTES, Sealer
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics

# The number of keys whose seals are valid: the current key, the one before it, whose pods still exist, and one more,
# because a file may have been read while it was being written. A forged record costs some 10 us for each key.
_BELIEVED: Final = 3


class RecordKeys:
    """The key that seals records, the earlier keys that are still valid, and the receiver of each new sealer."""

    def __init__(self, adopt: Callable[[Sealer], None], metrics: Metrics, log: Log) -> None:
        """Create the object without a key; ``adopt`` receives a new sealer whenever the keys change."""
        self._adopt = adopt
        self._metrics = metrics
        self._log = log
        self._secrets: tuple[bytes, ...] = ()

    def use(self, secret: bytes, where: str) -> None:
        """Seal with the key ``secret`` from now on. Seals with the two previous keys stay valid.

        ``where`` names the source of the key in the log.
        """
        if self._secrets[:1] == (secret,):
            return
        self._secrets = (secret, *(each for each in self._secrets if each != secret))[:_BELIEVED]
        self._adopt(Sealer.of(*self._secrets))
        self._metrics.reloaded("record key", ok=True)
        self._log.event("info", "loaded", what=["record key"], source=where)


class WatchedRecordKey:
    """Watches the file of the key that seals records, and loads each new version."""

    what = "record key"

    def __init__(self, path: Path, keys: RecordKeys) -> None:
        self._path = path
        self._keys = keys
        self._failure = ""

    async def refresh(self) -> None:
        """Load the file with the key if it has changed.

        Raises:
            UsageError: the file cannot be used; the current key stays in use. While the failure remains the same, later
                calls do not raise it again.
        """
        secret, failure = b"", ""
        try:
            secret = await asyncio.to_thread(read_in_time, self._path, MAX_SMALL_BYTES)
        except OSError as error:
            failure = f"cannot be read: {error.strerror}"
        else:
            if len(secret) < LEAST_KEY_BYTES:
                got = f"got {len(secret)} bytes, want {LEAST_KEY_BYTES} at least"
                failure = f"{got}; do: head -c 32 /dev/urandom"
        known, self._failure = self._failure, failure
        if not failure:
            self._keys.use(secret, str(self._path))
        elif failure != known:
            raise UsageError(f"record key: {self._path}: {failure}")
