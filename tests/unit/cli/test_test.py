"""``podberth test`` over folders of policies and suites."""

from pathlib import Path

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


@pytest.mark.parametrize("engine", ["cpp", "python", "both"])
@pytest.mark.parametrize("policies", LIBRARY, ids=lambda policies: str(policies.name))
def test_the_shipped_policies_pass_on_every_engine(
    policies: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", str(policies), "--engine", engine]) == 0
    lines = capsys.readouterr().out.splitlines()
    suites = sorted(policies.glob("*/tests.yaml"))
    assert [line.split(": ")[0] for line in lines[: len(suites)]] == [f"ok   {suite}" for suite in suites]
    # Nothing of the shipped policies is left to an explanation.
    told = [line.partition(" ")[2] for line in lines[len(suites) :]]
    assert told == ([] if engine == "cpp" else ["evaluations agree on both engines, 0 differ as known"])


def test_a_case_that_fails_is_a_finding_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder(tmp_path, verdict="denied"))]) == 1
    lines = capsys.readouterr().out.splitlines()
    suite = tmp_path / "named" / "tests.yaml"
    assert lines == [
        f"FAIL {suite}: 1 cases",
        f"  {suite}:7:21 cases[0].expect.verdict: got unchanged, want denied",
    ]


def test_a_policy_that_does_not_compile_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder(tmp_path, "object.metadata.nam == 'train'"))]) == 1
    assert "undefined field 'nam' in ObjectMeta; did you mean name?" in capsys.readouterr().out


def test_a_known_difference_is_told_and_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "'%s'.format([object.metadata.name]) == 'train'"
    assert main(["test", str(folder(tmp_path, source)), "--engine", "both"]) == 0
    assert "1 libraries: cel-python has no library but CEL's standard one" in capsys.readouterr().out


def test_a_difference_between_the_engines_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "string(1.0) == '1'"  # cel-python says 1.0; no row of the table explains it
    assert main(["test", str(folder(tmp_path, source)), "--engine", "both"]) == 1
    assert "string(1.0) == '1': cel-cpp says true, cel-python says false" in capsys.readouterr().out


@pytest.mark.parametrize(("made", "code"), [(True, 1), (False, 2)])
def test_nothing_to_test_is_a_failure(tmp_path: Path, made: bool, code: int) -> None:
    directory = tmp_path / "policies"
    if made:
        directory.mkdir()
    assert main(["test", str(directory)]) == code


def test_without_cel_python_the_first_engine_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "podberth.cel.compare", None)
    assert main(["test", str(folder(tmp_path))]) == 0
    assert main(["test", str(tmp_path), "--engine", "both"]) == 2
    assert "cel-python is not installed" in capsys.readouterr().err
