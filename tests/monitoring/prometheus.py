"""A real Prometheus for a test, which scrapes and evaluates what the manifests say, as the operator configures it.

Only the pace is the test's: everything is scraped and evaluated every two seconds. How long an alert waits stays.
"""

import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from controlplane.api import CONNECTION_ERRORS
from controlplane.ports import Ports
from controlplane.wait import PATIENCE_SECONDS, wait_for

Document = Mapping[str, Any]
PACE = "2s"


def scrape_of(monitor: Document, pods: Mapping[str, int]) -> dict[str, Any]:
    """Return the scrape configuration of a PodMonitor with one endpoint, for pods on these ports of this machine.

    Labels and names are the operator's (prometheus-operator, pkg/prometheus/promcfg.go, generatePodMonitorConfig).
    """
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    namespace, name = monitor["metadata"]["namespace"], monitor["metadata"]["name"]
    labels = {"namespace": namespace, "container": "agent", "job": f"{namespace}/{name}", "endpoint": endpoint["port"]}
    return {
        "job_name": f"podMonitor/{namespace}/{name}/0",
        "honor_labels": endpoint.get("honorLabels", False),
        "static_configs": [
            {"targets": [f"127.0.0.1:{port}"], "labels": {**labels, "pod": pod}} for pod, port in pods.items()
        ],
    }


def scrape_of_kube_state_metrics(port: int) -> dict[str, Any]:
    """Return the scrape configuration that kube-prometheus has for kube-state-metrics."""
    target = {"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": "monitoring", "pod": "kube-state-metrics-0"}}
    return {"job_name": "kube-state-metrics", "honor_labels": True, "static_configs": [target]}


@dataclass
class Prometheus:
    """A Prometheus that runs."""

    port: int

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of the HTTP API."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", f"/api/v1/{path}?{urlencode(parameters)}")
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return the labels and the value of each series of an instant query."""
        return [(each["metric"], float(each["value"][1])) for each in self.ask("query", query=expression)["result"]]

    def wait_for(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return the series of an instant query as soon as there are any."""
        return wait_for(lambda: self.query(expression), what=f"series of {expression}")

    def alerts(self, name: str) -> list[dict[str, Any]]:
        """Return the alerts of a name, pending ones among them."""
        return [each for each in self.ask("alerts")["alerts"] if each["labels"]["alertname"] == name]

    def rules(self) -> list[dict[str, Any]]:
        """Return the rules with their health."""
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]


@contextmanager
def prometheus(program: Path, folder: Path, rule: Document, scrapes: list[dict[str, Any]]) -> Iterator[Prometheus]:
    """Run one with the rules of a PrometheusRule until the block ends."""
    folder.mkdir()
    groups = [{**group, "interval": PACE} for group in rule["spec"]["groups"]]
    (folder / "rules.json").write_text(json.dumps({"groups": groups}), encoding="utf-8")  # JSON is YAML
    pace = {"scrape_interval": PACE, "scrape_timeout": PACE, "evaluation_interval": PACE}
    configuration = {"global": pace, "rule_files": ["rules.json"], "scrape_configs": scrapes}
    (folder / "prometheus.json").write_text(json.dumps(configuration), encoding="utf-8")
    ports = Ports()
    running = Prometheus(ports.take())
    command = [str(program), f"--config.file={folder}/prometheus.json", f"--storage.tsdb.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{running.port}", "--log.level=warn"]
    log = folder / "log"
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_for(lambda: process.poll() is not None or _ready(running), what="Prometheus")
            assert process.poll() is None, log.read_text()
            yield running
        finally:
            process.terminate()
            ports.release()


def _ready(running: Prometheus) -> bool:
    connection = HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE_SECONDS)
    with suppress(*CONNECTION_ERRORS), closing(connection):
        connection.request("GET", "/-/ready")
        return connection.getresponse().status == HTTPStatus.OK
    return False


@contextmanager
def serving(text: str) -> Iterator[int]:
    """Serve an exposition, whatever is asked for, until the block ends; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the class above
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
