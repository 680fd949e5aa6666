"""Rules and dashboard on what agents really say: each expression is evaluated by Prometheus' own engine.

Two agents run as processes, one with whole GPUs of which one is lost, one with a cut GPU, and a third loses its driver;
a kubelet of the published service tells who holds what. Their expositions are the series that promtool evaluates on.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.wait import wait_for
from gotools.kubelet_socket import kubelet_socket, pod
from nvml.driver import Driver
from nvml.scenario import Device, Scenario, address, hgx_h100, write_sysfs
from nvml.scraping import agent
from nvml.test_metrics import gpu, mig
from nvml.test_usage import cut
from pages import ROOT
from podberth.kube.documents import load_documents

MONITORING = ROOT / "manifests" / "monitoring"
RULES, DASHBOARD = MONITORING / "rules.yaml", json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [
    (f"{panel['title']} {target['refId']}", target["expr"]) for panel in PANELS for target in panel["targets"]
]
VARIABLES = {"$node": ".*", "$namespace": ".*"}
# kube-state-metrics docs/metrics: of pods, of ReplicaSets, of Jobs, of nodes
OTHERS = {"kube_pod_owner", "kube_replicaset_owner", "kube_job_owner", "kube_node_info"}

HELD = [
    pod("train-0", ("nvidia.com/gpu", [gpu(0), gpu(1)])),
    pod("idle-0", ("nvidia.com/gpu", [gpu(2)]), namespace="team-b"),
]
HELD_OF_MIG = [pod("serve-0", ("nvidia.com/mig-3g.20gb", [mig(0, 0)])), pod("busy-0", ("nvidia.com/gpu", [gpu(1)]))]
OWNERS = [
    'kube_pod_owner{namespace="team-a",pod="train-0",owner_kind="PyTorchJob",owner_name="train"}',
    'kube_pod_owner{namespace="team-b",pod="idle-0",owner_kind="ReplicaSet",owner_name="idle-1a"}',
    'kube_replicaset_owner{namespace="team-b",replicaset="idle-1a",owner_kind="Deployment",owner_name="idle"}',
]


@dataclass(frozen=True)
class Node:
    name: str
    scenario: Scenario
    held: Sequence[dict[str, Any]]
    blind: bool = False

    def exposition(self, folder: Path, kubelet_program: Path) -> str:
        """Run the node's agent; return what a scrape says once it has the GPUs, or their loss."""
        folder.mkdir()
        driver = Driver(folder / "driver", self.scenario)
        count = sum(key.endswith(".pci") for key in self.scenario)
        write_sysfs(driver.sysfs, [Device(address=address(index)) for index in range(count)])
        with kubelet_socket(kubelet_program, folder) as kubelet:
            kubelet.answer({"podResources": list(self.held)})
            flags = ["--node", self.name, "--pod-resources", str(kubelet.path), "--interval", "0.1"]
            with agent(driver, *flags) as running:
                wait_for(lambda: running.by_gpu("podberth_gpu_info"), what="the first look")
                if self.blind:
                    driver.change({"driver.loaded": 0})
                    wait_for(lambda: not running.by_gpu("podberth_gpu_info"), what="the loss")
                status, text = running.get("/metrics")
        assert status == 200
        return text


WHOLE = hgx_h100() | {f"gpu.{index}.utilization": 75 if index < 2 else 0 for index in range(8)} | {"gpu.5.lost": 1}
NODES = (Node("whole", WHOLE, HELD), Node("cut", cut(), HELD_OF_MIG), Node("blind", WHOLE, (), blind=True))


@pytest.fixture(scope="module")
def series(kubelet_program: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the lines of all expositions, a series and its value each."""
    folder = tmp_path_factory.mktemp("nodes")
    texts = [node.exposition(folder / node.name, kubelet_program) for node in NODES]
    return [line for text in texts for line in text.splitlines() if not line.startswith("#")]


def test_the_rules_are_rules(promtool: Path) -> None:
    done = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert done.returncode == 0, done.stderr


def test_the_rules_do_what_their_tests_say(promtool: Path) -> None:
    done = run(promtool, "test", "rules", str(Path(__file__).with_name("rules_test.yaml")))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=[where for where, _ in EXPRESSIONS])
def test_an_expression_of_the_dashboard_finds_something_in_what_agents_say(
    where: str, expression: str, series: list[str], promtool: Path, tmp_path: Path
) -> None:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, where
    evaluate(promtool, tmp_path, series, f"count({expression}) > bool 0", [{"labels": "{}", "value": 1}])


@pytest.mark.parametrize(
    ("expression", "labels", "value"),
    [
        (
            "namespace_owner:podberth_gpu_allocated:sum",
            'owner_kind="PyTorchJob",owner_name="train",namespace="team-a"',
            2,
        ),
        ("namespace_owner:podberth_gpu_used:sum", 'owner_kind="PyTorchJob",owner_name="train",namespace="team-a"', 1.5),
        ("namespace_owner:podberth_gpu_used:sum", 'owner_kind="Deployment",owner_name="idle",namespace="team-b"', 0),
        ("namespace_pod:podberth_gpu_memory_used_bytes:sum", 'namespace="team-a",pod="serve-0"', 1 << 30),
        ("namespace_pod:podberth_gpu_memory_allocated_bytes:sum", 'namespace="team-a",pod="serve-0"', 19968 << 20),
    ],
)
def test_a_rule_says_of_what_agents_say(
    expression: str, labels: str, value: float, series: list[str], promtool: Path, tmp_path: Path
) -> None:
    wanted = f"{expression}{{{labels}}}"
    evaluate(promtool, tmp_path, series, wanted, [{"labels": wanted, "value": value}])


def test_every_metric_that_is_asked_for_is_served_by_an_agent_or_recorded(series: list[str]) -> None:
    served = {re.split(r"[{ ]", line)[0] for line in series}
    [document] = load_documents(RULES.read_text(encoding="utf-8"), RULES.name)[0]
    rules = [rule for group in document.document["groups"] for rule in group["rules"]]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    asked = {
        name
        for text in (*(rule["expr"] for rule in rules), *(expression for _, expression in EXPRESSIONS))
        for name in re.findall(r"\b(?:\w+:)?(?:podberth|kube)_\w+(?::\w+)?", text)
    }
    assert asked - recorded - OTHERS <= served
    assert recorded - asked == set()  # nothing is recorded for nobody


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)


def evaluate(promtool: Path, folder: Path, series: list[str], expression: str, wanted: list[dict[str, Any]]) -> None:
    """Let promtool evaluate rules and an expression after an hour in which agents said the same all the time."""
    constant = [line.rsplit(" ", 1) for line in series] + [[owner, "1"] for owner in OWNERS]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": f"{float(value):f}x60"} for name, value in constant],
                "promql_expr_test": [{"expr": expression, "eval_time": "60m", "exp_samples": wanted}],
            }
        ],
    }
    file = folder / "test.yaml"
    file.write_text(json.dumps(test), encoding="utf-8")  # JSON is YAML
    done = run(promtool, "test", "rules", file)
    assert done.returncode == 0, f"{expression}\n{done.stdout}{done.stderr}"


# ---- the dashboard --------------------------------------------------------------------------------------------------


def datasources(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        yield from [part["datasource"]] if "datasource" in part else []
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from datasources(each)


def test_the_dashboard_works_with_any_data_source() -> None:
    [variable] = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "datasource"]
    assert (variable["name"], variable["query"]) == ("datasource", "prometheus")
    assert list(datasources(DASHBOARD)) != []
    assert all(each == {"type": "prometheus", "uid": "${datasource}"} for each in datasources(DASHBOARD))
    assert not {"id", "uid", "__inputs"} & DASHBOARD.keys()


def test_every_variable_that_is_asked_for_is_there() -> None:
    names = {f"${each['name']}" for each in DASHBOARD["templating"]["list"]}
    assert {name for _, text in EXPRESSIONS for name in re.findall(r"\$\w+", text)} == names - {"$datasource"}
    assert VARIABLES.keys() == names - {"$datasource"}


def test_panels_have_an_id_a_title_and_a_place_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["title"] for panel in panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_column_of_a_table_has_a_name() -> None:
    for panel in PANELS:
        if panel["type"] == "table":
            [organised] = [each["options"] for each in panel["transformations"] if each["id"] == "organize"]
            several = len(panel["targets"]) > 1
            columns = {f"Value #{each['refId']}" if several else "Value" for each in panel["targets"]}
            assert organised["renameByName"].keys() == columns, panel["title"]
            assert all(each["format"] == "table" and each["instant"] for each in panel["targets"]), panel["title"]
