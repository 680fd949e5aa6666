"""`make test-versions`: podberth on the oldest and on a middle Kubernetes release that it supports, and on each Python.

Each control plane is built from the published Go modules of its release, as that of all other tests is, and runs what
an installation stands on: manifests, guards and rights, the demonstration, reapply, gangs, agents. Unit and property
tests run on each Python from 3.11 to 3.14 on PATH, in an environment of its own below build/. What cannot run is named
at the end.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from controlplane.build import RELEASE_VARIABLE, RELEASES

ROOT: Final = Path(__file__).parents[1]
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")

ON_RELEASES: Final = (
    *(f"tests/deployment/test_{name}.py" for name in ("crd", "docs_install", "guards", "rights_table", "running")),
    *(
        f"tests/e2e/test_{name}.py"
        for name in (
            "cluster_policies",
            "controller",
            "demo_cluster",
            "gangs",
            "messages",
            "reapply",
            "registration",
            "served_kinds",
            "wire",
            "workloads",
        )
    ),
    "tests/e2e/agent",
)
ON_PYTHONS: Final = ("tests/unit", "tests/property", "tests/conformance")


def main() -> int:
    """Run all, one after the other; return 1 if anything failed."""
    os.chdir(ROOT)
    ends = [*_releases(), *_pythons()]
    sys.stdout.write("\n" + "".join(f"{what}: {end}\n" for what, end in ends))
    return int(any(end == "failed" for _, end in ends))


def _releases() -> Iterator[tuple[str, str]]:
    for release in list(RELEASES)[1:]:
        done = _pytest(Path(sys.executable), ON_RELEASES, {RELEASE_VARIABLE: release})
        yield f"Kubernetes {release}", done


def _pythons() -> Iterator[tuple[str, str]]:
    for version in PYTHONS:
        found = shutil.which(f"python{version}")
        works = found and subprocess.run([found, "--version"], check=False, capture_output=True).returncode == 0
        if not (found and works):
            yield f"Python {version}", f"not here; want python{version} on PATH"
        else:
            yield f"Python {version}", _pytest(_environment(found, version), ON_PYTHONS, {})


def _environment(python: str, version: str) -> Path:
    """Return the interpreter of an environment with every locked package, and podberth editable."""
    folder = ROOT / "build" / f"python{version}"
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
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
