"""tests/run.py: two runs of pytest side by side are one run to whoever waits for it; and what belongs to each."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from lanes import ALL, CHANGE, Lane, lanes
from properties import examples
from run import ROOT, side_by_side

PASSES = Lane("that pass", ("test_passes.py",))
FAILS = Lane("that fail", ("test_fails.py",))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run where there is nothing of ours, so that the runs are short."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_passes.py").write_text("def test_passes(): ...\n")
    (tmp_path / "test_fails.py").write_text("def test_fails(): assert False, 'the reason'\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("project")
def test_both_run_and_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    assert side_by_side(PASSES, Lane("that pass, too", (*PASSES.arguments, "--verbose"))) == 0
    shown, _, again = capfd.readouterr().out.partition("\nthe tests that pass, above, ended so:\n")
    assert shown.count("1 passed") == 2
    assert again.count("1 passed") == 1


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("lanes", [(PASSES, FAILS), (FAILS, PASSES)])
def test_one_that_fails_fails_the_whole(capfd: pytest.CaptureFixture[str], lanes: tuple[Lane, Lane]) -> None:
    assert side_by_side(*lanes) == pytest.ExitCode.TESTS_FAILED
    assert "AssertionError: the reason" in capfd.readouterr().out


@pytest.mark.usefixtures("project")
def test_one_that_finds_nothing_to_run_fails_the_whole() -> None:
    nothing = Lane("that are not there", (*PASSES.arguments, "-k", "nothing"))
    assert side_by_side(PASSES, nothing) == pytest.ExitCode.NO_TESTS_COLLECTED


# ---- the lanes -------------------------------------------------------------------------------------------------------


def test_a_change_needs_each_test_once_and_each_is_there() -> None:
    paths = [argument for argument in CHANGE if argument.startswith("tests/")]
    assert len(set(paths)) == len(paths)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    folders = [path for path in paths if (ROOT / path).is_dir()]
    assert [path for path in paths if any(path.startswith(f"{folder}/") for folder in folders)] == []


def test_the_lanes_share_one_list_from_both_ends(tmp_path: Path) -> None:
    first, second = lanes(ALL, tmp_path)
    assert first.arguments == ("tests", f"--share={tmp_path}")
    assert second.arguments == (*first.arguments, "--from-the-back")


def test_ci_checks_and_runs_everything() -> None:
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert commands[-2:] == ["time make check", "time make test-all"]


def test_the_tests_that_need_a_go_program_are_marked_so_that_a_change_does_without_them() -> None:
    arguments = ["--collect-only", "-q", "-m", "go_program", "tests/unit/agent/test_pod_resources.py"]
    command = [sys.executable, "-I", "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert "::test_devices_and_claims_of_containers_are_reported\n" in collected
    assert "::test_a_missing_kubelet_is_reported\n" not in collected
    assert CHANGE[-2:] == ("-m", "not go_program")


def test_a_property_has_its_part_of_the_examples_of_the_profile() -> None:
    quick = settings.get_profile("quick")
    assert (quick.max_examples, quick.deadline) == (10, None)
    assert examples(400) == 4 * settings().max_examples
