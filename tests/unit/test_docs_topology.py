"""docs/topology.md and docs/commands.md say what the code says: flags, formats, fields of JSON, what is printed."""

import argparse
import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from pages import page, rows, spans
from podberth.cli import topology
from podberth.cli.main import main
from podberth.cli.topology_json import cluster_json, difference_json, node_json
from podberth.facts.bound_gangs import bound_gangs
from podberth.facts.cluster import collect
from podberth.topology.cluster_difference import KindDifference, difference
from podberth.topology.holdings import Holdings
from podberth.topology.node_picture import picture_of
from podberth.topology.overview import overview
from topology_scenes import cluster, holders

TOPOLOGY, COMMANDS = page("docs/topology.md"), page("docs/commands.md")
FACTS = collect(cluster(), now=None)
NODES = FACTS.nodes
HELD = Holdings.of(NODES, holders())


def section(name: str) -> str:
    """Return what docs/commands.md says about an action of `podberth topology`."""
    whole = COMMANDS.partition("\n## podberth topology\n")[2].partition("\n## ")[0]
    return whole.partition(f"\n### topology {name}\n")[2].partition("\n### ")[0]


def actions() -> dict[str, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser()
    topology.configure(parser)
    [choices] = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(choices)


@pytest.mark.parametrize("name", ["show", "export", "diff"])
def test_every_flag_has_a_row_and_no_row_is_about_another(name: str) -> None:
    table = section(name).partition("\n| flag | meaning |\n")[2].partition("\n\n")[0]
    documented = {key.split()[0] for key in rows(table) if not key.startswith("---")}
    known = [action for action in actions()[name]._actions if not isinstance(action, argparse._HelpAction)]
    assert documented == {
        action.option_strings[0] if action.option_strings else str(action.metavar) for action in known
    }


def test_every_action_has_a_section() -> None:
    assert set(actions()) < set(re.findall(r"^## (.+)$", TOPOLOGY, re.MULTILINE))
    assert re.findall(r"^- \[(.+)\]\(#", TOPOLOGY, re.MULTILINE) == re.findall(r"^## (.+)$", TOPOLOGY, re.MULTILINE)


@pytest.mark.parametrize(("name", "formats"), [("show", topology.SHOW_FORMATS), ("diff", topology.DIFF_FORMATS)])
def test_every_format_is_named(name: str, formats: tuple[str, ...]) -> None:
    assert set(formats) == spans(rows(section(name))["-o FORMAT"][1])


def keys(value: Any) -> Iterator[str]:
    """Yield the names of fields; those of maps by name (labels, offers, zones) are not fields."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key
        if key not in {"labels", "offers", "where", "transient", "room"} or isinstance(inner, list):
            yield from keys(inner)
    for inner in value if isinstance(value, list | tuple) else ():
        yield from keys(inner)


def test_every_field_of_json_is_named() -> None:
    documented = spans(COMMANDS.partition("\n## The JSON of topology\n")[2].partition("\n## ")[0])
    after = [node for node in NODES if node.name != "mig"]
    for answer in (
        *(node_json(picture_of(node, use=HELD.nodes[node.name])) for node in NODES),
        cluster_json(overview(NODES, holdings=HELD, gangs=bound_gangs(holders(), FACTS))),
        difference_json(difference(NODES, after)),
        difference_json(difference(after, NODES)),
        difference_json(
            difference(NODES, collect([each for each in cluster() if each["kind"] == "Node"], now=None).nodes)
        ),
    ):
        assert set(keys(answer)) <= documented
        assert answer["schema"] in documented
    assert set(get_args(KindDifference.__annotations__["event"])) <= documented


def test_the_node_that_is_shown_looks_so(capsys: pytest.CaptureFixture[str]) -> None:
    [(command, shown)] = re.findall(
        r"^\$ podberth (topology show \S+ --simulate \S+)\n(.*?)^```", TOPOLOGY, re.MULTILINE | re.DOTALL
    )
    assert main(command.split()) == 0
    lines = capsys.readouterr().out.splitlines(keepends=True)
    *begin, rest = shown.splitlines(keepends=True)
    assert lines[: len(begin)] == begin
    assert len(lines) > len(begin)
    assert rest == "…\n", "the mark of what is cut"


def test_the_difference_that_is_shown_looks_so(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    [shown] = re.findall(
        r"^\$ podberth topology diff yesterday.json today.json\n(.*?)^```", TOPOLOGY, re.MULTILINE | re.DOTALL
    )
    files = []
    for number, allocatable in enumerate(("8", "7")):
        documents = cluster()
        for each in documents:
            if each["kind"] == "Node" and each["metadata"]["name"] in {"h100-1", "h100-2", "h100-4"}:
                each["status"]["allocatable"]["nvidia.com/gpu"] = allocatable
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    assert main(["topology", "diff", *map(str, files)]) == 1
    assert capsys.readouterr().out == shown
