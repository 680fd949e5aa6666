"""Two runs of pytest that share the tests of one collection: one begins at its front, the other at its back.

Both collect the same tests in the same order. Each takes one module after the other, and the first run that reaches a
module takes it, so both end when they meet, on any machine and however long each module takes.
"""

from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = "--share"
BACK: Final = "--from-the-back"


def options(parser: pytest.Parser) -> None:
    """Declare the options of a run that shares its tests."""
    parser.addoption(FOLDER, type=Path, help="run only the tests that the other run with this folder has not taken")
    parser.addoption(BACK, action="store_true", help="begin with the last module")


class Share:
    """The plugin: what is run is what the other run has not taken."""

    def __init__(self, folder: Path, *, from_the_back: bool) -> None:
        """Nothing is taken yet; ``folder`` is empty when the first of both runs begins."""
        self._folder = folder
        self._from_the_back = from_the_back

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests of one module after the other, as pytest's own loop does, until the other run is met."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        waiting = chain.from_iterable(self._taken(session.items))
        item = next(waiting, None)
        while item is not None:
            following = next(waiting, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following
        return True

    def _taken(self, items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
        """Yield the tests of each module that this run takes, in its own order."""
        modules = [list(found) for _, found in groupby(items, key=lambda item: item.nodeid.partition("::")[0])]
        numbers = range(len(modules))
        for number in reversed(numbers) if self._from_the_back else numbers:
            try:
                (self._folder / str(number)).touch(exist_ok=False)
            except FileExistsError:
                return
            yield modules[number]
