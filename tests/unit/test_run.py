"""tests/run.py: two runs of pytest side by side are one run to whoever waits for it."""

from pathlib import Path

import pytest

from run import side_by_side

WELL, ILL = "def test_well(): ...\n", "def test_ill(): assert False, 'what it says'\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run where there is nothing of ours, so that the runs are short."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_well.py").write_text(WELL)
    (tmp_path / "test_ill.py").write_text(ILL)
    monkeypatch.chdir(tmp_path)


def test_both_run_and_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    assert side_by_side(["test_well.py"], ["test_well.py", "--verbose"]) == 0
    shown, _, again = capfd.readouterr().out.partition("\npytest test_well.py, above, ended so:\n")
    assert shown.count("1 passed") == 2
    assert again.count("1 passed") == 1


@pytest.mark.parametrize("order", [1, -1])
def test_one_that_fails_fails_the_whole(capfd: pytest.CaptureFixture[str], order: int) -> None:
    assert side_by_side(*[["test_well.py"], ["test_ill.py"]][::order]) == pytest.ExitCode.TESTS_FAILED
    assert "AssertionError: what it says" in capfd.readouterr().out


def test_one_that_finds_nothing_to_run_fails_the_whole() -> None:
    assert side_by_side(["test_well.py"], ["test_well.py", "-k", "nothing"]) == pytest.ExitCode.NO_TESTS_COLLECTED
