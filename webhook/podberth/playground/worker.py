"""A process that computes answers, so that no policy can hang the page's server or take its memory.

Parent and process speak over the process' standard input and output: each line is one JSON document, but for the
process' first line, which says that it reads requests. The process has no access to files for requests: it gets texts,
and it answers texts. The files about the cluster are read at its start.
"""

import asyncio
import json
import math
import os
import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..errors import PodberthError

PATIENCE_SECONDS: Final = 20.0
"""The time limit for one answer; the largest policy that podberth ships takes 0.2 s."""
START_SECONDS: Final = 60.0
"""The time limit for a request's wait until the process reads requests; the process loads for 2.5 s of CPU time."""
KINDS: Final = ("session", "answer", "complete", "hover")
"""The requests that the page may send: ``asking`` answers them."""
MAX_ANSWER_BYTES: Final = 32 * 2**20
MOST_WAITING: Final = 16
"""The most requests that wait for the process; the page of one user has three at most."""
_READY: Final = b"ready\n"
_MAX_MEMORY_BYTES: Final = 4 * 2**30
_TOO_MUCH: Final = "the answer needs too much memory; make the policy or the cluster smaller"
_ENDED: Final = "the process that answers has ended, perhaps for want of memory; the terminal may say more"


class NoAnswerError(Exception):
    """The process has no answer. The message is for the page, and the attribute ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Worker:
    """Starts the process when it is first needed, and again after it had to be ended."""

    patience_seconds: float = PATIENCE_SECONDS
    start_seconds: float = START_SECONDS
    conventions: Path | None = None
    """The file of ``--conventions``."""
    pod_schema: Path | None = None
    """The file of ``--pod-schema``."""
    _process: asyncio.subprocess.Process | None = None
    _is_ready: bool = False
    """Whether the process has said that it reads requests."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _waiting: int = 0

    async def warm(self) -> None:
        """Start the process before the first request."""
        async with self._turn:
            await self._running()

    async def ask(self, kind: str, request: Mapping[str, Any]) -> bytes:
        """Return the answer to a request as JSON text.

        Raises:
            NoAnswerError: the request is wrong, took too long, or too many wait.
        """
        if self._waiting >= MOST_WAITING:
            raise NoAnswerError(503, f"got {MOST_WAITING} requests that wait, want fewer; try again")
        self._waiting += 1
        try:
            async with self._turn:
                line = await self._line({"kind": kind, "request": request})
        finally:
            self._waiting -= 1
        status, answer = line[:3], line[4:]
        if status != b"200":
            raise NoAnswerError(int(status), json.loads(answer))
        return answer

    async def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    async def _line(self, message: Mapping[str, Any]) -> bytes:
        """Return the line that the process answers: the status, a blank, and the JSON text."""
        process = await self._ready()
        answered = False
        try:
            async with asyncio.timeout(self.patience_seconds):
                assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - pipes, below
                process.stdin.write(json.dumps(message).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            answered = line.endswith(b"\n")
        except TimeoutError as error:
            seconds = f"{self.patience_seconds:g} s"
            smaller = "make the policy, the workload or the cluster smaller, or try again if this machine is busy"
            raise NoAnswerError(504, f"the answer took longer than {seconds}; {smaller}") from error
        except (OSError, ValueError):  # the process has ended, or its line is longer than MAX_ANSWER_BYTES
            line = b""
        finally:
            if not answered:
                await self.close()
        if not answered:
            raise NoAnswerError(500, _ENDED)
        return line

    async def _ready(self) -> asyncio.subprocess.Process:
        """Return the process when it reads requests; its start goes on if the request that waits for it ends."""
        process = await self._running()
        assert process.stdout is not None  # noqa: S101 - a pipe, below
        if not self._is_ready:
            try:
                async with asyncio.timeout(self.start_seconds):
                    self._is_ready = await process.stdout.readline() == _READY
            except TimeoutError as error:
                said = f"the process that answers has not started in {self.start_seconds:g} s, and goes on; try again"
                raise NoAnswerError(503, said) from error
            if not self._is_ready:
                await self.close()
                raise NoAnswerError(500, _ENDED)
        return process

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._is_ready = False
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a module in the user's folder is none of podberth's
                "-m",
                __name__,
                *(str(each or "") for each in (self.conventions, self.pod_schema)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MAX_ANSWER_BYTES,
                start_new_session=True,  # Ctrl-C is for the server, which ends this process
            )
        return self._process


def main(conventions: str, pod_schema: str) -> None:
    """Answer requests on standard input until it ends, with these files of the cluster; an empty name is no file."""
    from ..files.cluster_files import ClusterFiles  # noqa: PLC0415 - the engine is not loaded into the server
    from .asking import Asking  # noqa: PLC0415 - as above

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MAX_MEMORY_BYTES if most == resource.RLIM_INFINITY else min(most, _MAX_MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # What a library prints must not be read as an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    files = ClusterFiles(
        conventions=Path(conventions) if conventions else None, pod_schema=Path(pod_schema) if pod_schema else None
    )
    asking = Asking(files.environment(), files.names())
    answers.write(_READY)
    answers.flush()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        status, answer = 200, ""
        try:
            found = asking(message["kind"], message["request"], datetime.now(UTC))
            answer = json.dumps(_finite(found), default=str, allow_nan=False)
        except PodberthError as error:
            status, answer = 400, json.dumps(str(error))
        except MemoryError:
            status, answer = 413, json.dumps(_TOO_MUCH)
        except Exception as error:  # noqa: BLE001 - the page says that it failed; the terminal has the kind of the error
            said = "podberth failed on this session; it is a bug, and the session's file shows it"
            status, answer = 500, json.dumps(said)
            sys.stderr.write(f"podberth: playground: {type(error).__name__}\n")
        answers.write(f"{status} {answer}\n".encode(errors="replace"))
        answers.flush()


def _finite(value: Any) -> Any:
    """Return a JSON value with texts in place of the numbers that JSON does not have: NaN and the infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
