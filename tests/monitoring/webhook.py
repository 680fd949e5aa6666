"""The monitoring of the webhook as it is installed: the manifests of the component monitoring."""

import json
from collections.abc import Mapping
from typing import Any

from pages import ROOT
from podberth.kube.documents import load_documents

COMPONENT = ROOT / "manifests" / "components" / "monitoring"


def _read(name: str) -> list[dict[str, Any]]:
    found, problems = load_documents((COMPONENT / name).read_text(encoding="utf-8"), name)
    assert problems == []
    return [each.document for each in found]


[RULE] = _read("prometheus-rule.yaml")
[MONITOR] = [each for each in _read("service-monitor.yaml") if each["kind"] == "ServiceMonitor"]
PANELS: list[dict[str, Any]] = json.loads((COMPONENT / "podberth.json").read_text(encoding="utf-8"))["panels"]
TARGETS = [
    (f"{panel['title']} {target.get('refId', number)}", target["expr"])
    for panel in PANELS
    for number, target in enumerate(panel.get("targets", ()))
]


def scrape_of_service(monitor: Mapping[str, Any], port: int) -> dict[str, Any]:
    """Return the scrape configuration of a ServiceMonitor with one endpoint, for one pod on a port of this machine.

    Labels and names are the operator's (prometheus-operator, pkg/prometheus/promcfg.go, generateServiceMonitorConfig).
    """
    [endpoint] = monitor["spec"]["endpoints"]
    namespace, name = monitor["metadata"]["namespace"], monitor["metadata"]["name"]
    labels = {"namespace": namespace, "service": name, "job": name, "endpoint": endpoint["port"], "pod": f"{name}-0"}
    return {
        "job_name": f"serviceMonitor/{namespace}/{name}/0",
        "honor_labels": endpoint.get("honorLabels", False),
        "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}],
    }
