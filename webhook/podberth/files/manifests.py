"""Finds and reads the manifests to check: named files, YAML and JSON files in folders, and standard input.

No function raises because of a file: an unreadable file is reported as a problem, and all other files are still read.
"""

import codecs
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from ..errors import Problem
from .loading import SUFFIXES
from .reading import MAX_FILE_BYTES, in_time, read_given, read_stream, reason_of

STDIN: Final = "-"
# YAML 1.2.2, 5.2; longest first, because UTF-32's mark starts with UTF-16's
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files that are checked, each once and in the order of the arguments, and problems of unusable arguments."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    empty: tuple[str, ...]
    """The directories in which no manifest was found."""
    found: frozenset[str] = frozenset()
    """The files that were found in a directory, and not named by the user."""


def find_manifests(paths: Iterable[str]) -> Listing:
    """Return the manifest files that the arguments name, or that are below directories that the arguments name.

    A file that an argument names is returned with any suffix; in a directory, only files with a suffix of YAML or JSON
    are. Names with a leading dot are left out, and a directory is entered once, even if a link leads back to the
    directory.
    """
    files: dict[str, None] = {}
    named: set[str] = set()
    problems: list[Problem] = []
    empty: list[str] = []
    for path in paths:
        if not path:  # an unset variable of a script, and not the working directory
            problems.append(Problem("''", 0, 0, "", "got an empty path, want a file or a directory"))
            continue
        try:
            below = None if path == STDIN else in_time(Path(path), partial(_below, Path(path)))
        except TimeoutError as error:
            problems.append(Problem(path, 0, 0, "", f"cannot be read: {reason_of(error)}"))
            continue
        if below is None:
            files[path] = None
            named.add(path)
            continue
        found, unreadable = below
        problems += unreadable
        files |= dict.fromkeys(found)
        if not found:
            empty.append(path)
    return Listing(tuple(files), tuple(problems), tuple(empty), frozenset(files.keys() - named))


def read_manifest(file: str, stdin: BinaryIO | None = None) -> tuple[str, str] | Problem:
    """Return (name, text) of a file, or a problem if the file cannot be read; ``-`` is standard input."""
    try:
        if file == STDIN and stdin is not None:
            content = read_stream(stdin, MAX_FILE_BYTES, Path(file))
        else:
            content = read_given(Path(file), MAX_FILE_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Problem(file, 0, 0, "", f"cannot be read: {reason}")
    if file == STDIN and not content.strip():  # the only sign that the first command of a pipe has failed
        return Problem(file, 0, 0, "", "standard input: got nothing, want manifests; did the command before it fail?")
    try:
        return file, decode(content)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Problem(file, line, 0, "", f"this is no text: {reason_of(error)}; want YAML or JSON")


def decode(content: bytes) -> str:
    """Return a file's text; a byte order mark or NULs imply the encoding (YAML 1.2.2, 5.2), else the encoding is UTF-8.

    Raises:
        UnicodeDecodeError: the content is no text.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding)
    text = content.decode(_without_mark(content[:4]))
    nul = text.find("\0")
    if nul >= 0:
        at = len(text[:nul].encode())
        raise UnicodeDecodeError("utf-8", content, at, at + 1, "NUL")
    return text


def _without_mark(start: bytes) -> str:
    """Return the encoding of a text without byte order mark, by the NULs in its first bytes.

    The first character of YAML is ASCII.
    """
    nuls = "".join("0" if byte == 0 else "x" for byte in start)
    return {"x0x0": "utf-16-le", "0x0x": "utf-16-be", "x000": "utf-32-le", "000x": "utf-32-be"}.get(nuls, "utf-8")


def _below(top: Path) -> tuple[list[str], list[Problem]] | None:
    """Return (manifests below a directory, problems for unreadable folders); None if ``top`` is no directory."""
    if not top.is_dir():
        return None
    problems: list[Problem] = []
    return list(_walk(top, problems)), problems


def _walk(top: Path, problems: list[Problem]) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 0, 0, "", f"cannot be read: {error.strerror}"))

    seen: set[tuple[int, int]] = set()
    _is_new(top, seen)
    for folder, folders, names in os.walk(top, onerror=unreadable, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and _is_new(Path(folder, name), seen))
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.suffix in SUFFIXES and _is_file(file):
                yield str(file)


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = folder.stat()
    except OSError:  # the walk reports it
        return True
    identity = (status.st_dev, status.st_ino)
    new = identity not in seen
    seen.add(identity)
    return new


def _is_file(file: Path) -> bool:
    """Return whether a path is to be read: a regular file, or a link without a target (reading it reports a problem).

    A pipe in a folder is not read, because reading a pipe might never end.
    """
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return True
