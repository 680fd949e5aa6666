import argparse
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from builders import gpu_pod
from podberth import __version__
from podberth.cli.main import COMMANDS, main, parser_of_everything

_ROOT = Path(__file__).parents[3]


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"
    assert main(["--version"]) == 0


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert {command.name for command in COMMANDS} <= set(text.split())


@pytest.mark.parametrize("command", ["check", "test", "lint", "explain"])
def test_help_stands_alone(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    page = text.rpartition("podberth docs ")[2]
    assert "Exit code 0: " in text
    assert f"Example: podberth {command} " in text
    assert main(["docs", page]) == 0


def test_each_argument_has_a_help() -> None:
    waiting, bare = [parser_of_everything()], []
    while waiting:
        parser = waiting.pop()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            elif not action.help:
                bare.append(f"{parser.prog}: {action.metavar or action.dest}")
    assert bare == []


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nonsense"], ["serve", "--nonsense"], ["version", "more"]])
def test_mistakes_end_with_2_and_talk_on_stderr(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert (captured.out, "usage: podberth" in captured.err) == ("", True)


def test_a_misspelled_command_is_reported_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc"]) == 2
    assert "COMMAND: got 'chekc', want one of serve, check, " in capsys.readouterr().err
    assert main(["tset"]) == 2
    assert capsys.readouterr().err.endswith("; did you mean test?\n")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("lint --policies p", "--policies; name the policies without a flag, as PATH"),
        ("lint --policy=p", "--policy=p; name the policies without a flag, as PATH"),
        ("test --policies p", "--policies; name the policies without a flag, as DIR"),
        ("status --policies p", "--policies p"),
        ("lint --levl note", "--levl; did you mean --level?"),
        ("topology show --simulate l4-1 --simlate l4-1", "--simlate; did you mean --simulate?"),
        ("version -p", "-p"),
    ],
)
def test_an_unknown_flag_is_reported_with_what_was_meant(
    argv: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv.split()) == 2
    assert capsys.readouterr().err.endswith(f"unrecognized arguments: {said}\n")


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "nowhere"],
        ["test", "nowhere"],
        ["lint", "nowhere"],
        ["explain", "nowhere"],
        ["explain", "pod.yaml", "--policies", "nowhere"],
        ["explain", "pod.yaml", "--policies", "empty"],
        ["explain", "pod.yaml", "--conventions", "nowhere"],
        ["check", "pod.yaml", "--policies", "nowhere"],
        ["check", "pod.yaml", "--policies", "empty"],
        ["check", "empty"],
        ["lint", "empty"],
    ],
    ids=" ".join,
)
def test_a_path_without_what_is_wanted_is_reported_in_words(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
    (tmp_path / "pod.yaml").write_text(pod, encoding="utf-8")
    assert main(argv) == 2
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert "nowhere" in said or "empty" in said
    assert any(words in said for words in ("cannot be read: No such file", "got no "))
    assert "Errno" not in said


def test_what_a_command_refuses_is_said_line_by_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PODBERTH_")]:
        monkeypatch.delenv(name)
    assert main(["serve", "--listen", "nowhere"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("podberth: --") for line in lines)


def test_help_imports_no_command() -> None:
    script = (
        "import sys; from podberth.cli.main import main; main(['--help']);"
        "print([name for name in ('aiohttp', 'uvloop', 'cel_expr_python', 'cryptography') if name in sys.modules])"
    )
    environ = {"PYTHONPATH": str(_ROOT / "webhook"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_one_policy_and_several_are_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("policy", "policies"):
        assert main([word, "list"]) == 0
        assert "gpu-tolerations" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        "lint policies/gpu-tolerations --level note",
        "lint policies/gpu-tolerations -o json",
        "explain - --policies policies/gpu-tolerations",
        "explain - --policies policies/gpu-tolerations -o json",
        "policies schema",
        "completion bash",
        "test policies/gpu-tolerations -o json",
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(arguments: str) -> None:
    read, write = os.pipe()
    os.close(read)
    environ = {"PYTHONPATH": str(_ROOT / "webhook"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "podberth", *arguments.split()]
    try:
        done = subprocess.run(
            command,
            env=environ,
            cwd=_ROOT,
            input=json.dumps(gpu_pod()).encode(),
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("closed", "code", "kinds", "last"),
    [
        (">&-", 2, [], ["podberth: -o: stdout: cannot be written: Bad file descriptor"]),
        ("2>&-", 0, ["Pod"], []),
        (">&- 2>&-", 2, [], []),
    ],
)
def test_a_closed_stream_is_no_crash_and_no_message_is_in_the_data(
    closed: str, code: int, kinds: list[str], last: list[str]
) -> None:
    command = f'"$0" -m podberth check -o json - --policies policies/gpu-tolerations {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        env={"PYTHONPATH": str(_ROOT / "webhook"), "PATH": os.environ["PATH"]},
        cwd=_ROOT,
        input=json.dumps(gpu_pod()),
        capture_output=True,
        text=True,
        check=False,
    )
    found = [each["kind"] for each in json.loads(done.stdout or '{"results": []}')["results"]]
    assert (done.returncode, found, done.stderr.splitlines()[-1:]) == (code, kinds, last)


def test_help_is_a_word_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert "COMMAND" in capsys.readouterr().out
    assert main(["help", "docs"]) == 0
    assert "usage: podberth docs" in capsys.readouterr().out


def test_a_rotation_is_awaited_for_days_too() -> None:
    arguments = parser_of_everything().parse_args(["certs", "rotate", "--wait", "2d"])
    assert arguments.wait == timedelta(days=2)
