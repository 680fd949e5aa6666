"""Processes that tests start: which signals reach them."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from .process import interruptible


@pytest.fixture(params=[signal.SIG_IGN, signal.default_int_handler], ids=["ignored", "not ignored"])
def before(request: pytest.FixtureRequest) -> Iterator[object]:
    """Give this process one of the two actions that a shell starts it with."""
    kept = signal.signal(signal.SIGINT, request.param)
    yield request.param
    signal.signal(signal.SIGINT, kept)


def test_a_process_that_is_started_interruptible_ends_by_sigint(before: object) -> None:
    asks = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    with interruptible():
        said = subprocess.run([sys.executable, "-I", "-c", asks], check=True, capture_output=True, text=True).stdout
    assert said == "True\n"
    assert signal.getsignal(signal.SIGINT) is before
