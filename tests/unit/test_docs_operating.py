"""docs/operating.md says what the code says: flags, metrics, statuses, webhooks. And the links of every page hold."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from builders import JSON, pod, review
from pages import (
    EXPRESSIONS,
    MUTATIONS,
    OPERATING,
    OPERATING_ROWS,
    POLICY,
    POLICY_ROWS,
    ROOT,
    labels_of_metrics,
    page,
    rows,
    spans,
)
from podberth.admission import decide
from podberth.admission.notices import _REASONS
from podberth.admission.outcome import Action
from podberth.admission.response import CODES
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.api.protocol import (
    CONTROLLER,
    EXCEPTIONS,
    HEARTBEATS,
    NAMESPACED_POLICIES,
    NODES,
    OBJECTS,
    POLICIES,
    TOPOLOGIES,
    ListReason,
    Reason,
)
from podberth.cli.exitcodes import ExitCode
from podberth.cli.serve import DECIDERS
from podberth.facts.object_kinds import FOLLOWED
from podberth.kube.documents import load_documents
from podberth.port.byte_budget import MemoryBudget
from podberth.port.slots import Places
from podberth.server.handler import STATUSES
from podberth.settings import OPTIONS
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import (
    EVENT_FAULTS,
    EVENT_RESULTS,
    KIND_LEFT_OUT,
    LEFT_OUT,
    LIST_REASONS,
    WATCH_REASONS,
    EventMetrics,
    Metrics,
    Phases,
    PortMetrics,
    WatchMetrics,
)
from podberth.telemetry.reviews import ReviewRecorder
from podberth.telemetry.watch_metrics import KIND_STATES, WatchFacts
from snapshots import snapshot

# ---- operating ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: str(option.field))
def test_every_flag_has_a_row_with_its_variable_and_default(option: Any) -> None:
    cells = OPERATING_ROWS[f"{option.flag} {option.metavar}"]
    assert cells[1] == f"`{option.variable}`"
    assert cells[2].split(";")[0] == ("none" if option.default is None else f"`{option.default}`")


def test_every_path_is_named() -> None:
    assert {f"POST {path}" for path in DECIDERS} | {"GET /livez", "GET /readyz", "GET /metrics"} <= spans(OPERATING)


def new_metrics() -> Metrics:
    return Metrics(DECIDERS, lines_dropped=lambda: 0, in_flight=lambda: 0)


def test_every_metric_has_a_row_with_its_labels() -> None:
    metrics = new_metrics()
    metrics.decision("policy", "warn")
    watched = WatchFacts(objects=1, contact_age_seconds=0.0, left_out={})
    metrics.policy_error("policy")
    metrics.exceptions({"exception": datetime.fromtimestamp(0, UTC)})
    WatchMetrics(metrics, lambda: dict.fromkeys(LEFT_OUT, watched), lambda: 0, lambda: {"jobs.batch": "followed"})
    EventMetrics(metrics.registry)
    budget = MemoryBudget()
    PortMetrics(metrics.registry, budget.used, budget.refused, lambda: (len(Places()), 0))
    labels = labels_of_metrics(metrics.exposition().decode())
    documented = {name: cells for name, cells in OPERATING_ROWS.items() if name.startswith("podberth_")}
    real = {name: found - {"le"} for name, found in labels.items()}
    assert {name: spans(cells[1]) for name, cells in documented.items()} == real


def test_every_reason_of_a_watch_is_named_and_is_one_that_is_counted() -> None:
    assert get_args(Reason) == WATCH_REASONS
    assert get_args(ListReason) == LIST_REASONS
    followed = (NODES, TOPOLOGIES, HEARTBEATS, *OBJECTS, CONTROLLER)
    assert tuple(LEFT_OUT) == tuple(resource.name for resource in followed)
    table = OPERATING.partition("\n| reason | what happened |")[2].partition("\n\n")[0]
    assert rows(table).keys() - {"---"} == set(WATCH_REASONS)
    assert set(LIST_REASONS) <= spans(OPERATING_ROWS["podberth_watch_lists_total"][2])
    reasons = {reason for each in (*LEFT_OUT.values(), KIND_LEFT_OUT) for reason in each}
    assert reasons <= spans(OPERATING_ROWS["podberth_watch_left_out"][2])


def test_every_kind_that_is_followed_where_it_is_served_is_named_with_its_versions() -> None:
    section = OPERATING.partition("\n### Claims, groups and owners\n")[2].partition("\n### ")[0]
    table = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    documented = {name for cell in table for name in spans(cell)}
    assert documented == {kind.name for kind in FOLLOWED}
    versions = {version for kind in FOLLOWED for version in kind.versions}
    assert versions == set(re.findall(r"\bv\d+(?:(?:alpha|beta)\d+)?\b", section))
    assert set(KIND_STATES) <= spans(OPERATING_ROWS["podberth_watch_kinds"][2])


def test_everything_that_becomes_of_an_event_is_named() -> None:
    assert set(EVENT_RESULTS) <= spans(OPERATING_ROWS["podberth_event_notices_total"][2])
    assert set(EVENT_FAULTS) == spans(OPERATING_ROWS["podberth_event_errors_total"][2])
    assert set(Phases._fields) <= spans(OPERATING_ROWS["podberth_admission_phase_duration_seconds"][2])


def test_every_reason_of_an_event_has_a_row() -> None:
    section = OPERATING.partition("\n## Events\n")[2].partition("\n## ")[0]
    of_policies = {"Disabled", "InForce", "NotCompiled", "Outdated"}
    assert rows(section).keys() - {"reason", "---"} == {*_REASONS.values(), *of_policies}


def test_every_attribute_of_a_span_is_named() -> None:
    source = (ROOT / "webhook" / "podberth" / "telemetry" / "tracing.py").read_text(encoding="utf-8")
    section = OPERATING.partition("\n## Traces\n")[2].partition("\n## ")[0]
    named = {each for row in re.findall(r"^\| (`[a-z].*?) \|", section, re.MULTILINE) for each in spans(row)}
    assert named == set(re.findall(r'set_attribute\("([^"]+)"', source))


@pytest.mark.parametrize("action", get_args(Action))
def test_every_verdict_of_a_policy_is_named(action: str) -> None:
    assert f"`{action}`" in OPERATING_ROWS["podberth_policy_decisions_total"][2]


class Lines(LineWriter):
    """Keeps the lines."""

    def __init__(self) -> None:
        self.dropped = 0
        self.kept: list[JSON] = []

    def write(self, line: bytes) -> None:
        self.kept.append(json.loads(line))


def test_every_field_of_a_reviews_log_line_is_named() -> None:
    lines = Lines()
    recorder = ReviewRecorder(new_metrics(), Log(lines))
    request: AdmissionRequest = decode_review(review(pod()))
    recorder.decided("/mutate", request, decide.mutate(request, snapshot()), Phases(0.001, 0.001, 0.001))
    recorder.refused("/mutate", 503, "no", 0.001, request)
    table = OPERATING.partition("\nOf every review:\n")[2].partition("\n\nNothing else")[0]
    named = {field for line in table.splitlines() for field in spans(line.partition(" | ")[0])}
    assert named == {field for line in lines.kept for field in line}


def test_every_status_is_named() -> None:
    assert {str(int(status)) for status in STATUSES} == {
        key for key in OPERATING_ROWS if re.fullmatch(r"[2-5]\d{2}", key)
    }
    for reason, code in CODES.items():
        assert f"{code} `{reason}`" in " ".join(OPERATING.split())
        assert f"`{reason}`" in POLICY_ROWS["validations[].reason"][1]
        assert str(code) in POLICY_ROWS["validations[].reason"][3]


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: str(code.name))
def test_every_exit_code_has_a_row(code: ExitCode) -> None:
    assert str(int(code)) in OPERATING_ROWS


def test_every_port_that_network_policies_let_through_is_in_the_table() -> None:
    table = OPERATING.partition("\n| from | to | port |")[2].partition("\n\n")[0]
    ports = {word for line in table.splitlines()[2:] for word in re.findall(r"\b\d{2,5}\b", line.split(" | ")[2])}
    files = [*(ROOT / "manifests").glob("base/*.yaml"), *(ROOT / "manifests").glob("components/*/*.yaml")]
    policies = [
        each.document
        for file in files
        if "kind: NetworkPolicy" in file.read_text()
        for each in load_documents(file.read_text(), file.name)[0]
        if each.document["kind"] == "NetworkPolicy"
    ]
    named = {"webhook": 9443, "metrics": 8080}
    rules = [rule for each in policies for way in ("ingress", "egress") for rule in each["spec"].get(way, ())]
    allowed = {str(named.get(port["port"], port["port"])) for rule in rules for port in rule["ports"]}
    assert len(policies) == 5
    assert allowed <= ports


def test_the_requests_in_what_it_costs_are_those_of_the_manifests() -> None:
    table = rows(OPERATING.partition("\n## What it costs\n")[2].partition("\n\n## ")[0])
    files = {
        "webhook": "base/deployment.yaml",
        "agent": "base/daemonset.yaml",
        "controller": "components/controller/deployment.yaml",
        "audit": "components/audit/cron-job.yaml",
    }
    for part, file in files.items():
        text = (ROOT / "manifests" / file).read_text(encoding="utf-8")
        [(cpu, memory, limit)] = re.findall(
            r"requests: \{cpu: (\w+), memory: (\d+Mi)\}\n *limits: \{memory: (\d+[GM]i)\}", text
        )
        shown = re.sub(r"([GM]i)\b", r" \1B", f"{cpu}, {memory}; {limit}")
        assert next(cells[1] for key, cells in table.items() if key.startswith(part)) == shown


def webhooks() -> list[JSON]:
    files = sorted((ROOT / "manifests" / "base").glob("*-webhook.yaml"))
    documents = [each.document for file in files for each in load_documents(file.read_text(), file.name)[0]]
    return [webhook for document in documents for webhook in document["webhooks"]]


def asked_on(rules: Sequence[JSON]) -> str:
    return "; ".join(f"{', '.join(rule['operations'])} of {', '.join(rule['resources'])}" for rule in rules)


def test_the_table_of_webhook_entries_is_the_manifests() -> None:
    assert {name: cells[1:] for name, cells in OPERATING_ROWS.items() if name.endswith(".podberth.io")} == {
        webhook["name"]: [
            f"`{webhook['clientConfig']['service']['path']}`",
            asked_on(webhook["rules"]),
            webhook["failurePolicy"],
            f"{webhook['timeoutSeconds']} s",
        ]
        for webhook in webhooks()
    }


def test_conditions_and_excluded_namespaces_are_those_of_the_manifests() -> None:
    section = OPERATING.partition("\n## The webhook configurations\n")[2].partition("\n## ")[0]
    conditions = section.partition("\n| condition |")[2].partition("\n\n")[0]
    assert rows(conditions).keys() - {"---"} == {
        each["name"] for webhook in webhooks() for each in webhook["matchConditions"]
    }
    left_out = section.partition("\nNamespaces that are left out: ")[2].partition(". ")[0]
    # Policies of a namespace that is left out are judged before they are stored, and decide nothing.
    others = [each for each in webhooks() if not each["name"].startswith("policies.")]
    namespaced = [each for each in others if any(rule["scope"] == "Namespaced" for rule in each["rules"])]
    assert namespaced
    for webhook in namespaced:
        excluded, exempt = webhook["namespaceSelector"]["matchExpressions"]
        assert spans(left_out) == set(excluded["values"])
        assert f"`{exempt['key']}`" in section


# ---- links ----------------------------------------------------------------------------------------------------------


CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
OTHERS = {"gpupolicies/status": ["patch"], "events": ["create", "patch"], CONFIGURATIONS[0]: ["get"]}


def test_it_may_do_what_it_watches_and_nothing_else() -> None:
    text = (ROOT / "manifests" / "base" / "rbac.yaml").read_text(encoding="utf-8")
    granted = set()
    for each in load_documents(text, "rbac.yaml")[0]:
        for rule in each.document.get("rules", ()):
            assert rule["verbs"] == OTHERS.get(rule["resources"][0], ["list", "watch"])
            names, groups = rule["resources"], rule["apiGroups"]
            granted |= {(name, each.document["kind"], group) for name in names for group in groups}
    statuses = {(f"{each}/status", "ClusterRole", "podberth.io") for each in ("gpupolicies", "namespacedgpupolicies")}
    expected = {*statuses, ("events", "ClusterRole", "events.k8s.io")}
    expected |= {(each, "ClusterRole", "admissionregistration.k8s.io") for each in CONFIGURATIONS}
    for resource in (NODES, TOPOLOGIES, HEARTBEATS, *OBJECTS, CONTROLLER, POLICIES, EXCEPTIONS, NAMESPACED_POLICIES):
        group = resource.path.split("/")[2] if resource.path.startswith("/apis/") else ""
        role = "Role" if "/namespaces/" in resource.path else "ClusterRole"
        expected.add((resource.path.rpartition("/")[2], role, group))
    expected |= {(kind.plural, "ClusterRole", kind.group) for kind in FOLLOWED}
    assert granted == expected


PAGES = (
    "docs/install.md",
    "docs/install-reference.md",
    "docs/native-differences.md",
    "docs/status.md",
    "docs/why.md",
    "README.md",
    "certs/README.md",
    "docs/policy.md",
    "docs/mutations.md",
    "docs/expressions.md",
    "docs/namespaced-policies.md",
    "docs/exceptions.md",
    "docs/cel.md",
    "docs/operating.md",
    "docs/never-lost.md",
    "docs/check.md",
    "docs/commands.md",
    "docs/topology.md",
    "docs/plan.md",
    "docs/agent.md",
    "docs/controller.md",
    "docs/controller-reference.md",
    "docs/adr/README.md",
    "docs/policies/README.md",
    "examples/README.md",
)


def anchors(text: str) -> set[str]:
    """Return the anchors of headings as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_relative_links_lead_somewhere(name: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", page(name)) if "://" not in link]
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_heading_is_in_the_pages_contents() -> None:
    for text in (POLICY, MUTATIONS, EXPRESSIONS, OPERATING):
        listed = re.findall(r"^- \[(.+)\]\(#", text, re.MULTILINE)
        assert listed == re.findall(r"^## (.+)$", text, re.MULTILINE)


def test_every_decision_is_in_the_index_under_its_title() -> None:
    index = page("docs/adr/README.md")
    listed = re.findall(r"^\| \[(\d+)\]\((.+)\) \| (.+) \|$", index, re.MULTILINE)
    written = []
    for path in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md")):
        number, _, title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(". ")
        written.append((number, path.name, title))
    assert listed == written
