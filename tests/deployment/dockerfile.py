"""The steps of our Dockerfile in folders of the test's own, where no container engine is at hand.

A stage is a folder in the place of `/`. COPY copies what git has; RUN is run here, with the paths of the image turned
into those of its folder. What this cannot show is the base image: the Python and the libc are this machine's.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pages import ROOT

# Where the steps write. All else that they name, they read from this machine.
_OWN = ("/opt", "/etc/podberth", "/src")


@dataclass
class Stage:
    """What a stage has come to."""

    root: Path
    workdir: str = "/"
    environ: dict[str, str] = field(default_factory=dict)
    user: str = "root"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def place(self, path: str) -> Path:
        """Return where a path of the image is on this machine."""
        return self.root / str(Path(self.workdir) / path).lstrip("/")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the shell as a step or a container would."""
        places = re.sub(rf"(?<![\w.])({'|'.join(_OWN)})(?=[/ ]|$)", rf"{self.root}\1", command)
        path = os.pathsep.join(f"{self.root}{each}" for each in self.environ.get("PATH", "").split(":") if each)
        environ = {"HOME": str(self.root), **os.environ, **self.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        where = self.place(".")
        where.mkdir(parents=True, exist_ok=True)
        return subprocess.run(places, shell=True, cwd=where, env=environ, capture_output=True, text=True, check=False)  # noqa: S602


def build(directory: Path, arguments: Mapping[str, str]) -> Stage:
    """Run every step of the Dockerfile; return the last stage."""
    values: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage = Stage(directory / "none")
    for line in _lines():
        word, _, rest = line.partition(" ")
        for name, value in values.items() if word != "CMD" else ():
            rest = rest.replace(f"${{{name}}}", value)
        if word == "ARG":
            name, _, default = rest.partition("=")
            values[name] = arguments.get(name, default)
        elif word == "FROM":
            image, *named = rest.split()
            assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", image), image
            stage = stages[named[-1] if named else ""] = Stage(directory / str(len(stages)))
        else:
            _step(stage, stages, word, rest)
    return stage


def _step(stage: Stage, stages: Mapping[str, Stage], word: str, rest: str) -> None:
    if word == "WORKDIR":
        stage.workdir = rest
    elif word == "COPY":
        _copy(stage, stages, shlex.split(rest))
    elif word == "RUN":
        done = stage.run(rest.replace("python -m venv", f"{shlex.quote(sys.executable)} -m venv", 1))
        assert done.returncode == 0, f"{rest}\n{done.stdout}{done.stderr}"
    elif word == "ENV":
        stage.environ |= dict(each.split("=", 1) for each in shlex.split(rest))
    elif word == "USER":
        stage.user = rest
    elif word == "ENTRYPOINT":
        stage.entrypoint = json.loads(rest)
    elif word == "CMD":
        stage.command = json.loads(rest)
    else:
        assert word == "LABEL", word


def _copy(stage: Stage, stages: Mapping[str, Stage], words: list[str]) -> None:
    if words[0].startswith("--from="):
        source, target = words[1:]
        # A venv knows its own path, and so does this machine's: it stays where it was made.
        stage.place(target).parent.mkdir(parents=True, exist_ok=True)
        stage.place(target).symlink_to(stages[words[0].removeprefix("--from=")].place(source))
        return
    *sources, target = words
    for source in sources:
        tracked = subprocess.run(
            ["git", "ls-files", "-z", source], cwd=ROOT, capture_output=True, text=True, check=True
        )
        files = [each for each in tracked.stdout.split("\0") if each]
        assert files, f"COPY {source}: git has no such file"
        for each in files:
            inside = os.path.relpath(each, source) if each != source else Path(each).name
            destination = stage.place(target) / inside
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / each, destination)


def _lines() -> list[str]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
