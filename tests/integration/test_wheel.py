"""The content of an installed podberth."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_DIRECTORIES = ("policies", "optional-policies")


def test_the_wheel_carries_every_policy_as_it_is_here(wheel: Path) -> None:
    files = [path for name in _DIRECTORIES for path in (_ROOT / name).rglob("*") if path.is_file()]
    assert len(files) > len(_DIRECTORIES)
    with zipfile.ZipFile(wheel) as archive:
        packaged = {name for name in archive.namelist() if name.startswith("podberth/library/")}
        assert packaged == {f"podberth/library/{path.relative_to(_ROOT)}" for path in files}
        for path in files:
            assert archive.read(f"podberth/library/{path.relative_to(_ROOT)}") == path.read_bytes()


def test_the_wheel_carries_the_documentation_and_the_published_schemas(wheel: Path) -> None:
    files = [path for path in (_ROOT / "docs").rglob("*") if path.is_file()]
    assert {".md", ".json"} <= {path.suffix for path in files}
    with zipfile.ZipFile(wheel) as archive:
        for path in files:
            assert archive.read(f"podberth/{path.relative_to(_ROOT)}") == path.read_bytes()


def test_the_wheel_carries_the_files_of_the_playground(wheel: Path) -> None:
    files = list((_ROOT / "webhook" / "podberth" / "playground" / "static").iterdir())
    assert files
    with zipfile.ZipFile(wheel) as archive:
        for path in files:
            assert archive.read(f"podberth/playground/static/{path.name}") == path.read_bytes()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def printed(installed: Path, *argv: str) -> str:
    """Return the output of a command in an environment with only the package."""
    script = f"import sys; from podberth.cli.main import main; sys.exit(main({list(argv)!r}))"
    environ = {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=installed, env=environ, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_the_command_line_finds_them_where_only_the_package_is(installed: Path) -> None:
    listed = printed(installed, "policies", "list").splitlines()
    assert len(listed) == sum(1 for name in _DIRECTORIES for _ in (_ROOT / name).iterdir())


def test_a_page_that_a_message_names_is_printed_where_only_the_package_is(installed: Path) -> None:
    assert printed(installed, "docs", "docs/status.md#let-through").startswith("## Let through\n")


def test_links_of_a_page_to_other_files_lead_to_the_repository_of_the_release(installed: Path) -> None:
    address = "](https://example.com/podberth/blob/v0.1.0/"
    page = printed(installed, "docs")
    assert f"{address}bench/README.md#goals)" in page
    assert "](guide.md)" in page
    assert f"{address}policies/" in printed(installed, "docs", "policies/gpu-tolerations")


def test_a_first_policy_is_written_tested_and_linted_where_only_the_package_is(installed: Path) -> None:
    schema = (_ROOT / "docs" / "schema" / "gpupolicy-v1alpha1.json").read_text(encoding="utf-8")
    assert printed(installed, "policies", "schema") == schema
    printed(installed, "policies", "init", "payer", "mine")
    assert (installed / "mine" / ".schema" / "gpupolicy-v1alpha1.json").read_text(encoding="utf-8") == schema
    printed(installed, "test", "mine")
    assert printed(installed, "lint", "mine").startswith("1 policy: ")
