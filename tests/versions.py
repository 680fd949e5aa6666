"""`make test-versions`: podberth on the newest, a middle and the oldest Kubernetes release, and on each Python.

Each control plane is built from the published Go modules of its release, as that of all other tests is, and runs what
an installation stands on. What a release lacks, the tests say by themselves (marker `since`). Unit and property
tests run on each Python from 3.11 to 3.14 on PATH or of pyenv's, in an environment of its own below build/. What
cannot run is named at the end.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from controlplane.build import RELEASE_VARIABLE, RELEASES

ROOT: Final = Path(__file__).parents[1]
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")

ON_RELEASES: Final[Mapping[str, tuple[str, ...]]] = {
    "installation": ("deployment/test_crd", "deployment/test_docs_install", "deployment/test_running"),
    "rights": ("deployment/test_rights_table",),
    "guards": ("deployment/test_guards",),
    "GPUPolicies": ("e2e/test_cluster_policies",),
    "the demonstration": ("e2e/test_demo_cluster",),
    "reviews": ("e2e/test_registration", "e2e/test_wire", "e2e/test_messages", "e2e/test_workloads"),
    "reapply": ("e2e/test_reapply",),
    "gangs": ("e2e/test_gangs", "e2e/test_gang_system"),
    "the controller": ("e2e/test_controller",),
    "kinds that are not served": ("e2e/test_not_served", "e2e/test_served_kinds"),
    "agents": ("e2e/agent",),
}
"""What runs below tests/ on the other releases, in the words of docs/install-reference.md ("Versions")."""
ON_PYTHONS: Final = ("tests/unit", "tests/property", "tests/conformance")


def main() -> int:
    """Run all, one after the other; return 1 if anything failed."""
    os.chdir(ROOT)
    ends = [*_releases(), *_pythons()]
    sys.stdout.write("\n" + "".join(f"{what}: {end}\n" for what, end in ends))
    return int(any(end == "failed" for _, end in ends))


def files() -> tuple[str, ...]:
    """Return the paths of what runs on the other releases, from the root of the repository."""
    found = (ROOT / "tests" / name for names in ON_RELEASES.values() for name in names)
    return tuple(str((each if each.is_dir() else each.with_suffix(".py")).relative_to(ROOT)) for each in found)


def _releases() -> Iterator[tuple[str, str]]:
    for release in list(RELEASES)[1:]:
        done = _pytest(Path(sys.executable), files(), {RELEASE_VARIABLE: release})
        yield f"Kubernetes {release}", done


def _pythons() -> Iterator[tuple[str, str]]:
    for version in PYTHONS:
        found = python(version)
        if found is None:
            yield f"Python {version}", f"not here; want python{version} on PATH, or by pyenv"
        else:
            yield f"Python {version}", _pytest(_environment(found, version), ON_PYTHONS, {})


def python(version: str) -> Path | None:
    """Return a Python that works: on PATH, else the newest of pyenv's; a shim works for chosen versions only."""
    on_path = shutil.which(f"python{version}")
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    of_pyenv = sorted((home / "versions").glob(f"{version}.*/bin/python{version}"), key=_patch_release, reverse=True)
    return next(filter(_works, [*([Path(on_path)] if on_path else []), *of_pyenv]), None)


def _patch_release(program: Path) -> int:
    """Return the third part of the version in `versions/3.13.2/bin/python3.13`; -1 for `3.13.0rc1` or `3.13-dev`."""
    last = program.parts[-3].rpartition(".")[2]
    return int(last) if last.isdecimal() else -1


def _works(program: Path) -> bool:
    return subprocess.run([program, "--version"], check=False, capture_output=True).returncode == 0


def _environment(program: Path, version: str) -> Path:
    """Return the interpreter of an environment with every locked package, and podberth editable."""
    folder = ROOT / "build" / f"python{version}"
    subprocess.run([program, "-m", "venv", "--clear", folder], check=True)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([*pip, "--require-hashes", "--requirement", "requirements/dev.lock"], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", "."], check=True)
    return folder / "bin" / "python"


def _pytest(python: Path, tests: tuple[str, ...], environ: dict[str, str]) -> str:
    sys.stdout.write(f"\n{python.parents[1].name} {' '.join(environ.values())}\n")
    sys.stdout.flush()
    done = subprocess.run([python, "-I", "-m", "pytest", *tests], check=False, env={**os.environ, **environ})
    return "passed" if done.returncode == 0 else "failed"


if __name__ == "__main__":
    sys.exit(main())
