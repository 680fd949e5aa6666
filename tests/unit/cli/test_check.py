"""The command line of check: exit codes, outputs, what is data and what is talk."""

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from builders import JSON
from checking import ROOT
from exceptions import exception
from podberth.checking.run import processes_for
from podberth.cli.formats import FORMATS
from podberth.cli.main import main
from snapshots import cluster, policy
from tenants import own_policy

POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    "spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}\n"
)
DENY = policy("few", "\n  validations:\n  - {expression: gpu.count > 9, message: too few}\n  validationActions: [Deny]")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a pod, policies, and a snapshot."""
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "a.yaml").write_text(POD, encoding="utf-8")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "few.yaml").write_text(DENY, encoding="utf-8")
    items = {"apiVersion": "v1", "kind": "List", "items": cluster(hgx_h100_8=1)}
    (tmp_path / "nodes.json").write_text(json.dumps(items), encoding="utf-8")
    return tmp_path


def run(place: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, JSON, str]:
    """Check with JSON on stdout; return exit code, report and talk."""
    code = main(["check", "-o", "json", *(each.replace("@", str(place)) for each in arguments)])
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


def test_exit_codes_say_what_came_of_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for code, verdict, arguments in [
        (0, "unchanged", ["@/pods"]),
        (0, "mutated", ["@/pods", "--topology", "@/nodes.json"]),
        (1, "mutated", ["@/pods", "--topology", "@/nodes.json", "--fail-on", "change"]),
        (1, "denied", ["@/pods", "--policies", "@/policies"]),
        (1, "denied", ["@/pods", "--policies", "@/policies", "--fail-on", "warn"]),
    ]:
        found, report, _ = run(place, *arguments, capsys=capsys)
        assert (found, [each["verdict"] for each in report["results"]]) == (code, [verdict]), arguments


def test_the_record_is_shown_to_who_asks_for_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", f"{place}/pods", "--simulate", "hgx-h100-8:2"]
    assert main(asked) == 0
    assert "podberth.io/applied" not in capsys.readouterr().out
    assert main([*asked, "--show-record"]) == 0
    assert "podberth.io/applied" in capsys.readouterr().out
    assert main([*asked, "-o", "yaml"]) == 0
    assert "podberth.io/applied" in capsys.readouterr().out, "the manifest is what admission makes"


def test_documents_that_do_not_change_are_counted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{place}/pods"]) == 0
    assert capsys.readouterr().out == "1 document in 1 file: 1 unchanged\n"


def test_changes_that_fail_a_check_are_counted_even_if_quiet(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", f"{place}/pods", "--simulate", "hgx-h100-8:2", "--quiet", "--fail-on", "change"]
    assert main(asked) == 1
    assert capsys.readouterr() == ("", "podberth: --fail-on change: 1 pod template would be changed\n")


def test_quiet_says_nothing_where_nothing_is_wrong(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", f"{place}/pods", "--simulate", "hgx-h100-8:2", "--quiet"]
    assert main(asked) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*asked, "--policies", f"{place}/policies", "-o", "line"]) == 1
    where = f"{place}/pods/a.yaml:4"
    line = f"{where}: denied: Pod/default/a: few: spec.containers[0].resources.limits[nvidia.com/gpu]: too few\n"
    assert capsys.readouterr() == (line, "")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_junit_has_the_time_of_each_document(place: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    # a clock of milliseconds: so many templates take one in any case
    template = "metadata: {}, spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}"
    tasks = ", ".join(f"{{name: t{number}, replicas: 1, template: {{{template}}}}}" for number in range(20))
    job = f"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: j}}\nspec: {{tasks: [{tasks}]}}\n"
    for name in ("b", "c"):
        (place / "pods" / f"{name}.yaml").write_text(job, encoding="utf-8")
    main(["check", f"{place}/pods/b.yaml", f"{place}/pods/c.yaml", "--jobs", jobs, "-o", "junit"])
    root = ET.fromstring(capsys.readouterr().out)  # noqa: S314 - our own
    assert [float(suite.get("time") or 0) > 0 for suite in root] == [True, True]


def test_simulated_machines_are_a_topology(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report, talk = run(place, "@/pods", "--simulate", "hgx-h100-8:2,l4-4", capsys=capsys)
    assert (code, report["results"][0]["verdict"]) == (0, "mutated")
    assert "no node is known" not in talk
    assert main(["check", f"{place}/pods", "--simulate", "hgx"]) == 2
    said = capsys.readouterr().err
    assert "--simulate: got 'hgx', want one of these" in said
    assert "  gb200-tray             4 NVIDIA GB200, NVLink across nodes\n" in said
    assert "  t4-shared              1 Tesla T4, 4 shares each\n" in said
    assert "  dgx-a100-8-mig-single  8 NVIDIA A100-SXM4-40GB, MIG strategy single\n" in said


def test_without_a_folder_the_policies_are_those_in_policies_or_the_shipped_ones(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    commands = (["check", "pods"], ["explain", "pods/a.yaml"], ["lint"], ["test"])
    alone = ", none that podberth ships; for both: --policies shipped --policies policies"
    for command in commands:
        main(command)
        said = "in policies" + (alone if command[0] in ("check", "explain") else "")
        assert capsys.readouterr().err.splitlines()[0].endswith(said), command
    (place / "policies" / "few.yaml").write_text("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n", encoding="utf-8")
    for command in commands[:3]:
        main(command)
        assert f"in {ROOT / 'policies'}\n" in capsys.readouterr().err, command


@pytest.mark.parametrize("command", [["check", "pods"], ["explain", "pods/a.yaml"], ["lint"]])
def test_a_file_of_policies_is_taken_as_a_directory_is(
    command: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    (place / "policies" / "broken.yaml").write_text("{", encoding="utf-8")
    flags = [] if command == ["lint"] else ["--policies"]
    assert main([*command, *flags, "policies/few.yaml"]) == 1
    assert "broken.yaml" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("command", [["check", "pods"], ["explain", "pods/a.yaml"]])
def test_own_policies_decide_beside_the_shipped_ones_if_both_are_named(
    command: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    (place / "policies" / "few.yaml").write_text(DENY.replace("[Deny]", "[Warn]"), encoding="utf-8")
    named: dict[str, set[str]] = {}
    for words in ("policies", "shipped", "shipped policies"):
        flags = [flag for word in words.split() for flag in ("--policies", word)]
        main([*command, "--topology", "nodes.json", "-o", "json", *flags])
        out, err = capsys.readouterr()
        assert "none that podberth ships" not in err
        named[words] = {each for each in ("few", "gpu-tolerations") if f'"{each}"' in out}
    assert named == {
        "policies": {"few"},
        "shipped": {"gpu-tolerations"},
        "shipped policies": {"few", "gpu-tolerations"},
    }


def test_what_admission_alone_writes_is_no_change_of_a_document(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gang = str(ROOT / "tests" / "manifests" / "leader-worker-set.yaml")
    assert run(place, gang, "--fail-on", "change", capsys=capsys)[0] == 0


def test_a_warning_fails_when_it_is_said_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow = "apiVersion: x/v1\nkind: Flow\nspec: {limits: {nvidia.com/gpu: 1}}\n"
    (place / "pods" / "b.yaml").write_text(flow, encoding="utf-8")
    assert run(place, "@/pods", capsys=capsys)[0] == 0
    assert run(place, "@/pods", "--fail-on", "warn", capsys=capsys)[0] == 1


def test_what_cannot_be_read_is_2_and_the_rest_is_reported(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "pods" / "b.yaml").write_text("a: [", encoding="utf-8")
    code, report, _ = run(place, "@/pods", "@/nowhere.yaml", capsys=capsys)
    assert code == 2
    assert [each["verdict"] for each in report["results"]] == ["unchanged", "error", "error"]


def test_a_broken_policy_is_2_and_the_others_decide(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = policy("broken", "\n  mutations:\n  - labels: {a: nonsense}")
    (place / "policies" / "broken.yaml").write_text(broken, encoding="utf-8")
    code, report, talk = run(place, "@/pods", "--policies", "@/policies", capsys=capsys)
    assert (code, report["summary"]["denied"]) == (2, 1)
    assert "broken.yaml:7:" in talk


@pytest.mark.parametrize("name", ["empty", "pods"])
def test_a_directory_without_policies_or_manifests_is_no_success(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "empty").mkdir()
    arguments = ["@/empty"] if name == "empty" else ["@/pods", "--policies", "@/empty"]
    code, _, talk = run(place, *arguments, capsys=capsys)
    assert (code, "got no" in talk, "checked with 0" in talk) == (2, True, False)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-o", "json", "-o", "text", "@/pods"],
        ["-o", "pdf", "@/pods"],
        ["-o", "json=", "@/pods"],
        ["--template-path", "Flow", "@/pods"],
        ["--jobs", "0", "@/pods"],
        ["--fail-on", "nothing", "@/pods"],
        ["-o", "json=@/no/such/folder", "@/pods"],
        ["--topology", "@/nowhere", "@/pods"],
        ["--topology", "@/pods", "@/pods"],
    ],
)
def test_mistakes_are_2(arguments: list[str], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *(each.replace("@", str(place)) for each in arguments)]) == 2
    assert capsys.readouterr().err


def test_every_format_is_written_to_its_file_in_one_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [part for each in FORMATS for part in ("-o", f"{each.name}={place / each.name}.out")]
    assert main(["check", *outputs, "--topology", str(place / "nodes.json"), str(place / "pods")]) == 0
    assert capsys.readouterr().out == ""
    written = {each.name: (place / f"{each.name}.out").read_text(encoding="utf-8") for each in FORMATS}
    assert all("gpu-tolerations" in text for name, text in written.items() if name != "gitlab")
    assert json.loads(written["gitlab"]) == []  # what changes is no defect
    assert json.loads(written["json"])["version"] == 1


def test_stdout_is_data_and_the_talk_says_which_policies_decide(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, talk = run(place, "@/pods", capsys=capsys)
    assert "policies that podberth ships" in talk
    assert "no node is known" in talk


def test_the_place_of_templates_of_a_kind_that_is_never_met_is_reported(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        "--template-path Flow: no document is of this kind"
        in run(place, "--template-path", "Flow=spec.template", "@/pods", capsys=capsys)[2]
    )
    assert "no document" not in run(place, "--template-path", "Pod=spec.x", "@/pods", capsys=capsys)[2]


def test_standard_input_is_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(POD.encode())))
    assert main(["check", "-o", "json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["file"] == "-"


def test_several_processes_say_the_same_as_one(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT / "webhook"), "PATH": os.environ["PATH"]}
    names = ("json", "text", "yaml")
    codes, texts = [], []
    for jobs in ("1", "3"):
        outputs = [part for name in names for part in ("-o", f"{name}={tmp_path / name}")]
        arguments = ["check", *outputs, "examples", "tests/manifests", "--jobs", jobs]
        command = [sys.executable, "-m", "podberth", *arguments]
        codes.append(subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode)
        texts.append({name: (tmp_path / name).read_text(encoding="utf-8") for name in names})
    assert all(texts[0].values())
    assert (codes[0], texts[0]) == (codes[1], texts[1])


def test_many_files_are_checked_by_several_processes() -> None:
    processors = len(os.sched_getaffinity(0))
    assert [processes_for(files) for files in (0, 1, 999)] == [1, 1, 1]
    assert [processes_for(files) for files in (1_000, 100_000)] == [min(processors, 2), min(processors, 8)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_whole_repository_is_checked_and_a_chart_reported_once(
    jobs: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {
        "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "chart/values.yaml": "gpus: 1\n",
        "chart/templates/a.yaml": "kind: {{ .Values.kind }}\n{{- end }}\n",
        "chart/templates/b.yaml": "apiVersion: v1\nkind: Pod\nspec: {}\n",
        "over/kustomization.yaml": "resources: [../a.yaml]\npatches: [{path: p.yaml}]\n",
        "over/p.yaml": "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}\n",
        "stack.yaml": "Name: !Ref Name\n",
    }.items():
        file = place / "pods" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    code, report, _ = run(place, "@/pods", "--jobs", jobs, capsys=capsys)
    assert code == 0
    assert report["summary"]["skippedKinds"] == {"": 4, "Helm chart": 1, "kustomize patch": 1}
    [chart] = [each for each in report["results"] if each["kind"] == "Helm chart"]
    assert chart["file"] == str(place / "pods" / "chart" / "Chart.yaml")
    assert chart["warnings"][0]["message"].startswith("its 2 templates are not checked; check its output: helm")
    assert run(place, "@/pods/chart/templates/a.yaml", capsys=capsys)[0] == 2
    code, report, talk = run(place, "@/pods/chart", capsys=capsys)
    assert (code, report["summary"]["skipped"]) == (2, 3)  # nothing checked is no success
    assert "nothing was checked" in talk
    main(["check", str(place / "pods"), "-o", "yaml", "--jobs", jobs])
    written = capsys.readouterr().out
    assert POD in written
    assert not any(each in written for each in ("gpus: 1", "!Ref", "replicas: 2"))


@pytest.mark.parametrize("hours", [1, -1, 24 * 400])
def test_check_and_explain_answer_alike_about_an_exception(
    hours: int, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    (place / "policies" / "exceptions.yaml").write_text(exception("pinned", "few", "many", until=end), encoding="utf-8")
    in_force = hours == 1
    code, report, talk = run(place, "@/pods", "--policies", "@/policies", capsys=capsys)
    [result] = report["results"]
    assert (code, result["verdict"]) == ((0, "unchanged") if in_force else (1, "denied"))
    notes = [each["message"] for each in result["notes"]]
    assert notes == [f"not evaluated: exception pinned until {end}, for team-vision: the driver is pinned"] * in_force
    assert "got 'many', and there is no policy of this name" in talk
    assert ("has expired" in talk, "got more than 366 days" in talk) == (hours == -1, hours == 24 * 400)
    assert main(["explain", "--policies", f"{place}/policies", f"{place}/pods/a.yaml"]) == (0 if in_force else 1)
    assert ("exception pinned until" in capsys.readouterr().out) is in_force


def test_check_explain_and_test_answer_alike_about_a_policy_of_a_namespace(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "policies" / "own.yaml").write_text(own_policy("default", "none", "gpu.count < 1"), encoding="utf-8")
    code, report, _ = run(place, "@/pods", "--policies", "@/policies", capsys=capsys)
    [result] = report["results"]
    assert (code, result["verdict"]) == (1, "denied")
    assert "default/none" in [each["policy"] for each in result["denials"]]
    assert main(["explain", "--policies", f"{place}/policies", "--policy", "default/none", f"{place}/pods/a.yaml"]) == 1
    assert "gpu.count < 1" in capsys.readouterr().out


def test_a_rollout_that_leaves_out_a_manifest_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["@/pods", "--policies", "@/policies"]
    assert "rollout: " not in run(place, *given, capsys=capsys)[2]
    (place / "policies" / "few.yaml").write_text(f"{DENY}  rollout: {{percent: 0}}\n", encoding="utf-8")
    line = "podberth: rollout: not asked about all workloads here: few; to ask about all: --as rolled-out"
    assert line in run(place, *given, capsys=capsys)[2].splitlines()
    assert "rollout: " not in run(place, *given, "--quiet", capsys=capsys)[2]
    code, _, talk = run(place, *given, "--as", "rolled-out", capsys=capsys)
    assert (code, "not asked about" in talk) == (1, False)
