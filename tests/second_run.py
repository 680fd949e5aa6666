"""A test of real processes that fails is run once more, and named; docs/adr/0034-second-run.md has why and what for.

Never a test of pure code, which says the same however often it is asked; and never more than `MOST` of a run.
"""

from typing import Final

import pytest
from _pytest.runner import CallInfo, runtestprotocol

# Where tests wait for processes, sockets and clocks; the others are unit, property and conformance.
FOLDERS: Final = tuple(
    f"tests/{name}/" for name in ("controlplane", "deployment", "e2e", "gotools", "integration", "monitoring", "nvml")
)
# A race fails one run in a hundred. Four in one run are no bad luck, but something that is broken.
MOST: Final = 3
WORDS: Final = "passed at the second run"


class SecondRuns:
    """The plugin: what passed at the second run, by name, with what the first one had to say."""

    def __init__(self) -> None:
        """Nothing has failed yet."""
        self.passed: dict[str, str] = {}
        self._left = MOST

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test of processes, and once more if it fails; only the run that counts is reported as such."""
        if not item.nodeid.startswith(FOLDERS):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if self._left and _may_be_a_race(reports):
            reports = self._again(item, nextitem, reports)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _again(
        self, item: pytest.Item, nextitem: pytest.Item | None, first: list[pytest.TestReport]
    ) -> list[pytest.TestReport]:
        """Take down all that tests share, run the test, and return the reports that count."""
        self._left -= 1
        taken_down = _take_down(item)
        if taken_down.failed:
            return [*first, taken_down]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed or (report.when == "call" and report.passed) for report in reports):
            return first  # it left itself out, which takes nothing back
        text = _text(first)
        if all(report.passed for report in reports):
            self.passed[item.nodeid] = text
        for report in reports:
            report.sections.append(("the first run", text))
        return reports

    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Count such a test apart from those that pass at once."""
        if report.nodeid in self.passed and isinstance(report, pytest.TestReport) and report.when == "call":
            return WORDS, "2", WORDS.upper()
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what each said at its first run, and name them in the last lines."""
        if not self.passed:
            return
        terminalreporter.section(f"{WORDS}: {len(self.passed)}", yellow=True)
        for name, text in self.passed.items():
            terminalreporter.write_sep("_", name)
            terminalreporter.write_line(text)
        terminalreporter.section("races to be fixed", yellow=True)
        for name in self.passed:
            terminalreporter.write_line(f"{name} {WORDS}: a race of the test or of podberth, to be fixed", yellow=True)


def _may_be_a_race(reports: list[pytest.TestReport]) -> bool:
    """Return whether a test failed by itself. What its fixtures find when all is over, no second run can take back."""
    return any(report.failed for report in reports) and not any(
        report.failed and report.when == "teardown" for report in reports
    )


def _take_down(item: pytest.Item) -> pytest.TestReport:
    """End every fixture, those of module and session too: what is broken in what tests share must not fail both runs.

    The next test that wants one of them starts it again. Not by the hook of the same name, which had its turn.
    """
    call = CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(None), when="teardown")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report


def _text(reports: list[pytest.TestReport]) -> str:
    return "\n".join(report.longreprtext for report in reports if report.failed)
