"""Alerts and dashboard: Prometheus' own promtool reads and tests them, and they name metrics that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT, page
from podberth.kube.documents import load_documents
from podberth.telemetry.controller_metrics import ControllerMetrics
from podberth.telemetry.metrics import EventMetrics, Metrics, WatchMetrics

MONITORING = ROOT / "manifests" / "components" / "monitoring"
[RULE] = load_documents((MONITORING / "prometheus-rule.yaml").read_text(), "rule")[0]
GROUPS: list[dict[str, Any]] = RULE.document["spec"]["groups"]
ALERTS = [each for group in GROUPS for each in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((MONITORING / "podberth.json").read_text())
TARGETS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
# kubernetes' staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go
APISERVER = {
    "apiserver_admission_webhook_fail_open_count",
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_admission_duration_seconds",
}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a folder with the rules as Prometheus reads them, and the cases of them."""
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": GROUPS}))
    shutil.copy(Path(__file__).parent / "alerts.yaml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command", [("check", "rules", "--lint-fatal", "rules.yaml"), ("test", "rules", "alerts.yaml")]
)
def test_promtool_finds_nothing_wrong(promtool: Path, rules: Path, command: tuple[str, ...]) -> None:
    done = subprocess.run([promtool, *command], cwd=rules, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    [cases] = load_documents((Path(__file__).parent / "alerts.yaml").read_text(), "alerts")[0]
    quiet, firing, *_ = ({each["alertname"] for each in test["alert_rule_test"]} for test in cases.document["tests"])
    assert quiet == firing == {each["alert"] for each in ALERTS}
    assert all("exp_alerts" in each for each in cases.document["tests"][1]["alert_rule_test"])


def test_every_metric_is_one_of_podberths_or_of_the_api_servers() -> None:
    metrics = Metrics(("/mutate",), lines_dropped=lambda: 0, in_flight=lambda: 0)
    WatchMetrics(metrics, dict, lambda: 0)
    EventMetrics(metrics.registry)
    controller = ControllerMetrics()
    controller.ask(leads=lambda: True, waiting=lambda: 0, watched=dict, kinds=dict)
    text = (metrics.exposition() + controller.exposition()).decode()
    served = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    for expression in [each["expr"] for each in ALERTS] + TARGETS:
        named = re.findall(r"\b(?:podberth_|apiserver_)\w+", expression)
        assert {re.sub("(?<=_seconds)_(bucket|sum|count)$", "", each) for each in named} <= served | APISERVER, (
            expression
        )


@pytest.mark.parametrize("expression", TARGETS)
def test_every_expression_of_the_dashboard_is_promql(promtool: Path, expression: str, tmp_path: Path) -> None:
    resolved = expression.replace("$__rate_interval", "5m")
    (tmp_path / "rules.yaml").write_text(
        json.dumps({"groups": [{"name": "a", "rules": [{"record": "a", "expr": resolved}]}]})
    )
    done = subprocess.run(
        [promtool, "check", "rules", "rules.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_its_paragraph() -> None:
    section = page("docs/install-reference.md").partition("\n## Alerts\n")[2].partition("\n### ")[0]
    assert {each["alert"] for each in ALERTS} == set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
