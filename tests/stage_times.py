"""How long the tests of each folder took: where the time of a run goes."""

import time
from collections import Counter
from collections.abc import Generator
from pathlib import PurePosixPath
from typing import Final

import pytest

TITLE: Final = "seconds of each folder"


class StageTimes:
    """The plugin: seconds by folder, fixtures included, and how many tests they were."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self._seconds: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Take the time of a test, of its fixtures and of its second run, if there is one."""
        began = time.perf_counter()
        answer = yield
        folder = stage(item.nodeid)
        self._seconds[folder] += time.perf_counter() - began  # type: ignore[assignment]
        self._tests[folder] += 1
        return answer

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write a line for each folder, the one that took longest first."""
        terminalreporter.section(TITLE)
        for folder, seconds in self._seconds.most_common():
            terminalreporter.write_line(f"{seconds:8.1f} s  {folder}  ({self._tests[folder]} tests)")


def stage(name: str) -> str:
    """Return the folder that a test counts for: two steps from the root, as `tests/unit`."""
    parts = PurePosixPath(name.partition("::")[0]).parent.parts
    return "/".join(parts[:2]) or "."
