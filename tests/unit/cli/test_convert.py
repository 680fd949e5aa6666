"""``podberth convert`` as a command: output, exit codes, and what stands where."""

from pathlib import Path

import pytest
import yaml

from podberth.cli.main import main
from snapshots import policy

SAID = "\n  scope: All\n  validations: [{expression: 1 == 2, message: m}]\n  validationActions: [Deny]\n"


def test_what_is_said_goes_to_stdout_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(policy("p", SAID), encoding="utf-8")
    (tmp_path / "tests.yaml").write_text("cases: []\n", encoding="utf-8")
    assert main(["convert", "."]) == 0
    printed = capsys.readouterr()
    kinds = [each["kind"] for each in yaml.safe_load_all(printed.out)]
    assert (kinds, printed.err) == (["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"], "")
    assert all(len(line) <= 120 for line in printed.out.splitlines())
    (tmp_path / "native.yaml").write_text(printed.out, encoding="utf-8")
    assert main(["convert", "native.yaml"]) == 0
    again = yaml.safe_load(capsys.readouterr().out)
    assert {**again["spec"], "order": 1000} == yaml.safe_load(policy("p", SAID))["spec"]


def test_what_is_left_out_is_one_line_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(policy("p", SAID + "  rollout: {percent: 5}\n"), encoding="utf-8")
    assert main(["convert", str(file)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"podberth: {file}:9:12 spec.rollout: left out: ")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("text", [policy("p", SAID.replace("1 == 2", "1 ==")), "a: [", "kind: Service\n"])
def test_what_cannot_be_read_ends_with_2(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert main(["convert", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "p.yaml" in printed.err
