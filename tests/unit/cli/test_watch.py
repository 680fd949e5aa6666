"""`--watch`: which changes of files count, and that ctrl-c ends it whoever swallows the interrupt."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from podberth.cli.exitcodes import ExitCode
from podberth.cli.watch import watched
from podberth.files.loading import revision_of


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """The process has the handler of SIGINT that it had before."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def swallowed() -> int:
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    return 0


def raised_as_another() -> int:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise RuntimeError from error
    return 0


@pytest.mark.parametrize("once", [swallowed, raised_as_another])
def test_an_interrupt_during_a_run_ends_the_watch(once: Callable[[], int], tmp_path: Path) -> None:
    assert watched(argparse.Namespace(watch=True), [tmp_path], once) == ExitCode.INTERRUPTED


def test_an_error_that_is_no_interrupt_is_raised(tmp_path: Path) -> None:
    def failing() -> int:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        watched(argparse.Namespace(watch=True), [tmp_path], failing)


@pytest.mark.parametrize("name", ["policy.yaml", "policy", ".policy.yaml"])
def test_a_named_file_counts_whatever_its_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    missing = revision_of(file)
    file.write_text("a", encoding="utf-8")
    first = revision_of(file)
    file.write_text("other", encoding="utf-8")
    assert len({missing, first, revision_of(file)}) == 3
