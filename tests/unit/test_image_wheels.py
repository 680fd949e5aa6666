"""The cache of wheels: what is in it counts only with a hash of the lock."""

import hashlib
from pathlib import Path

import pytest
from images.interpreter import Interpreter
from images.wheels import ROOT, locked


def test_a_wheel_of_the_cache_without_a_hash_of_the_lock_is_refused(tmp_path: Path) -> None:
    lock = (ROOT / "requirements" / "agent.lock").read_bytes()
    folder = tmp_path / f"wheels-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir()
    (folder / "other-1.0-py3-none-any.whl").write_bytes(b"other")
    with pytest.raises(ValueError, match="want a hash of"):
        locked("agent", Interpreter(tmp_path), tmp_path)
