"""``podberth topology export`` and ``diff``, and snapshots from standard input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from podberth.facts.cluster import collect
from podberth.files.loading import read_objects
from podberth.wellknown import NAMESPACE
from topology_scenes import as_list, cluster, hostile, run

ROOT = Path(__file__).parents[3]
NODES = collect([*cluster(), *hostile()], now=None).nodes
Captured = pytest.CaptureFixture[str]


def test_an_export_is_read_as_a_snapshot(snapshot: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out.yaml"
    run("export", "--from", snapshot, "-o", out)
    assert capsys.readouterr().out == ""
    assert read_objects(out).nodes == read_objects(snapshot).nodes
    run("export", "--from", out)
    assert capsys.readouterr().out == out.read_text()
    run("diff", snapshot, out)
    assert capsys.readouterr().out == "nothing changed\n"


def test_an_export_is_made_of_several_files(tmp_path: Path, capsys: Captured) -> None:
    nodes, others = tmp_path / "nodes.json", tmp_path / "others.json"
    nodes.write_text(json.dumps(as_list([each for each in cluster() if each["kind"] == "Node"])))
    others.write_text(json.dumps(as_list([each for each in cluster() if each["kind"] != "Node"])))
    run("export", "--from", nodes, others)
    assert len(json.loads(capsys.readouterr().out)["items"]) == len(cluster())


def test_a_file_that_is_no_snapshot_is_an_error_and_writes_nothing(
    snapshot: Path, tmp_path: Path, capsys: Captured
) -> None:
    other, out = tmp_path / "values.yaml", tmp_path / "out.json"
    other.write_text("replicas: 3\nimage: train\n")
    for command in (
        ["export", "--from", other, "-o", out],
        ["show", "--topology", other],
        ["diff", snapshot, other],
        ["diff", other, snapshot],
    ):
        run(*command, code=2)
        assert f"{other}: got no Node, want what kubectl get nodes,configmaps" in capsys.readouterr().err
    assert not out.exists()


def test_an_anonymous_export_names_nobody(snapshot: Path, capsys: Captured) -> None:
    run("export", "--from", snapshot, "--anonymize")
    text = capsys.readouterr().out
    assert not [node.name for node in NODES if f'"{node.name}"' in text]
    assert '"node-01"' in text


def test_params_are_those_of_the_policies_that_are_named(tmp_path: Path, capsys: Captured) -> None:
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "data": {"a": name},
        }
        for name in ("podberth-multi-gpu-nvlink", "mine", "nobodys")
    ]
    file, policies = tmp_path / "maps.json", tmp_path / "policies"
    file.write_text(json.dumps(as_list([*maps, cluster()[0]])))
    policies.mkdir()
    reference = f"{{name: mine, namespace: {NAMESPACE}, parameterNotFoundAction: Allow}}"
    (policies / "policy.yaml").write_text(
        "apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {name: p}\nspec:\n"
        f"  description: x\n  paramKind: {{apiVersion: v1, kind: ConfigMap}}\n  paramRef: {reference}\n"
        "  validationActions: [Warn]\n  validations:\n  - {expression: 'true', message: m}\n"
    )
    kept = {}
    for name, flags in {"shipped": [], "mine": ["--policies", policies]}.items():
        run("export", "--from", file, *flags)
        exported = json.loads(capsys.readouterr().out)["items"]
        kept[name] = [each["metadata"]["name"] for each in exported if each["kind"] == "ConfigMap"]
    assert kept == {"shipped": ["podberth-multi-gpu-nvlink"], "mine": ["mine"]}


def test_a_difference_is_a_finding(snapshot: Path, tmp_path: Path, capsys: Captured) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(as_list([each for each in cluster() if each["metadata"]["name"] != "h100-0"])))
    run("diff", snapshot, other, "-o", "json", code=1)
    found = json.loads(capsys.readouterr().out)
    assert not found["same"]
    assert [each["node"] for each in found["removed"]] == ["evil<b>&", "h100-0"]
    assert {event["event"] for event in found["byKind"]} == {"removed"}
    run("diff", snapshot, snapshot, "-o", "json")
    assert json.loads(capsys.readouterr().out)["same"]


def test_a_snapshot_comes_from_standard_input_and_a_reader_may_stop(snapshot: Path) -> None:
    command = [sys.executable, "-m", "podberth", "topology", "show", "--topology", "-"]
    environment = {"PYTHONPATH": str(ROOT / "webhook")}
    done = subprocess.run(command, input=snapshot.read_bytes(), env=environment, capture_output=True, check=True)
    assert done.stdout.startswith(b"12 nodes, 11 with a topology document")
    with subprocess.Popen(
        [*command[:-1], str(snapshot), "-o", "svg"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
