"""docs/agent.md and the page of the tests' driver say what the code says: flags, fields, keys; the example runs."""

import argparse
import json
import re
import shlex
from typing import Any, get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pages import ROOT, page, rows, spans
from podberth.agent import kubelet, pace, pod_resources, publisher
from podberth.agent.api_requests import LabelTarget
from podberth.agent.kubelet import SOCKET, Kubelet
from podberth.agent.last_reading import Meter
from podberth.agent.publish import NFD_FOLDER
from podberth.agent.reader import READERS
from podberth.cli import agent
from podberth.cli.main import main
from podberth.devices.device_ids import DeviceName
from podberth.telemetry.gpu_metrics import GpuMetrics
from podberth.topology.codec import DATA_KEY, encode_topology
from podberth.topology.derive import APPLICATION_XIDS
from podberth.topology.node import (
    Fabric,
    Gpu,
    Links,
    MigInstance,
    MigOffer,
    Nic,
    NodeTopology,
    Platform,
    Unseen,
)
from podberth.topology.observation import Health, Observation, ObservedGpu
from podberth.topology.usage import GpuUsage, Grant, InstanceUsage, Usage

AGENT = page("docs/agent.md")
FLAGS = rows(AGENT.partition("\n| flag |")[2].partition("\n\n")[0])
FIELDS = rows(AGENT.partition("\n## The document\n")[2].partition("\n## ")[0])
METRICS = rows(AGENT.partition("\n## Metrics\n")[2].partition("\n### ")[0])
DRIVER = rows(page("tests/nvml/README.md"))

EVERYTHING = NodeTopology(
    gpus=(
        Gpu(
            index=0,
            vendor="amd",
            uuid="u",
            product="p",
            pci_id="2330",
            memory_mib=1,
            numa_node=0,
            pcie_root="r",
            mig_enabled=True,
            mig_pending=True,
            problem="x",
        ),
    ),
    links=Links(shape="islands", domains=((0, 1),), levels=(("X",),)),
    fabric=Fabric(cluster_uuid="c", clique=0),
    nics=(Nic(name="n", kind="roce", numa_node=0, pcie_root="r"),),
    platform=Platform(chassis="c", slot=0, tray=0, host=0),
    mig_offers=(MigOffer(profile="1g.5gb", pci_id="2330", max_instances=1, memory_mib=1),),
    mig_instances=(MigInstance(gpu=0, profile="1g.5gb", start=0, size=1),),
    unseen=(Unseen(what="w", why="y", gpus=(0,)),),
    observed="t",
)


def fields_of(document: dict[str, Any], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for key, value in document.items():
        inner, suffix = (value[0], "[].") if isinstance(value, list) and value else (value, ".")
        found |= fields_of(inner, f"{prefix}{key}{suffix}") if isinstance(inner, dict) else {f"{prefix}{key}"}
    return found


def test_every_flag_has_a_row_and_no_row_is_about_another() -> None:
    parser = argparse.ArgumentParser()
    agent.configure(parser)
    flags = {action.option_strings[-1] for action in parser._actions if action.option_strings} - {"--help"}
    assert {key for key in FLAGS if key.startswith("--") and set(key) != {"-"}} == flags
    assert set(READERS) <= spans(" ".join(FLAGS["--vendor"]))
    assert f"by default {agent._INTERVAL_SECONDS:g}" in " ".join(FLAGS["--interval"])
    assert f"by default {publisher.HEARTBEAT_SECONDS:g}" in " ".join(FLAGS["--heartbeat"])
    assert str(NFD_FOLDER) in " ".join(FLAGS["--features-dir"])


def test_the_figures_of_publishing_are_the_codes() -> None:
    interval = publisher.HEARTBEAT_SECONDS
    soonest, lasts = interval * (1 - publisher._JITTER), interval * publisher._MISSED
    assert f"renewed every {soonest:g} to {interval:g} s; it lasts {lasts:g} s, three intervals" in AGENT
    assert (publisher._BURST_WRITES, 60 / publisher._SECONDS_A_WRITE) == (6, 4)
    assert (pace._FIRST_SECONDS, pace._MOST_SECONDS) == (0.5, 60)
    assert publisher._HEARTBEATS_A_LABELLING == 10


def test_the_cost_of_label_writes_is_the_benchs() -> None:
    section = page("bench/README.md").partition("\n## Writes of live labels ")[2].partition("\n## ")[0]
    milliseconds = rows(section)["167"][2]
    [cores] = re.findall(r"one change a node and minute: (\d+ % of a core)", section)
    assert f"{float(milliseconds):.1f} ms of processor time" in AGENT
    assert f"one change a node and minute {cores}" in AGENT


def test_every_way_to_set_labels_has_a_row_and_its_manifest_is_there() -> None:
    table = rows(AGENT.partition("\n| `--labels` | who sets them |")[2].partition("\n\n")[0])
    assert {key for key in table if set(key) != {"-"}} == {"nfd-file", *get_args(LabelTarget)}
    named = [span for cells in table.values() for span in spans(" ".join(cells)) if span.endswith(".yaml")]
    assert named
    assert all((ROOT / file).is_file() for file in named)


def test_every_field_of_the_document_has_a_row_and_no_row_is_about_another() -> None:
    document = json.loads(encode_topology("n", EVERYTHING)["data"][DATA_KEY])
    assert {key for key in FIELDS if key != "field" and not key.startswith("---")} == fields_of(document)


class Everything:
    """A reader of one GPU of which everything is known, and something could not be read."""

    def read(self) -> Observation:
        unseen = Unseen(what="w", why="y")
        return Observation(gpus=(ObservedGpu(index=0, health=Health(faults=("lost",))),), unseen=(unseen,))

    def usage(self, seen: Observation) -> Usage:
        one = InstanceUsage(uuid="m", gpu_instance=1, profile="p", memory_used_bytes=1, memory_total_bytes=1)
        gpu = GpuUsage(index=0, minor=0, utilization=0.5, memory_used_bytes=1, memory_total_bytes=1, instances=(one,))
        return Usage(gpus=(gpu,) if seen.gpus else ())

    def wait(self, seconds: float) -> bool:
        return seconds < 0

    def close(self) -> None: ...


def test_every_metric_has_a_row_with_its_labels() -> None:
    grant = Grant(namespace="n", pod="p", container="c", resource="nvidia.com/gpu", device=DeviceName(mig_uuid="m"))
    reported = Kubelet(lambda: (grant,), lambda _: None)
    meter = Meter(Everything(), node="n", interval_seconds=30.0, kubelet=reported)
    meter.read()
    meter.wait(0.0)
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(GpuMetrics(meter.reading).exposition().decode()):
        assert family.samples, family.name
        for sample in family.samples:
            assert "node" in sample.labels
            labels.setdefault(sample.name, set()).update(sample.labels.keys() - {"node"})
    documented = {name: spans(cells[1]) for name, cells in METRICS.items() if name.startswith("podberth_")}
    assert documented == labels


def test_the_bounds_that_are_reported_are_those_of_the_code() -> None:
    assert SOCKET in spans(AGENT)
    assert f"for {['zero', 'one', 'two'][int(pod_resources._DEADLINE_SECONDS)]} seconds at most" in AGENT
    assert f"once in {['zero', 'one', 'two', 'three', 'four', 'five'][int(kubelet._FRESH_SECONDS)]} seconds" in AGENT
    assert f"more than {pod_resources._LARGEST_BYTES >> 20} MiB" in AGENT
    meter = Meter(Everything(), node="n", interval_seconds=30.0, kubelet=None)
    assert meter.patience_seconds == 2 * 30 + 60  # "twice the interval and a minute"


def test_the_xids_that_are_passed_over_are_named() -> None:
    assert ", ".join(map(str, sorted(APPLICATION_XIDS))) in AGENT


def test_the_example_prints_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = re.findall(r"^    podberth (agent .*)$", AGENT, re.MULTILINE)
    assert main(shlex.split(command)) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["name"] == "tray-1"


def test_every_key_of_a_scenario_has_a_row_and_no_row_is_about_another() -> None:
    source = (ROOT / "tests/nvml/libnvidia-ml.c").read_text(encoding="utf-8")
    read = set(re.findall(r'(?:get|NEED)\((?:\w+, )?"([^"]+)"', source))
    documented = {
        re.sub(r"\.[NMIPSK]\b", ".%d", key).replace("FUNCTION", "%s") for key in DRIVER if "." in key and "|" not in key
    }
    assert {key.replace("%u", "%d") for key in read} == documented
