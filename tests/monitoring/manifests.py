"""The monitoring of agents as it is installed: the manifests of the component gpu-metrics."""

import json
from typing import Any

from pages import ROOT
from podberth.kube.documents import load_documents

COMPONENT = ROOT / "manifests" / "components" / "gpu-metrics"
RULE_FILE = COMPONENT / "prometheus-rule.yaml"


def _read(name: str) -> list[dict[str, Any]]:
    found, problems = load_documents((COMPONENT / name).read_text(encoding="utf-8"), name)
    assert problems == []
    return [each.document for each in found]


[RULE] = _read(RULE_FILE.name)
[MONITOR] = [each for each in _read("scraping.yaml") if each["kind"] == "PodMonitor"]
RULES: list[dict[str, Any]] = [rule for group in RULE["spec"]["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((COMPONENT / "podberth-gpus.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(f"{panel['title']} {target['refId']}", panel, target) for panel in PANELS for target in panel["targets"]]
VARIABLES = {f"${each['name']}": each for each in DASHBOARD["templating"]["list"]}


def resolved(expression: str) -> str:
    """Return an expression of the dashboard as Grafana asks for it while nothing is chosen."""
    for name, variable in VARIABLES.items():
        expression = expression.replace(name, variable.get("allValue", ""))
    assert "$" not in expression, expression
    return expression
