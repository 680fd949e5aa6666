"""The series of agents as a real Prometheus stores them, by the PodMonitor, rules and dashboard of the manifests.

Two agents run as processes, one with whole GPUs of which one is lost, one with a GPU in MIG mode, and a third has lost
its driver; a kubelet of the published service reports who holds what. Kube-state-metrics' series of owners are given.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.wait import wait_for
from gotools.kubelet_socket import kubelet_socket, pod
from nvml.driver import Driver
from nvml.scenario import Device, Scenario, address, hgx_h100, write_sysfs
from nvml.scraping import Agent, agent
from nvml.test_metrics import gpu, mig
from nvml.test_usage import cut

from .manifests import MONITOR, RULE, RULES, TARGETS, VARIABLES, resolved
from .prometheus import Prometheus, prometheus, scrape_of, scrape_of_kube_state_metrics, serving

# kube-state-metrics docs/metrics: of pods, of ReplicaSets, of Jobs, of nodes
OTHERS = {"kube_pod_owner", "kube_replicaset_owner", "kube_job_owner", "kube_node_info"}
OWNERS = """
kube_pod_owner{namespace="team-a",pod="train-0",owner_kind="PyTorchJob",owner_name="train"} 1
kube_pod_owner{namespace="team-b",pod="idle-0",owner_kind="ReplicaSet",owner_name="idle-1a"} 1
kube_replicaset_owner{namespace="team-b",replicaset="idle-1a",owner_kind="Deployment",owner_name="idle"} 1
kube_pod_owner{namespace="team-a",pod="serve-0",owner_kind="StatefulSet",owner_name="serve"} 1
kube_pod_owner{namespace="team-a",pod="busy-0",owner_kind="",owner_name=""} 1
kube_node_info{node="whole"} 1
"""
AGENTS = "".join(
    f'kube_pod_owner{{namespace="podberth-agent",pod="{name}",owner_kind="DaemonSet",owner_name="podberth-agent"}} 1\n'
    for name in ("podberth-agent-whole", "podberth-agent-cut", "podberth-agent-blind")
)
Labels = dict[str, str]


@dataclass(frozen=True)
class Node:
    name: str
    scenario: Scenario
    held: Sequence[dict[str, Any]]
    blind: bool = False

    @contextmanager
    def agent(self, folder: Path, kubelet_program: Path) -> Iterator[Agent]:
        """Run the node's agent, from when it has seen the GPUs, or their loss."""
        folder.mkdir()
        driver = Driver(folder / "driver", self.scenario)
        count = sum(key.endswith(".pci") for key in self.scenario)
        write_sysfs(driver.sysfs, [Device(address=address(index)) for index in range(count)])
        with kubelet_socket(kubelet_program, folder) as kubelet:
            kubelet.answer({"podResources": list(self.held)})
            flags = ["--node", self.name, "--pod-resources", str(kubelet.path), "--interval", "1"]
            with agent(driver, *flags) as running:
                wait_for(lambda: running.by_gpu("podberth_gpu_info"), what="the first look")
                if self.blind:
                    driver.change({"driver.loaded": 0})
                    wait_for(lambda: not running.by_gpu("podberth_gpu_info"), what="the loss")
                yield running


WHOLE = hgx_h100() | {f"gpu.{index}.utilization": 75 if index < 2 else 0 for index in range(8)} | {"gpu.5.lost": 1}
HELD = [
    pod("train-0", ("nvidia.com/gpu", [gpu(0), gpu(1)])),
    pod("idle-0", ("nvidia.com/gpu", [gpu(2)]), namespace="team-b"),
]
HELD_OF_MIG = [pod("serve-0", ("nvidia.com/mig-3g.20gb", [mig(0, 0)])), pod("busy-0", ("nvidia.com/gpu", [gpu(1)]))]
NODES = (Node("whole", WHOLE, HELD), Node("cut", cut(), HELD_OF_MIG), Node("blind", WHOLE, (), blind=True))
# Of the three MIG devices, the two whose memory is known have 19968 and 9856 MiB.
SHARE_OF_MIG = 19968 / (19968 + 9856)


@pytest.fixture(scope="module")
def stored(
    kubelet_program: Path, prometheus_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Yield a Prometheus that scrapes the three agents as their PodMonitor says."""
    folder = tmp_path_factory.mktemp("nodes")
    with ExitStack() as stack:
        agents = {node.name: stack.enter_context(node.agent(folder / node.name, kubelet_program)) for node in NODES}
        pods = {f"podberth-agent-{name}": each.port for name, each in agents.items()}
        others = scrape_of_kube_state_metrics(stack.enter_context(serving(OWNERS + AGENTS)))
        scrapes = [scrape_of(MONITOR, pods), others]
        running = stack.enter_context(prometheus(prometheus_program, folder / "prometheus", RULE, scrapes))
        # The rules follow one another in a group, so the last ones' series say that all have their input.
        running.wait_for("count(namespace_owner:podberth_gpu_allocated:sum) == 4")
        running.wait_for("count(namespace_owner:podberth_gpu_used:sum) == 3")
        yield running


def owners(of: Prometheus, expression: str) -> dict[tuple[str, str, str], float]:
    """Return values by namespace, kind and name of the owner."""
    return {
        (labels["namespace"], labels.get("owner_kind", ""), labels.get("owner_name", "")): value
        for labels, value in of.query(expression)
    }


def test_gpus_are_charged_to_the_owners_of_the_pods_that_hold_them(stored: Prometheus) -> None:
    assert owners(stored, "namespace_owner:podberth_gpu_allocated:sum") == {
        ("team-a", "PyTorchJob", "train"): 2,
        ("team-b", "Deployment", "idle"): 1,
        ("team-a", "StatefulSet", "serve"): pytest.approx(SHARE_OF_MIG),
        ("team-a", "", ""): 1,
    }
    assert owners(stored, "namespace_owner:podberth_gpu_used:sum") == {
        ("team-a", "PyTorchJob", "train"): 1.5,
        ("team-b", "Deployment", "idle"): 0,
        ("team-a", "", ""): 1,
    }


def test_memory_is_charged_to_the_pods_that_hold_it(stored: Prometheus) -> None:
    pods = '{namespace="team-a", pod="serve-0"}'
    for kind, value in (("used", 1 << 30), ("allocated", 19968 << 20)):
        assert [each for _, each in stored.query(f"namespace_pod:podberth_gpu_memory_{kind}_bytes:sum{pods}")] == [
            value
        ]


def test_nothing_is_charged_to_the_agents(stored: Prometheus) -> None:
    """The agent's pod is in the labels of what the agent says about itself, and of nothing that is recorded."""
    assert stored.query('podberth_gpu_info{namespace="podberth-agent"}')
    recorded = sorted({rule["record"] for rule in RULES if "record" in rule})
    assert recorded
    for name in recorded:
        labels = [each for each, _ in stored.query(name) if each.get("owner_name") != "podberth-agent"]
        assert {each["namespace"] for each in labels} <= {"team-a", "team-b"}, name
        assert not [each for each in labels if any(key.startswith("exported_") for key in each)]


def test_the_alert_of_an_idle_gpu_names_its_workload(stored: Prometheus) -> None:
    found = wait_for(lambda: stored.alerts("PodberthGPUIdle"), what="the alert")
    assert [(each["labels"]["namespace"], each["labels"]["pod"], each["state"]) for each in found] == [
        ("team-b", "idle-0", "pending")
    ]
    assert found[0]["annotations"]["summary"] == "team-b/idle-0 holds GPU 2 of whole and hardly uses it"


@pytest.mark.parametrize(
    ("alert", "labels"),
    [
        ("PodberthGPUUnhealthy", {"node": "whole", "gpu": "5", "problem": "gpu is lost"}),
        ("PodberthAgentBlind", {"node": "blind"}),
    ],
)
def test_what_is_wrong_with_a_node_is_an_alert_about_the_node(stored: Prometheus, alert: str, labels: Labels) -> None:
    found = wait_for(lambda: stored.alerts(alert), what="the alert")
    given = [{key: each["labels"].get(key) for key in labels} for each in found]
    assert labels in given


def test_every_rule_is_evaluated_without_an_error(stored: Prometheus) -> None:
    wait_for(lambda: all(rule["health"] != "unknown" for rule in stored.rules()), what="all rules")
    assert {rule["name"] for rule in stored.rules()} == {rule.get("record") or rule["alert"] for rule in RULES}
    assert [(rule["name"], rule["lastError"]) for rule in stored.rules() if rule["health"] != "ok"] == []


@pytest.mark.parametrize(("panel", "target"), [each[1:] for each in TARGETS], ids=[each[0] for each in TARGETS])
def test_a_query_of_the_dashboard_finds_something(
    stored: Prometheus, panel: dict[str, Any], target: dict[str, Any]
) -> None:
    """Each is asked as Grafana asks it: a table at an instant, a graph over a range."""
    expression = resolved(target["expr"])

    def found() -> list[Any]:
        if panel["type"] == "timeseries":
            now = time.time()
            span = {"start": f"{now - 60:.3f}", "end": f"{now:.3f}", "step": "2"}
            answer: list[Any] = stored.ask("query_range", query=expression, **span)["result"]
            return [each["values"][-1][1] for each in answer]
        return [value for _, value in stored.query(expression)]

    values = wait_for(found, what=f"series of {expression}")
    assert all(float(value) >= 0 for value in values)  # and no NaN


def test_the_variables_of_the_dashboard_have_values(stored: Prometheus) -> None:
    wanted = {"$node": {"whole", "cut", "blind"}, "$namespace": {"team-a", "team-b"}}
    assert wanted.keys() == VARIABLES.keys() - {"$datasource"}
    for name, values in wanted.items():
        asked = re.fullmatch(r"label_values\(([\w:]+), (\w+)\)", VARIABLES[name]["query"]["query"])
        assert asked
        assert set(stored.ask(f"label/{asked[2]}/values", **{"match[]": asked[1]})) == values


def test_every_metric_that_is_asked_for_is_stored(stored: Prometheus) -> None:
    names = set(stored.ask("label/__name__/values"))
    asked = {
        name
        for text in (*(rule["expr"] for rule in RULES), *(target["expr"] for _, _, target in TARGETS))
        for name in re.findall(r"\b(?:\w+:)?(?:podberth|kube)_\w+(?::\w+)?", text)
    }
    assert asked - OTHERS <= names
    assert {rule["record"] for rule in RULES if "record" in rule} - asked == set()  # nothing is recorded for nobody
