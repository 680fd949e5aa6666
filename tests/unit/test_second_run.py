"""A test of processes that fails once is named, one that fails twice fails, and nothing else is run again."""

from pathlib import Path

import pytest

from second_run import MOST, SecondRuns

pytest_plugins = ("pytester",)

ONCE = """
import pathlib
def {name}():
    mark = pathlib.Path({mark!r})
    first = not mark.exists()
    mark.touch()
    assert not first, "{name} raced"
"""


def once(folder: Path, *names: str) -> str:
    """Return tests that fail at their first run only."""
    return "".join(ONCE.format(name=name, mark=str(folder / name)) for name in names)


def run(pytester: pytest.Pytester, **files: str) -> pytest.RunResult:
    """Run tests, by the folder of tests/ that they are in."""
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider")
    for folder, text in files.items():
        path = pytester.path / "tests" / folder / f"test_{folder}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return pytester.runpytest_inprocess(plugins=[SecondRuns()])


def test_one_that_fails_once_passes_and_is_named_with_what_it_said(pytester: pytest.Pytester, tmp_path: Path) -> None:
    done = run(pytester, e2e=once(tmp_path, "test_race") + "def test_well(): ...\n")
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(
        [
            "*= passed at the second run: 1 =*",
            "*_ tests/e2e/test_e2e.py::test_race _*",
            "*AssertionError: test_race raced",
            "*= races to be fixed =*",
            "tests/e2e/test_e2e.py::test_race passed at the second run: a race *, to be fixed",
            "*1 passed, 1 passed at the second run in *",
        ]
    )


def test_one_that_fails_twice_fails_and_shows_both(pytester: pytest.Pytester) -> None:
    counted = "import itertools\nturn = itertools.count(1)\ndef test_broken():\n    assert not next(turn)\n"
    done = run(pytester, integration=counted)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*assert not 2", "*- the first run -*", "*assert not 1", "*= 1 failed in *"])
    assert "second run" not in done.stdout.str()


@pytest.mark.parametrize("folder", ["unit", "property", "conformance"])
def test_what_says_the_same_however_often_it_is_asked_is_asked_once(
    pytester: pytest.Pytester, tmp_path: Path, folder: str
) -> None:
    done = run(pytester, **{folder: once(tmp_path, "test_pure")})
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(failed=1)


def test_more_than_three_fail_the_run(pytester: pytest.Pytester, tmp_path: Path) -> None:
    names = [f"test_race_{number}" for number in range(MOST + 1)]
    done = run(pytester, nvml=once(tmp_path, *names))
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            *(f"*::{name} passed at the second run*" for name in names[:MOST]),
            f"FAILED *{names[MOST]}*",
            "*1 failed, 3 *",
        ]
    )


LEAVES = """
import pytest
turns = []
@pytest.fixture
def left():
    turns.append(0)
    FIXTURE
def test_it(left):
    TEST
"""
SKIPS = 'if len(turns) > 1: pytest.skip("nothing here")'


@pytest.mark.parametrize(
    ("fixture", "test"),
    [("pass", f"{SKIPS}\n    assert False, 'it broke'"), (SKIPS, "assert False, 'it broke'")],
    ids=["the test", "its fixture"],
)
def test_one_that_leaves_itself_out_at_the_second_run_has_failed(
    pytester: pytest.Pytester, fixture: str, test: str
) -> None:
    done = run(pytester, e2e=LEAVES.replace("FIXTURE", fixture).replace("TEST", test))
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: it broke*"])
    assert "second run" not in done.stdout.str()


SHARED = """
import pathlib, pytest
log = pathlib.Path({log!r})
def note(text):
    with log.open("a") as file:
        file.write(text + " ")
@pytest.fixture(scope="SCOPE")
def plane():
    note("start")
    plane = {{"works": log.read_text().count("start") > 1}}
    yield plane
    note("stop")
def test_before(plane): ...
def test_it(plane):
    assert plane["works"]
def test_after(plane):
    assert plane["works"]
"""


@pytest.mark.parametrize("scope", ["module", "package", "session"])
def test_the_second_run_has_shared_fixtures_again_and_so_have_those_after_it(
    pytester: pytest.Pytester, tmp_path: Path, scope: str
) -> None:
    log = tmp_path / "log"
    done = run(pytester, controlplane=SHARED.format(log=str(log)).replace("SCOPE", scope))
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["*= 2 passed, 1 passed at the second run in *"])
    assert log.read_text().split() == ["start", "stop", "start", "stop"]


FIXTURE = """
import pathlib, pytest
@pytest.fixture(scope="module")
def plane():
    mark = pathlib.Path({mark!r})
    first = not mark.exists()
    mark.touch()
    BEFORE
    yield
    AFTER
def test_it(plane): ...
"""
RAISES = 'assert not first, "the plane is broken"'


def test_a_fixture_that_does_not_start_is_started_once_more(pytester: pytest.Pytester, tmp_path: Path) -> None:
    text = FIXTURE.format(mark=str(tmp_path / "mark")).replace("BEFORE", RAISES).replace("AFTER", "")
    done = run(pytester, deployment=text)
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["*the plane is broken*", "*= 1 passed at the second run in *"])


def test_what_a_fixture_finds_at_its_end_is_not_taken_back(pytester: pytest.Pytester, tmp_path: Path) -> None:
    text = FIXTURE.format(mark=str(tmp_path / "mark")).replace("BEFORE", "").replace("AFTER", RAISES)
    done = run(pytester, deployment=text)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=1, errors=1)


def test_nor_what_it_finds_when_it_is_taken_down_for_a_second_run(pytester: pytest.Pytester, tmp_path: Path) -> None:
    text = FIXTURE.format(mark=str(tmp_path / "mark")).replace("BEFORE", "").replace("AFTER", RAISES)
    done = run(pytester, e2e=text.replace("(plane): ...", "(plane):\n    assert False\ndef test_after(plane): ..."))
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=1, failed=1, errors=1)


def test_a_run_without_races_says_nothing(pytester: pytest.Pytester) -> None:
    done = run(pytester, e2e="def test_well(): ...\n")
    assert "second run" not in done.stdout.str()
    done.assert_outcomes(passed=1)
