"""What an installed podberth brings with it."""

import subprocess
import sys
import zipfile
from pathlib import Path

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


def test_the_wheel_carries_the_published_schemas(wheel: Path) -> None:
    schemas = list((_ROOT / "docs" / "schema").glob("*.json"))
    assert schemas
    with zipfile.ZipFile(wheel) as archive:
        for path in schemas:
            assert archive.read(f"podberth/schema/{path.name}") == path.read_bytes()


def test_the_command_line_finds_them_where_only_the_package_is(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = "import sys; from podberth.cli.main import main; sys.exit(main(['policies', 'list']))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert len(done.stdout.splitlines()) == sum(1 for name in _DIRECTORIES for _ in (_ROOT / name).iterdir())
