"""The agent as a process that serves metrics, and what a scrape of it says."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from controlplane.wait import PATIENCE_SECONDS

from .driver import Driver, environment

Labels = Mapping[str, str]


@dataclass
class Agent:
    """A running agent."""

    process: subprocess.Popen[str]
    port: int

    def get(self, path: str) -> tuple[int, str]:
        """Return status and body."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def scrape(self) -> dict[str, list[tuple[Labels, float]]]:
        """Return the series by their metric's name, without the label ``node``."""
        status, text = self.get("/metrics")
        assert status == 200
        found: dict[str, list[tuple[Labels, float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = {key: value for key, value in sample.labels.items() if key != "node"}
                found.setdefault(sample.name, []).append((labels, sample.value))
        return found

    def by_gpu(self, name: str) -> dict[str, float]:
        """Return the values of a metric by the GPU's index."""
        return {labels["gpu"]: value for labels, value in self.scrape().get(name, [])}

    def said(self) -> str:
        """Return the next line of stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()


@contextmanager
def agent(driver: Driver, *flags: str, documents: Path | None = None) -> Iterator[Agent]:
    """Run the agent until the block ends; documents go to a file."""
    command = [sys.executable, "-W", "error", "-m", "podberth", "agent", "--print", "--node", "gpu-1"]
    command += ["--sysfs", str(driver.sysfs), "--metrics-listen", "127.0.0.1:0", *flags]
    with (
        Path(documents or os.devnull).open("w", encoding="utf-8") as out,
        subprocess.Popen(
            command, env=environment(driver.file), stdout=out, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("podberth: metrics: listening on port "), line
            yield Agent(process, int(line.rpartition(" ")[2]))
        finally:
            process.terminate()
