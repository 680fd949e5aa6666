"""A driver for a test: the scenario that the library plays, and the process that reads it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podberth.topology.codec import DATA_KEY

from . import build
from .scenario import Scenario, render, replace_file, write_sysfs

_ROOT = Path(__file__).parents[2]


def environment(scenario: Path) -> dict[str, str]:
    """Return the environment of a process that is to find our library as the driver's."""
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(build.library()),
        "PODBERTH_NVML_SCENARIO": str(scenario),
        "PYTHONPATH": os.pathsep.join([str(_ROOT / "webhook"), str(_ROOT / "tests")]),
    }


@dataclass
class Driver:
    """A driver that does what a scenario says, and a reader of it in a process of its own."""

    folder: Path
    scenario: Scenario
    sysfs: Path = field(init=False)
    _process: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        """Write the scenario."""
        self.folder.mkdir(exist_ok=True)
        self.sysfs = self.folder / "sys"
        self.change({})

    @property
    def file(self) -> Path:
        """The scenario's file."""
        return self.folder / "scenario"

    def change(self, changes: Mapping[str, object], *, without: tuple[str, ...] = ()) -> None:
        """Change what the driver does, now; a key that begins with one of ``without`` is taken away."""
        kept = {key: value for key, value in self.scenario.items() if not key.startswith(without or ("\0",))}
        self.scenario = {**kept, **changes}
        replace_file(self.file, render(self.scenario))

    def read(self) -> dict[str, Any]:
        """Let the reader look; return the document."""
        document: dict[str, Any] = json.loads(self.publish()["data"][DATA_KEY])
        return document

    def publish(self) -> dict[str, Any]:
        """Let the reader look; return the ConfigMap."""
        answer = self.ask("read")
        assert "configMap" in answer, answer
        config_map: dict[str, Any] = answer["configMap"]
        return config_map

    def fail(self) -> dict[str, Any]:
        """Let the reader look in vain; return the error."""
        answer = self.ask("read")
        assert "error" in answer, answer
        return answer

    def wait(self, seconds: float) -> bool:
        """Let the reader wait; return whether anything happened."""
        return bool(self.ask("wait", seconds)["changed"])

    def ask(self, name: str, argument: float | None = None) -> dict[str, Any]:
        """Make the process do something; it is started by the first call."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([name, argument]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "the reader's process ended; its stderr is above"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process; it must end well."""
        if self._process is not None:
            self._process.communicate()
            assert self._process.returncode == 0

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            if not self.sysfs.exists():
                write_sysfs(self.sysfs, [])
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "nvml.probe", str(self.sysfs)],
                env=environment(self.file),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._process


@contextmanager
def driving(folder: Path, scenario: Scenario) -> Iterator[Driver]:
    """Run a driver with its reader."""
    driver = Driver(folder, scenario)
    try:
        yield driver
    finally:
        driver.close()
