"""Reads files that other programs write: only regular files of a bounded size, and with a time limit.

open(2) of a named pipe waits for a writer (fifo(7)), and open(2) of some devices has effects (watchdog). On a mount
whose server is unreachable, stat(2), open(2) and read(2) do not return (nfs(5), "hard"), and a thread in a system call
cannot be interrupted. A thread that does not return in time is abandoned: nothing waits for the thread, not even the
end of the process.
"""

import errno
import os
import stat
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import BinaryIO, Final, TypeVar

from ..errors import UsageError

T = TypeVar("T")

PATIENCE_SECONDS: Final = 8.0
"""The time limit for all reads below one path.

The time is enough for 256 MiB at 33 MB/s, and shorter than any grace period of the manifests (the shortest is the
controller's 10 s).
"""
# The limit for the content of a ConfigMap or a Secret (MaxSecretSize: kubernetes pkg/apis/core/validation), from which
# certificates and other small files are mounted.
MAX_SMALL_BYTES: Final = 2**20
# The limit for one file of policies: four ConfigMaps, because a file in an image may hold the policies of several.
MAX_POLICY_BYTES: Final = 4 * 2**20
# The limit for all files of policies together. The largest set that compiles (cel.compile_limits) has some 200 kB of
# expressions, and each of its files 512 KiB at most; the container's memory limit is 1 GiB.
MAX_POLICIES_BYTES: Final = 32 * 2**20
# The limit for a snapshot: all objects of a cluster of 5,000 nodes as kubectl prints them. To read so much YAML takes
# minutes.
MAX_FILE_BYTES: Final = 256 * 2**20

_KINDS: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# Pipes from the shell, as in `podberth check <(kustomize build)`: the user who starts the command fills them.
_HANDED_OVER: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")

_left: dict[str, Future[object]] = {}
"""The reads that have not returned yet, by path. A path that is in this mapping gets no second reading thread."""
_lock = Lock()


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file, or of a pipe from the shell (``<(...)``).

    Raises:
        OSError: the file cannot be read, is neither regular nor a pipe from the shell, or is larger than ``most``
            bytes.
    """
    if is_handed_over(path):
        with path.open("rb") as stream:
            return read_stream(stream, most, path)
    # The file is checked before it is opened, because opening a device may start something. It is checked again after
    # that, because the path may lead to another file by then.
    _want_regular(path.stat().st_mode, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        content: bytes | None
        status = os.fstat(descriptor)
        _want_regular(status.st_mode, path)
        # The size of a file of /proc is 0, whatever it holds.
        content = file.read(most + 1) if status.st_size <= most else b""
        if content is None:
            # Reading a file of /proc may wait for content (proc_kmsg(5)).
            raise OSError(errno.EAGAIN, "got a file whose content is yet to come, want a regular file", str(path))
    return _of_size(content, max(status.st_size, len(content)), most, path)


def read_text(path: Path, most: int) -> str:
    """Return the text of a UTF-8 file, with every line break as a line feed.

    Raises:
        OSError: the file cannot be read, or has more than ``most`` bytes.
        UnicodeDecodeError: the file is not in UTF-8.
    """
    return read_bytes(path, most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def read_stream(stream: BinaryIO, most: int, path: Path) -> bytes:
    """Return the content of a stream; error messages call the stream ``path``.

    Raises:
        OSError: the stream cannot be read, or is longer than ``most`` bytes.
    """
    content = stream.read(most + 1)
    return _of_size(content, len(content), most, path)


def is_handed_over(path: Path) -> bool:
    """Return whether a path names an open file descriptor of this process, such as /dev/fd/63."""
    return str(path).startswith(_HANDED_OVER)


def read_given(path: Path, most: int) -> bytes:
    """Return the content of a file that the user has named; a pipe from the shell is read without a time limit.

    Raises:
        OSError: the file cannot be read in time, or has more than ``most`` bytes.
    """
    return read_bytes(path, most) if is_handed_over(path) else read_in_time(path, most)


def in_time(path: Path, read: Callable[[], T], patience_seconds: float = PATIENCE_SECONDS) -> T:
    """Call ``read`` in a thread and wait for the result; return the result, or raise the exception of ``read``.

    ``path`` is the file or directory that ``read`` uses, and is shown in the error.

    After a TimeoutError, ``read`` may still run in its abandoned thread, and still write files. Until ``read`` returns,
    no other thread is started for ``path``.

    Raises:
        TimeoutError: ``read`` has not returned within ``patience_seconds``.
    """
    key = str(path)
    with _lock:
        before = _left.get(key)
        if before is not None and not before.done():
            raise _hung(path, patience_seconds)
        _left.pop(key, None)
    future: Future[T] = Future()
    Thread(target=_run, args=(future, read), name="podberth-read", daemon=True).start()
    if not wait((future,), patience_seconds).done:
        with _lock:
            _left[key] = future  # type: ignore[assignment] # only used to ask whether it is done
        raise _hung(path, patience_seconds)
    return future.result()


def read_in_time(path: Path, most: int) -> bytes:
    """Return the content of a file, read within PATIENCE_SECONDS.

    Raises:
        OSError: the file cannot be read, or has more than ``most`` bytes; a TimeoutError after PATIENCE_SECONDS.
    """
    return in_time(path, partial(read_bytes, path, most))


def read_text_in_time(path: Path, most: int) -> str:
    """Return the text of a UTF-8 file, read within PATIENCE_SECONDS.

    Raises:
        OSError: the file cannot be read in time, or has more than ``most`` bytes.
        UnicodeDecodeError: the file is not in UTF-8.
    """
    return in_time(path, partial(read_text, path, most))


def named_text(path: Path, most: int, where: str = "") -> str:
    """Return the text of a file that the user has named, as ``read_text_in_time`` does.

    Raises:
        UsageError: the file cannot be read; the message begins with ``where``, such as the flag.
    """
    try:
        return read_text_in_time(path, most)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}{path}: cannot be read: {reason_of(error)}") from error


def reason_of(error: OSError | UnicodeDecodeError) -> str:
    """Return why a file cannot be read, without the file's name and the error's number."""
    if isinstance(error, UnicodeDecodeError):
        byte, line = error.object[error.start], error.object.count(b"\n", 0, error.start) + 1
        return f"byte {byte:#04x} in line {line} {'is in no text' if byte == 0 else f'is no {error.encoding.upper()}'}"
    return str(getattr(error, "strerror", None) or error)


def _want_regular(mode: int, path: Path) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
    raise OSError(errno.EINVAL, f"got {kind}, want a regular file", str(path))


def _of_size(content: bytes, size: int, most: int, path: Path) -> bytes:
    if size > most:
        raise OSError(errno.EFBIG, f"got more than {most // 2**20} MiB, want that at most; split the file", str(path))
    return content


def _run(future: Future[T], read: Callable[[], T]) -> None:
    try:
        result = read()
    except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
        future.set_exception(error)
    else:
        future.set_result(result)


def _hung(path: Path, patience_seconds: float) -> TimeoutError:
    message = f"got no answer from the file system for {patience_seconds:g} s; see whether its mount hangs"
    return TimeoutError(errno.ETIMEDOUT, message, str(path))
