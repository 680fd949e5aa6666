"""Two runs that share the tests of one collection run each module once, between them."""

from pathlib import Path

import pytest

from shares import Share

pytest_plugins = ("pytester",)

SHARED = """
import pathlib, pytest

@pytest.fixture(scope="session", autouse=True)
def whole():
    yield
    pathlib.Path("ended").touch()

def test_one(): ...
def test_two(): ...
"""


def run(pytester: pytest.Pytester, folder: Path, *, from_the_back: bool = False) -> list[str]:
    """Run what the other run has not taken; return the module of each test that passed, in order."""
    done = pytester.inline_run("-p", "no:cacheprovider", plugins=[Share(folder, from_the_back=from_the_back)])
    assert done.ret == pytest.ExitCode.OK
    passed = done.listoutcomes()[0]
    return [each.nodeid.partition(".py")[0].removeprefix("test_") for each in passed]


@pytest.fixture
def modules(pytester: pytest.Pytester) -> pytest.Pytester:
    for name in "abc":
        (pytester.path / f"test_{name}.py").write_text(SHARED)
    return pytester


def test_one_run_alone_runs_all_from_its_end(modules: pytest.Pytester, tmp_path: Path) -> None:
    assert run(modules, tmp_path) == ["a", "a", "b", "b", "c", "c"]
    assert run(modules, tmp_path, from_the_back=True) == []


def test_the_last_module_comes_first_from_the_back(modules: pytest.Pytester, tmp_path: Path) -> None:
    assert run(modules, tmp_path, from_the_back=True) == ["c", "c", "b", "b", "a", "a"]


def test_a_run_ends_where_it_meets_the_other_and_takes_down_its_fixtures(
    modules: pytest.Pytester, tmp_path: Path
) -> None:
    (tmp_path / "1").touch()
    assert run(modules, tmp_path) == ["a", "a"]
    assert (modules.path / "ended").exists()
    assert run(modules, tmp_path, from_the_back=True) == ["c", "c"]
