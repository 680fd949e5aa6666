"""``podberth test`` over folders of policies and suites."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from podberth.cli.main import main

LIBRARY = [Path(__file__).parents[3] / name for name in ("policies", "optional-policies")]
POLICY = """
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: named}
spec:
  validations:
  - {expression: "EXPRESSION", message: a name is wanted}
  validationActions: [Deny]
"""
SUITE = """
cases:
- name: a GPU
  pod:
    metadata: {name: train}
    spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
  expect: {verdict: VERDICT}
"""


def folder(path: Path, expression: str = "object.metadata.name == 'train'", verdict: str = "unchanged") -> Path:
    (path / "named").mkdir(parents=True)
    (path / "named" / "policy.yaml").write_text(POLICY.replace("EXPRESSION", expression), encoding="utf-8")
    (path / "named" / "tests.yaml").write_text(SUITE.replace("VERDICT", verdict), encoding="utf-8")
    return path


@pytest.mark.parametrize("policies", LIBRARY, ids=lambda policies: str(policies.name))
def test_the_shipped_policies_pass(policies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(policies)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"ok   {suite}" for suite in sorted(policies.glob("*/tests.yaml"))
    ]


def test_the_cases_of_a_suite_with_a_wrong_value_are_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", str(folder(tmp_path, verdict="refused"))]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == f"FAIL {tmp_path}/named/tests.yaml: its cases cannot be read"


def test_a_suite_above_the_policies_is_of_all_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("shm-and-limits", "vendor-names"):
        assert main(["policies", "copy", name, str(tmp_path)]) == 0
    case = """
- name: a container with eight GPUs of a wrong name
  pod:
    metadata: {name: a}
    spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpus: 8}}}]}
  expect: {verdict: denied}
"""
    (tmp_path / "tests.yaml").write_text(f"topology: [{{shape: hgx-h100-8}}]\ncases:\n{case}", encoding="utf-8")
    capsys.readouterr()
    assert main(["test", str(tmp_path)]) == 0, "a policy that applies to no case of it has a suite of its own"
    assert f"ok   {tmp_path}/tests.yaml: 1 case\n" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "vendor-names")
    assert main(["test", str(tmp_path)]) == 1


def test_a_suite_without_policies_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder(tmp_path, verdict="mutated")
    (tmp_path / "named" / "policy.yaml").unlink()
    assert main(["test", str(tmp_path)]) == 1
    suite = tmp_path / "named" / "tests.yaml"
    assert capsys.readouterr().out.splitlines()[1].startswith(f"  {suite}: got no policy in this folder or below it, ")


def test_a_case_that_fails_is_a_finding_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder(tmp_path, verdict="denied"))]) == 1
    lines = capsys.readouterr().out.splitlines()
    suite = tmp_path / "named" / "tests.yaml"
    assert lines == [
        f"FAIL {suite}: 1 case",
        f"  {suite}:7:21 cases[0].expect.verdict: got unchanged, want denied",
    ]


def test_github_shows_each_finding_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path / "p", verdict="denied")
    folder(tmp_path / "q", "object.metadata.nam == 'train'")
    monkeypatch.chdir(tmp_path)
    assert main(["test", ".", "-o", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::error file=q/named/policy.yaml,line=7,col=")
    finding = "cases[0].expect.verdict: got unchanged, want denied"
    assert lines[1:] == [
        f"::error file=p/named/tests.yaml,line=7,col=21,title=a GPU::{finding}",
        "podberth test: 1 case in 2 suites, 2 findings",
    ]


def test_a_line_for_each_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder(tmp_path / "p", verdict="denied")
    folder(tmp_path / "q", "object.metadata.nam == 'train'")
    folder(tmp_path / "r")
    assert main(["test", str(tmp_path), "-o", "line"]) == 1
    broken, failed = capsys.readouterr().out.splitlines()
    assert re.match(rf"{tmp_path}/q/named/policy.yaml:7:\d+: error: spec.validations\[0\].expression: ", broken)
    place = f"{tmp_path}/p/named/tests.yaml:7:21"
    assert failed == f"{place}: error: a GPU: cases[0].expect.verdict: got unchanged, want denied"


def test_a_quiet_run_prints_only_suites_with_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "policies" / "p")
    assert main(["test", "-q"]) == 0
    assert tuple(capsys.readouterr()) == ("", "")
    folder(tmp_path / "policies" / "q", verdict="denied")
    assert main(["test", "-q"]) == 1
    assert capsys.readouterr().out.startswith("FAIL policies/q/named/tests.yaml: 1 case\n  policies/q")


def test_a_policy_that_does_not_compile_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder(tmp_path, "object.metadata.nam == 'train'"))]) == 1
    assert "undefined field 'nam' in ObjectMeta; did you mean name?" in capsys.readouterr().out


@pytest.mark.parametrize(("made", "code"), [(True, 1), (False, 2)])
def test_nothing_to_test_is_a_failure(tmp_path: Path, made: bool, code: int) -> None:
    directory = tmp_path / "policies"
    if made:
        directory.mkdir()
    assert main(["test", str(directory)]) == code


MUTATING = """
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: writes}
spec:
  matchConditions:
  - {name: asks, expression: gpu.count > 0}
  variables:
  - {name: team, expression: "request.userInfo.username == 'ann' ? 'vision' : 'none'"}
  mutations:
  - labels: {team: variables.team}
"""
GOLDEN_SUITE = """# what the team label comes to
cases:
- name: one GPU
  user: ann  # of the vision team
  pod: &pod
    metadata: {name: train}
    spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
  expect:
    verdict: unchanged   # not so
    patched: {metadata: {labels: {team: audio}}}
    golden: one.golden.yaml
- name: none
  pod:
    metadata: {name: web}
    spec: {containers: [{name: main}]}
  expect: {verdict: unchanged}
"""


def writing(path: Path, suite: str = GOLDEN_SUITE) -> Path:
    (path / "writes").mkdir(parents=True)
    (path / "writes" / "policy.yaml").write_text(MUTATING, encoding="utf-8")
    (path / "writes" / "tests.yaml").write_text(suite, encoding="utf-8")
    return path / "writes"


def test_update_writes_golden_files_and_what_was_expected_and_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = writing(tmp_path)
    assert main(["test", str(tmp_path)]) == 1
    assert "got no file one.golden.yaml beside this one; do podberth test --update" in capsys.readouterr().out
    assert main(["test", str(tmp_path), "--update"]) == 0
    out = capsys.readouterr().out
    assert "updated: cases[0].expect.verdict" in out
    assert "updated: one.golden.yaml" in out
    expected = GOLDEN_SUITE.replace("verdict: unchanged   # not so", "verdict: mutated   # not so")
    assert (made / "tests.yaml").read_text(encoding="utf-8") == expected.replace("audio", '"vision"')
    assert "team: vision" in (made / "one.golden.yaml").read_text(encoding="utf-8")
    assert main(["test", str(tmp_path), "--update"]) == 0
    assert "updated" not in capsys.readouterr().out


def test_a_golden_file_that_differs_is_shown_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = writing(tmp_path)
    main(["test", str(tmp_path), "--update"])
    golden = made / "one.golden.yaml"
    golden.write_text(golden.read_text(encoding="utf-8").replace("vision", "audio"), encoding="utf-8")
    capsys.readouterr()
    assert main(["test", str(tmp_path)]) == 1
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "-     team: audio" in lines
    assert "+     team: vision" in lines


def test_a_case_that_cannot_run_is_never_updated(tmp_path: Path) -> None:
    suite = GOLDEN_SUITE.replace("- name: one GPU\n", "- name: one GPU\n  topology: [{shape: brick}]\n")
    made = writing(tmp_path, suite)
    assert main(["test", str(tmp_path), "--update"]) == 1
    assert (made / "tests.yaml").read_text(encoding="utf-8") == suite
    assert not (made / "one.golden.yaml").exists()


def test_run_selects_cases_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writing(tmp_path)
    assert main(["test", str(tmp_path), "--run", "^none$"]) == 0
    assert "1 case\n" in capsys.readouterr().out
    assert main(["test", str(tmp_path), "--run", "nobody"]) == 1
    assert "--run: got 'nobody', which is in no case's name" in capsys.readouterr().out
    assert main(["test", str(tmp_path), "--run", "("]) == 2


def test_a_policy_that_no_case_matches_is_a_finding_at_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = GOLDEN_SUITE.partition("- name: none")[2]
    made = writing(tmp_path, f"cases:\n- name: none{cases}")
    assert main(["test", str(tmp_path)]) == 1
    place = f"{made / 'policy.yaml'}:4:18 metadata.name"
    assert f"{place}: writes applies to no case of the tests beside it; add one" in capsys.readouterr().out


def test_coverage_shows_what_no_case_has_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = folder(tmp_path, "object.metadata.name == 'train' || gpu.count > 5") / "named"
    assert main(["test", str(tmp_path), "--coverage"]) == 0
    out = capsys.readouterr().out
    assert f"{made / 'policy.yaml'}:7:19 spec.validations[0].expression: never false" in out
    assert out.endswith("coverage: 50.0%\n")
    assert main(["test", str(tmp_path), "--min-coverage", "50"]) == 0
    assert main(["test", str(tmp_path), "--min-coverage", "50.1"]) == 1
    assert "coverage: got 50.0%, want 50.1% at least" in capsys.readouterr().out
    assert main(["test", str(tmp_path), "--min-coverage", "101"]) == 2


@pytest.mark.parametrize(("condition", "only_gangs"), [("gpu.kind != 'none'", True), ("gpu.count > 0", False)])
def test_coverage_names_the_pods_that_can_make_a_condition_false(
    condition: str, only_gangs: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = folder(tmp_path) / "named" / "policy.yaml"
    conditions = f'spec:\n  matchConditions: [{{name: asks, expression: "{condition}"}}]\n'
    made.write_text(made.read_text(encoding="utf-8").replace("spec:\n", conditions, 1), encoding="utf-8")
    assert main(["test", str(tmp_path), "--coverage"]) == 0
    out = capsys.readouterr().out
    assert "spec.matchConditions[0].expression: never false" in out
    assert ("only one of a gang that asks for no GPUs" in out) == only_gangs


def test_cost_shows_the_bound_and_the_time_of_each_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder(tmp_path)), "--cost", "-o", "json"]) == 0
    (cost,) = json.loads(capsys.readouterr().out)["costs"]
    assert cost["policy"] == "named"
    assert 0 < cost["boundMicroseconds"] < 1000
    assert cost["measuredMicroseconds"] > 0
    assert cost["evaluations"] == 1


def test_json_and_junit_say_the_same_as_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder(tmp_path, verdict="denied")
    junit = tmp_path / "junit.xml"
    assert main(["test", str(tmp_path), "-o", "json", "-o", f"junit={junit}"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["version"] == 1
    assert printed["summary"] == {"suites": 1, "cases": 1, "failedCases": 1, "findings": 0, "passed": False}
    (case,) = printed["suites"][0]["cases"]
    assert (case["name"], case["line"], case["verdict"]) == ("a GPU", 3, "unchanged")
    assert case["findings"][0]["message"] == "got unchanged, want denied"
    root = ET.fromstring(junit.read_text(encoding="utf-8"))  # noqa: S314 - our own
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    (failure,) = root.iter("failure")
    assert failure.get("message") == "got unchanged, want denied"
    (tested,) = root.iter("testcase")
    assert 0 < float(tested.get("time", "0")) == float(root.get("time", "0"))


@pytest.mark.parametrize(
    "output", [["-o", "xml"], ["-o", "json="], ["-o", "json", "-o", "junit"], ["-o", "json=nowhere/at/all.json"]]
)
def test_an_output_that_cannot_be_written_is_a_usage_error(tmp_path: Path, output: list[str]) -> None:
    assert main(["test", str(folder(tmp_path)), *output]) == 2
