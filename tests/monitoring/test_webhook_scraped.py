"""The webhook's series as a real Prometheus stores them, by ServiceMonitor, rules and dashboard of the manifests.

podberth follows a real API server, which Prometheus scrapes, too. While podberth was away it has refused a pod, and let
a Deployment through; one policy has an error on each pod.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from builders import deployment, gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from e2e.podberth_process import Podberth
from e2e.registration import pointed, shipped
from snapshots import policy

from .prometheus import Prometheus, prometheus
from .webhook import MONITOR, RULE, TARGETS, scrape_of_service

WRITES = policy("writes", "  mutations:\n  - labels: {example.com/team: \"'a'\"}")
FAILS = policy(
    "fails",
    "  failurePolicy: Ignore\n  validationActions: [Deny]\n  validations:\n"
    "  - {expression: 'object.spec.containers[9].name != string(1)', message: m}",
)
RATE = "1m"


@dataclass(frozen=True)
class Watched:
    plane: ControlPlane
    podberth: Podberth
    stored: Prometheus

    def ask(self) -> None:
        """Create a pod that leaves nothing behind."""
        create(self.plane, "/api/v1/namespaces/default/pods", gpu_pod())


def create(plane: ControlPlane, path: str, document: dict[str, Any]) -> int:
    return plane.api.ask("POST", f"{path}?dryRun=All", document).status


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a control plane of these tests' own: podberth is away from it for a while."""
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        plane.add_nodes([gpu_node("gpu")])
        yield plane
        plane.check()


@contextmanager
def serving(plane: ControlPlane, folder: Path) -> Iterator[Podberth]:
    """Run podberth with two policies and its Events, called by the API server."""
    policies = folder / "policies"
    policies.mkdir()
    for name, text in (("writes", WRITES), ("fails", FAILS)):
        (policies / f"{name}.yaml").write_text(text)
    environ = {"PODBERTH_EVENTS": "on"}
    with Podberth(folder / "serve", None, policies, kubeconfig=plane.kubeconfig, environ=environ) as podberth:
        register(plane, podberth)
        yield podberth


def register(plane: ControlPlane, podberth: Podberth) -> None:
    """Have the API server call it, and return once it does."""
    plane.apply(*(pointed(each, podberth.endpoint) for each in shipped()))
    before = podberth.asked()["/mutate"]
    wait_for(lambda: not refused(plane) and podberth.asked()["/mutate"] > before, what="podberth to be asked")


def refused(plane: ControlPlane) -> bool:
    return create(plane, "/api/v1/namespaces/default/pods", gpu_pod()) != HTTPStatus.CREATED


@pytest.fixture(scope="module")
def watched(
    control_plane: ControlPlane, prometheus_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    """Yield podberth once more after it was away, and a Prometheus that has scraped it and the API server."""
    folder = tmp_path_factory.mktemp("webhook")
    apiserver = {
        "job_name": "apiserver",
        "scheme": "https",
        "authorization": {"credentials": control_plane.admin_token},
        "tls_config": {"ca_file": str(control_plane.ca_file)},
        "static_configs": [{"targets": [control_plane.url.removeprefix("https://")]}],
    }
    with serving(control_plane, folder) as podberth:
        podberth.stop()
        wait_for(lambda: refused(control_plane), what="a pod to be refused")
        passed = create(control_plane, "/apis/apps/v1/namespaces/default/deployments", deployment(gpu_pod()))
        assert passed == HTTPStatus.CREATED
        podberth.start()
        register(control_plane, podberth)
        scrapes = [scrape_of_service(MONITOR, podberth.metrics_port), apiserver]
        with prometheus(prometheus_program, folder / "prometheus", RULE, scrapes) as stored:
            for job in ("podberth", "apiserver"):
                stored.wait_for(f'up{{job="{job}"}} == 1')
            yield Watched(control_plane, podberth, stored)


@pytest.mark.parametrize("expression", [each[1] for each in TARGETS], ids=[each[0] for each in TARGETS])
def test_a_query_of_the_dashboard_finds_something(watched: Watched, expression: str) -> None:
    resolved = expression.replace("$__rate_interval", RATE)
    assert "$" not in resolved

    def found() -> list[float]:
        watched.ask()
        # Of an entry or a path that was not asked meanwhile a quotient is not a number, which Grafana leaves out.
        return [value for _, value in watched.stored.query(resolved) if not math.isnan(value)]

    values = wait_for(found, what=f"series of {resolved}")
    assert all(each >= 0 for each in values)


def test_every_rule_is_evaluated_without_an_error_and_podberth_is_not_down(watched: Watched) -> None:
    stored = watched.stored
    wait_for(lambda: all(rule["health"] != "unknown" for rule in stored.rules()), what="all rules")
    assert [(rule["name"], rule["lastError"]) for rule in stored.rules() if rule["health"] != "ok"] == []
    assert stored.alerts("PodberthDown") == []
