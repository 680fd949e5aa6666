import io
import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from bench import clusters

from builders import JSON, gpu_pod, pod
from e2e.dra import GPU_DRIVER, resource_slice
from node_builders import node_manifest
from podberth.cli.terminal import Terminal
from podberth.cli.topology_svg import cluster_svg
from podberth.cli.topology_text import show_cluster, show_difference, show_node
from podberth.cli.topology_use import source_of_use
from podberth.facts.bound_gangs import bound_gangs
from podberth.facts.cluster import collect
from podberth.topology.cluster_difference import difference
from podberth.topology.holdings import Holdings
from podberth.topology.node import Node
from podberth.topology.node_picture import picture_of
from podberth.topology.overview import overview
from podberth.topology.shapes import SHAPES, simulate
from podberth.wellknown import NAMESPACE
from topology_scenes import HOSTILE, LOST, ZONE, as_list, cluster, holders, hostile, run

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[3]
FACTS = collect([*cluster(), *hostile()], now=None)
NODES = FACTS.nodes
NAMED = {node.name: node for node in NODES}
HELD = Holdings.of(NODES, holders())
GANGS = bound_gangs(holders(), FACTS)
Captured = pytest.CaptureFixture[str]


# ---- text -----------------------------------------------------------------------------------------------------------


def drawn(what: str, width: int, *, colour: bool = False, encoding: str = "utf-8") -> str:
    """Return what a terminal of that width would be sent for a node, the cluster, or a difference.

    With ``held-`` before the node or the cluster, what its pods hold is known.
    """
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace")
    terminal = Terminal(stream, colour=colour, width=width)
    name = what.removeprefix("held-")
    held = HELD if name != what else None
    note = "" if held is None else source_of_use(held, "as of 2026-01-01 00:00 UTC, 3 min ago")
    if name == "cluster":
        gangs = () if held is None else GANGS
        show_cluster(replace(overview(NODES, holdings=held, gangs=gangs), note=note), terminal)
    elif what == "difference":
        show_difference(difference(NODES, changed()), terminal)
    else:
        show_node(replace(picture_of(NAMED[name], use=None if held is None else held.nodes[name]), note=note), terminal)
    stream.flush()
    return buffer.getvalue().decode(encoding)


def changed() -> list[Any]:
    """Return the nodes after an hour: two are gone, one came, three lost a GPU, one is cut otherwise."""
    documents = [each for each in [*cluster(), *hostile()] if each["metadata"]["name"] not in {"h100-0", "large"}]
    for each in documents:
        if each["metadata"]["name"] in {"h100-1", "h100-2", "h100-4"} and each["kind"] == "Node":
            each["metadata"]["labels"]["team"] = HOSTILE
            each["status"]["allocatable"]["nvidia.com/gpu"] = "7"
        if each["metadata"]["name"] == "mig" and each["kind"] == "ConfigMap":
            each["data"]["topology.json"] = each["data"]["topology.json"].replace('"start":4', '"start":5')
    return [*collect([*documents, *simulate("l4-1", "new")], now=None).nodes]


@pytest.mark.parametrize(
    ("what", "width", "colour"),
    [
        ("cluster", 80, False),
        ("cluster", 160, False),
        ("h100-5", 80, True),
        ("mig", 80, False),
        ("mig", 160, False),
        ("large", 80, False),
        ("bare", 80, False),
        ("held-cluster", 80, False),
        ("held-cluster", 100, False),
        ("held-h100-5", 80, False),
        ("held-large", 100, False),
        ("difference", 80, False),
        ("difference", 160, True),
    ],
)
def test_text_is_as_it_was(what: str, width: int, *, colour: bool) -> None:
    name = f"topology-{what}-{width}{'-colour' if colour else ''}.txt"
    assert drawn(what, width, colour=colour) == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["cluster", "difference", *NAMED, "held-cluster", *(f"held-{name}" for name in NAMED)])
@pytest.mark.parametrize("width", [80, 160])
def test_no_line_is_wider_than_the_terminal_and_none_commands_it(what: str, width: int) -> None:
    lines = drawn(what, width).splitlines()
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if "\x1b" in line or "\u202e" in line or "##[" in line]
    assert not [line for line in lines if line.lstrip().startswith("::")]


def test_where_the_encoding_has_no_lines_bars_are_drawn_in_ascii() -> None:
    shown = drawn("mig", 80, encoding="ascii")
    assert "|2g.10gb" in shown
    assert "\\u" not in shown


def test_a_pipe_gets_plain_text(snapshot: Path, capsys: Captured) -> None:
    run("show", "h100-5", "--topology", snapshot)
    shown = capsys.readouterr().out
    assert shown.startswith("h100-5: unhealthy GPU\n")
    assert LOST in shown
    assert "\x1b" not in shown


# ---- show -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", *NAMED])
def test_svg_is_well_formed_and_holds_what_documents_say_as_text(name: str, snapshot: Path, capsys: Captured) -> None:
    run("show", *filter(None, [name]), "--topology", snapshot, "-o", "svg")
    text = capsys.readouterr().out
    root = ET.fromstring(text)  # noqa: S314 - our own output
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        "svg",
        "title",
        "desc",
        "style",
        "rect",
        "text",
    }
    assert {attribute.rpartition("}")[2] for element in root.iter() for attribute in element.attrib} <= {
        *("class", "role", "aria-labelledby", "aria-describedby", "viewBox", "width", "height", "id"),
        *("x", "y", "rx", "font-size", "text-anchor"),
    }
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def level_bars(domains: int, name: str) -> list[str]:
    """Return the texts of the bar of a level with so many domains of one node, of which pods hold nothing."""
    clique = "nvidia.com/gpu.clique"
    known = [
        Node(name=f"n{at}", labels={clique: f"{name}{at}"}, allocatable={"amd.com/gpu": 8}) for at in range(domains)
    ]
    texts = re.findall("<text [^>]*>([^<]*)</text>", cluster_svg(overview(known, holdings=Holdings.of(known, ()))))
    return texts[texts.index(f"{clique}: {domains} domains") + 1 :]


def test_a_bar_has_the_end_of_a_long_domain_and_its_free_devices() -> None:
    assert level_bars(4, "a" * 40) == [f"{'a' * 16}…aa{at} (1), 8 free" for at in range(4)]


def test_the_picture_keeps_resource_and_number_of_a_long_name(capsys: Captured) -> None:
    run("show", "--simulate", "dgx-a100-8-mig-single:2,dgx-a100-8-mig-mixed:2", "-o", "svg")
    texts = re.findall("<text [^>]*>([^<]*)</text>", capsys.readouterr().out)
    ends = [each.rpartition(" as ")[2] for each in texts if " as " in each]
    assert ends == ["gpu: 112", "mig-1g.5gb: 24"]


def test_domains_that_are_too_narrow_to_be_seen_are_one() -> None:
    assert level_bars(200, "a") == ["200 domains (200)"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", ["text", "json", "svg", "html"])
def test_every_shape_can_be_shown(shape: str, form: str, capsys: Captured) -> None:
    for node in ([], [f"{shape}-0"]):
        run("show", *node, "--simulate", shape, "-o", form)
        assert SHAPES[shape].model.product.replace("NVIDIA ", "").split("-")[0].split()[0] in capsys.readouterr().out


def test_json_of_a_node(snapshot: Path, capsys: Captured) -> None:
    run("show", "mig", "--topology", snapshot, "-o", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "podberth.io/topology-report/v1"
    assert (found["node"], found["transient"], found["document"]) == ("mig", "", True)
    assert found["numa"] == [{"node": 0, "gpus": [0, 1, 2, 3]}, {"node": 1, "gpus": [4, 5, 6, 7]}]
    assert found["links"]["shape"] == "full-mesh"
    assert found["gpus"][3]["slices"] == [
        {"start": 0, "size": 2, "profile": "2g.10gb"},
        {"start": 2, "size": 2, "profile": ""},
        {"start": 4, "size": 4, "profile": "3g.20gb"},
    ]
    assert found["gpus"][3]["room"] == {"1g.5gb": 2, "1g.5gb+me": 1, "1g.10gb": 1, "2g.10gb": 1}
    assert found["taints"] == [{"key": "nvidia.com/gpu", "value": "", "effect": "NoSchedule"}]


def test_json_of_a_cluster(snapshot: Path, capsys: Captured) -> None:
    run("show", "--topology", snapshot, "-o", "json")
    found = json.loads(capsys.readouterr().out)
    assert (found["nodes"], found["documents"]) == (12, 11)
    first = found["kinds"][0]
    assert (first["machine"], first["links"]) == ("8 x NVIDIA-H100-80GB-HBM3", "full-mesh of 8")
    assert first["transient"]["cordoned"] == ["h100-3"]
    assert {"node": "h100-5", "gpu": 2, "problem": LOST} in found["problems"]
    assert found["transient"]["h100-6"] == "MIG reconfiguring"
    domain = {"domain": "::error::" + "wide" * 15, "nodes": 1, "devices": 1, "use": None}
    assert found["levels"][-1]["domains"][0] == domain


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Return a snapshot with Pods, in a list of its own."""
    file = tmp_path / "held.yaml"
    lists = as_list([*cluster(), *hostile()]), as_list(holders())
    file.write_text("".join(f"---\n{json.dumps(each)}\n" for each in lists))
    return file


def test_json_of_a_cluster_has_what_is_used_and_free(held: Path, capsys: Captured) -> None:
    run("show", "--topology", held, "-o", "json")
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert captured.err == ""
    assert found["kinds"][0]["use"] == [
        {"resource": "nvidia.com/gpu", "used": 20, "free": 33, "freeUnhealthy": 10, "mostFree": 8}
    ]
    leaves = {each["domain"]: each for each in found["levels"][-1]["domains"]}
    assert leaves["leaf-0"] == {
        "domain": "leaf-0",
        "nodes": 4,
        "devices": 32,
        "use": {"used": 13, "free": 17, "freeUnhealthy": 2, "mostFree": 8},
    }


def test_json_of_a_cluster_has_models_and_gangs(held: Path, capsys: Captured) -> None:
    run("show", "--topology", held, "-o", "json")
    found = json.loads(capsys.readouterr().out)
    first = found["models"][0]
    assert (first["model"], first["nodes"], first["devices"]) == ("NVIDIA-H100-80GB-HBM3", 9, 80)
    use = {"used": 26, "free": 35, "freeUnhealthy": 10, "mostFree": 8, "outOfUse": 11}
    assert first["units"] == [{"unit": "whole", "resource": "nvidia.com/gpu", "amount": 72, "use": use}]
    assert found["gangs"] == [
        {
            "namespace": "default",
            "name": "train",
            "source": "label",
            "size": 4,
            "nodes": [{"node": f"h100-{number}", "pods": 1} for number in (0, 3, 5)],
            "devices": 21,
            "within": {"level": "topology.kubernetes.io/region", "domain": "us-east-1"},
            "over": {"level": ZONE, "domains": [{"domain": "zone-b", "pods": 2}, {"domain": "zone-a", "pods": 1}]},
        }
    ]


def test_json_of_a_node_has_who_holds_what(held: Path, capsys: Captured) -> None:
    run("show", "large", "--topology", held, "-o", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["use"] == [
        {
            "resource": "nvidia.com/gpu",
            "kind": "whole",
            "allocatable": 8,
            "used": 6,
            "free": 2,
            "holders": [{"namespace": "default", "pod": "sweep", "units": 6}],
        }
    ]
    assert found["freeLinked"] == {"resource": "nvidia.com/gpu", "least": 1, "most": 2}


@pytest.mark.parametrize("form", ["text", "html"])
def test_without_pods_a_line_says_how_to_get_them_and_nothing_is_said_to_be_free(
    form: str, snapshot: Path, capsys: Captured
) -> None:
    for name in ([], ["h100-0"]):
        run("show", *name, "--topology", snapshot, "-o", form)
        shown = " ".join(capsys.readouterr().out.split())
        assert shown.count("used and free") == 1
        assert "used and free are unknown, because the snapshot has no Pods; kubectl get nodes,configmaps,pods" in shown
        run("show", *(["l4-1-0"] if name else name), "--simulate", "l4-1", "-o", form)
        assert "used and free" not in capsys.readouterr().out


def test_without_pods_json_has_null_for_what_is_free(snapshot: Path, capsys: Captured) -> None:
    run("show", "--topology", snapshot, "-o", "json")
    assert {repr(each["use"]) for each in json.loads(capsys.readouterr().out)["kinds"]} == {"None"}
    run("show", "h100-0", "--topology", snapshot, "-o", "json")
    found = json.loads(capsys.readouterr().out)
    assert (found["use"], found["freeLinked"]) == (None, None)


def test_html_has_the_tables_of_the_text(held: Path, capsys: Captured) -> None:
    run("show", "--topology", held, "-o", "html")
    shown = capsys.readouterr().out
    assert ">used and free, by kind</h2>" in shown
    assert "<td>33 (+10)</td>" in shown
    assert "free on all: 33 nvidia.com/gpu" in shown
    run("show", "h100-5", "--topology", held, "-o", "html")
    shown = capsys.readouterr().out
    assert "<td>nvidia.com/gpu</td><td>8</td><td>default/train-2</td>" in shown
    assert "pods hold 8 nvidia.com/gpu, but 7 are allocatable: devices were lost" in shown


def test_a_page_has_the_cluster_s_name_and_the_time_of_its_snapshot(snapshot: Path, capsys: Captured) -> None:
    os.utime(snapshot, (1_767_225_600, 1_767_225_600))
    run("show", "--topology", snapshot, "-o", "html", "--cluster-name", "a<b")
    page = capsys.readouterr().out
    assert "<h1>GPU topology of a&lt;b</h1>\n<p>snapshot of 2026-01-01 00:00 UTC</p>" in page
    assert 'http-equiv="refresh"' not in page
    run("show", "--topology", snapshot.parent, "--at", "2026-02-01T01:00:00+01:00", "-o", "svg", "--cluster-name", "b")
    picture = capsys.readouterr().out
    assert ">GPU topology of b</text>" in picture
    assert ">snapshot of 2026-02-01 00:00 UTC; 12 nodes" in picture
    run("show", "--topology", snapshot, "--cluster-name", "c")
    assert capsys.readouterr().out.startswith("c: 12 nodes, ")
    run("show", "--topology", snapshot, "-o", "json")
    assert json.loads(capsys.readouterr().out)["snapshotAt"] == "2026-01-01T00:00:00+00:00"
    run("show", "--simulate", "l4-1", "-o", "html")
    assert "snapshot of" not in capsys.readouterr().out


def test_standard_input_is_of_now(snapshot: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(snapshot.read_bytes())))
    run("show", "--topology", "-", "-o", "html")
    found = re.search(r"snapshot of (.+) UTC", capsys.readouterr().out)
    assert found is not None
    assert before <= datetime.fromisoformat(found[1]).replace(tzinfo=UTC) <= datetime.now(UTC)


def test_a_page_may_be_loaded_again(snapshot: Path, capsys: Captured) -> None:
    run("show", "--topology", snapshot, "-o", "html", "--refresh", "30")
    assert '<meta http-equiv="refresh" content="30">' in capsys.readouterr().out
    run("show", "--topology", snapshot, "-o", "html", "--refresh", "0", code=2)
    assert "--refresh: got '0', want seconds from 1 to 86400" in capsys.readouterr().err


def test_a_page_of_many_nodes_has_each_node_once_in_its_domain_and_is_small(tmp_path: Path, capsys: Captured) -> None:
    """Nodes with equal devices and state share a row, so a page takes less than 200 bytes for each node."""
    clusters.write(tmp_path / "big.json", 2_000, 100)
    run("show", "--topology", tmp_path / "big.json", "-o", "html")
    page = capsys.readouterr().out
    assert len(page) < 200 * 2_000
    tree = page[page.index(">nodes by domain</h2>") : page.index(">kinds of nodes</h2>")]
    assert sorted(re.findall(r"node-\d{5}", tree)) == [f"node-{number:05d}" for number in range(2_000)]
    assert "80 more</summary>" in page


def test_a_pod_that_cannot_be_read_is_said(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "snapshot.json"
    broken = {**gpu_pod(1, name="odd", nodeName="h100-0"), "spec": {"nodeName": "h100-0", "containers": {}}}
    file.write_text(json.dumps(as_list([*cluster(), *holders(), broken])))
    run("show", "--topology", file, "-o", "json")
    assert "podberth: Pod default/odd: spec.containers: got object, want list" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        (holders(), "by the requests of 6 pods on nodes (2 namespaces), as of noon"),
        (holders()[:1], "1 pod on nodes (1 namespace), as of noon; if other namespaces have pods"),
        (
            [pod(name="claims", nodeName="bare", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])],
            "; 1 pod with ResourceClaims, whose devices are not counted without resourceslices,resourceclaims in the",
        ),
    ],
)
def test_a_line_says_by_which_pods_devices_are_used(pods: list[JSON], said: str) -> None:
    assert said in source_of_use(Holdings.of(NODES, pods), "as of noon")


def test_text_says_how_old_the_snapshot_is_and_a_page_only_its_time(held: Path, capsys: Captured) -> None:
    os.utime(held, (1_767_225_600, 1_767_225_600))
    run("show", "--topology", held)
    assert re.search(r"\(2 namespaces\), as of 2026-01-01 00:00 UTC, \d+ d ago$", capsys.readouterr().out, re.MULTILINE)
    run("show", "--topology", held, "-o", "html")
    assert "(2 namespaces), as of 2026-01-01 00:00 UTC</p>" in capsys.readouterr().out


def test_devices_of_claims_are_used_and_free_too(tmp_path: Path, capsys: Captured) -> None:
    """A driver publishes two GPUs, and a claim of a pod has one: shown for the node, for the cluster, and as JSON."""
    snapshot = tmp_path / "snapshot.json"
    holder = pod(name="train", nodeName="dra", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    result = {"request": "gpu", "driver": GPU_DRIVER, "pool": "dra", "device": "gpu-1"}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "one"},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "train"}],
        },
    }
    slices = resource_slice("dra", GPU_DRIVER, "pci0000:00", "pci0000:01")
    snapshot.write_text(json.dumps(as_list([node_manifest("dra"), holder, claim, slices])))
    run("show", "dra", "--topology", snapshot)
    said, problems = capsys.readouterr()
    assert problems == ""
    assert "free:     1 of 2 gpu.nvidia.com" in said
    assert re.search(r"^gpu.nvidia.com +1 +team/train$", said, re.MULTILINE)
    assert "not counted" not in said
    run("show", "dra", "--topology", snapshot, "-o", "json")
    [use] = json.loads(capsys.readouterr().out)["use"]
    assert (use["resource"], use["kind"], use["used"], use["free"]) == ("gpu.nvidia.com", "whole", 1, 1)
    run("show", "--topology", snapshot, "-o", "json")
    [kind] = json.loads(capsys.readouterr().out)["kinds"]
    assert [(each["resource"], each["used"], each["free"]) for each in kind["use"]] == [("gpu.nvidia.com", 1, 1)]
    run("show", "--topology", snapshot, "-o", "html")
    assert "gpu.nvidia.com" in capsys.readouterr().out


def test_several_shapes_are_simulated(capsys: Captured) -> None:
    run("show", "--simulate", "l4-1:2,hgx-h100-8,l4-1", "-o", "json")
    kinds = json.loads(capsys.readouterr().out)["kinds"]
    assert [(kind["machine"], kind["nodes"]) for kind in kinds] == [
        ("1 x NVIDIA-L4", ["l4-1-0", "l4-1-1", "l4-1-2"]),
        ("8 x NVIDIA-H100-80GB-HBM3", ["hgx-h100-8-0"]),
    ]


NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def lease(seconds: int) -> JSON:
    renewed = (NOW - timedelta(seconds=seconds)).isoformat()
    spec = {"renewTime": renewed, "leaseDurationSeconds": 60}
    metadata = {"name": "h100-0", "namespace": NAMESPACE}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("seconds", "at", "want"), [(30, True, ""), (90, True, "stale"), (90, False, "")])
def test_heartbeats_are_held_against_the_time_that_is_given(
    seconds: int, want: str, tmp_path: Path, capsys: Captured, *, at: bool
) -> None:
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(as_list([*cluster(), lease(seconds)])))
    run("show", "h100-0", "--topology", file, "-o", "json", *(["--at", NOW.isoformat()] if at else []))
    assert json.loads(capsys.readouterr().out)["transient"] == want


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show"], "one of the arguments --topology --simulate is required"),
        (["show", "--simulate", "l4"], "--simulate: got 'l4', want one of these; did you mean l4-4?"),
        (["show", "--simulate", "l4-1:x"], "want SHAPE or SHAPE:COUNT"),
        (["show", "--simulate", f"l4-1:{'9' * 5000}"], "want SHAPE or SHAPE:COUNT"),
        (["show", "--simulate", "l4-1:0"], "want SHAPE or SHAPE:COUNT"),
        (["show", "--simulate", "l4-1:9999,l4-4:2"], "want 10000 at most"),
        (["show", "l4-1-9", "--simulate", "l4-1"], "NODE: got 'l4-1-9', want l4-1-0, the only node"),
        (["show", "--topology", "/nowhere"], "/nowhere: cannot be read"),
        (["show", "--simulate", "l4-1", "--at", "noon"], "want a time with its zone"),
        (["show", "--simulate", "l4-1", "--at", "2026-01-31T12:00:00"], "want a time with its zone"),
        (["export"], "the following arguments are required: --from"),
        (["diff", "-", "-"], "got - twice"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], said: str, capsys: Captured) -> None:
    run(*arguments, code=2)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json", "svg", "html"])
def test_what_no_font_has_and_xml_forbids_is_shown_as_its_code(
    form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "snapshot.json", tmp_path / "other.json"
    node, *rest = cluster()
    file.write_text(json.dumps(as_list([node, *rest])))
    node["metadata"]["labels"] |= {ZONE: "\x00\ufffe", "team": "\ufffe\x07"}
    other.write_text(json.dumps(as_list([node, *rest])))
    for name in ([], ["h100-0"]):
        run("show", *name, "--topology", other, "-o", form)
        shown = capfd.readouterr().out
        assert "\x00" not in shown
        assert "\ufffe" not in shown
        assert "fffe" in shown or (form == "svg" and name)
    if form in {"text", "json"}:
        run("diff", file, other, "-o", form, code=1)
        assert "fffe" in capfd.readouterr().out
    run("export", "--from", other, "-o", tmp_path / "out.json")
    run("diff", other, tmp_path / "out.json")


def test_what_could_not_be_used_is_said_and_the_rest_is_shown(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "snapshot.json"
    broken = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "odd", "labels": {"a": 1}}}
    file.write_text(json.dumps(as_list([*cluster(), broken])))
    run("show", "--topology", file, "-o", "json")
    captured = capsys.readouterr()
    assert "podberth: Node odd: metadata.labels['a']: got 1, want a string" in captured.err
    assert json.loads(captured.out)["nodes"] == 11
