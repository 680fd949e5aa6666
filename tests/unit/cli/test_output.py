from pathlib import Path

import pytest

from podberth.cli.main import main
from podberth.cli.output import talk

_ODD = "\x1b[31mred\x1b[0m\u202e"
_POLICY = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: odd}
spec: {"x\\e[31m\\n::error::y": 1}
"""


def test_a_message_controls_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    talk([_ODD])
    assert capsys.readouterr().err == "podberth: \\x1b[31mred\\x1b[0m\\u202e\n"


def test_a_message_is_one_line_and_no_command_of_a_ci_service(capsys: pytest.CaptureFixture[str]) -> None:
    talk(["a\n::error::b", "##[error]c", "::warning::d"])
    assert capsys.readouterr().err.splitlines() == [
        "podberth: a\\n::error::b",
        "podberth: ## [error]c",
        "podberth: \\::warning::d",
    ]


def test_a_file_whose_name_has_control_characters_controls_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / f"a{_ODD}\n::error::b"
    folder.mkdir()
    main(["check", str(folder)])
    captured = capsys.readouterr()
    assert ("\x1b" in captured.err, "\u202e" in captured.err, "\n::error" in captured.err) == (False, False, False)
    assert "got no manifest" in captured.err


@pytest.mark.parametrize("command", ["check", "explain", "convert"])
def test_a_key_of_a_policy_controls_no_terminal(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, pod = tmp_path / "policy.yaml", tmp_path / "pod.yaml"
    policy.write_text(_POLICY)
    pod.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n")
    main([command, str(policy)] if command == "convert" else [command, "--policies", str(policy), str(pod)])
    said = capsys.readouterr().err
    assert ("\x1b" in said, "\n::error" in said, "x\\x1b[31m" in said) == (False, False, True)
