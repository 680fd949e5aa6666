"""A registry for a test: TLS by an authority of its own, and an account without which it answers nothing."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from podberth.pki.issue import issue_leaf, living, new_authority

USER: Final = "pusher"
PASSWORD: Final = "of-a-test"  # noqa: S105 - of a registry that ends with its test
_LIFE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Registry:
    """Its address, as the first part of an image's name has it, and the certificate of its authority."""

    address: str
    authority: Path


@contextmanager
def registry(program: Path, folder: Path) -> Iterator[Registry]:
    """Run one, which is empty, until the block ends."""
    lives = living(_LIFE, datetime.now(UTC))
    authority = new_authority("a registry", lives)
    leaf = issue_leaf(authority, ("127.0.0.1",), lives)
    files = [folder / name for name in ("registry-ca.crt", "registry.crt", "registry.key")]
    for file, content in zip(files, (authority.pem, leaf.certificate, leaf.key), strict=True):
        file.write_bytes(content)
    command = [str(program), str(files[1]), str(files[2]), USER, PASSWORD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield Registry(process.stdout.readline().strip(), files[0])
        finally:
            process.kill()
