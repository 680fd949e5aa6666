"""docs/controller.md and controller-reference.md say what the code says: flags, metrics, reasons of Events, systems."""

import argparse
import re

from pages import ROOT, labels_of_metrics, page, rows, spans
from podberth.api.election import LEASE, Term
from podberth.cli import controller
from podberth.controller.plan.lineage import MOST_OWNERS
from podberth.kube.documents import load_documents
from podberth.telemetry.controller_metrics import ACTIONS, RESULTS, ControllerMetrics
from podberth.telemetry.metrics import EventMetrics
from podberth.telemetry.watch_metrics import WatchFacts
from podberth.topology.pod_groups import POD_GROUP_KINDS
from podberth.workload.owners import LOOKED_UP
from podberth.workload.stages import STAGES

PAGE = page("docs/controller.md") + page("docs/controller-reference.md")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_flag_has_a_row() -> None:
    parser = argparse.ArgumentParser()
    controller.configure(parser)
    flags = {
        f"{each.option_strings[0]} {each.metavar or ''}".strip() for each in parser._actions if each.dest != "help"
    }
    assert rows(section("Flags")).keys() - {"flag", "---"} == flags
    defaults = parser.parse_args([])
    assert rows(section("Flags"))["--missing-after SECONDS"][1] == f"`{defaults.missing_after:g}`"
    assert rows(section("Flags"))["--metrics-listen HOST:PORT"][1] == f"`:{defaults.metrics_listen.port}`"


def test_every_metric_has_a_row_with_its_labels() -> None:
    metrics = ControllerMetrics()
    watched = {"pods": WatchFacts(1, 0.0, {})}
    metrics.ask(leads=lambda: True, waiting=lambda: 1, watched=lambda: watched, kinds=lambda: {"a.b": "followed"})
    EventMetrics(metrics.registry)
    metrics.standing({"PodGroupMissing": 1})
    metrics.listed("pods", "start")
    metrics.restarted("pods", "ended")
    listed = {name: cells for name, cells in rows(section("Metrics")).items() if name.startswith("podberth_")}
    assert {name: spans(row[1]) for name, row in listed.items()} == labels_of_metrics(metrics.exposition().decode())
    assert {*ACTIONS, *RESULTS} <= spans(listed["podberth_controller_requests_total"][2])


def test_every_reason_of_an_event_has_a_row() -> None:
    sources = (ROOT / "webhook" / "podberth" / folder for folder in ("controller/plan", "controller"))
    text = "".join(file.read_text() for folder in sources for file in folder.glob("*.py"))
    assert rows(section("Events")).keys() - {"reason", "---"} == set(
        re.findall(r'"((?:PodGroup|ResourceClaimTemplate)[A-Z]\w+)"', text)
    )


def test_every_system_has_a_row_with_what_is_read_and_written() -> None:
    table = rows(section("What it makes"))
    assert table.keys() - {"system", "---"} == {each.name for each in POD_GROUP_KINDS}
    for system in POD_GROUP_KINDS:
        cells = table[system.name]
        assert (cells[1], cells[2]) == (system.named_by, f"`{system.api_groups[0]}`")
        assert cells[3] == f"`{'.'.join(system.minimum)}`" if system.minimum else cells[3].startswith("made by")


def test_it_may_get_the_owners_that_it_looks_up_and_the_page_names_those_that_have_stages() -> None:
    text = (ROOT / "manifests" / "components" / "controller" / "rbac.yaml").read_text(encoding="utf-8")
    rules = [
        rule
        for each in load_documents(text, "rbac.yaml")[0]
        if each.document["kind"] == "ClusterRole"
        for rule in each.document["rules"]
    ]
    may_get = {
        (group, name)
        for rule in rules
        if "get" in rule["verbs"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
    }
    assert may_get == {(each.group, each.plural) for each in LOOKED_UP.values()}
    assert all(kind in section("What it makes") for kind in STAGES)


def test_the_lease_and_its_times_are_named() -> None:
    term, text = Term(), section("One acts")
    assert f"`{LEASE}`" in text
    assert f"for {term.lease_seconds} s and renews it every {term.retry_seconds:g} s" in text
    assert f"After {term.renew_seconds:g} s without" in text
    assert f"killed is followed within {term.lease_seconds + term.retry_seconds:g} s" in text
    assert f"the first {MOST_OWNERS})" in PAGE
