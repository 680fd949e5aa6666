"""The time of each folder, at the end of a run."""

import pytest

from stage_times import StageTimes, stage

pytest_plugins = ("pytester",)


def test_each_folder_has_a_line_with_its_seconds_and_its_tests(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider")
    for place, count in (("unit/deep", 2), ("e2e", 1)):
        folder = pytester.path / "tests" / place
        folder.mkdir(parents=True)
        (folder / f"test_{count}.py").write_text("".join(f"def test_{number}(): ...\n" for number in range(count)))
    done = pytester.runpytest_inprocess(plugins=[StageTimes()])
    done.stdout.fnmatch_lines(["*= seconds of each folder =*"])
    done.stdout.re_match_lines_random([r" +\d+\.\d s  tests/unit  \(2 tests\)", r" +\d+\.\d s  tests/e2e  \(1 tests\)"])


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("tests/e2e/agent/test_a.py::test_b[x::y/z]", "tests/e2e"),
        ("tests/unit/test_a.py::test_b", "tests/unit"),
        ("test_a.py::test_b", "."),
    ],
)
def test_a_test_counts_for_the_folder_below_tests(name: str, folder: str) -> None:
    assert stage(name) == folder
