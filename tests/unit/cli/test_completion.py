"""Completion as a shell does it: the script is sourced, the words are given, the replies are compared."""

import os
import pty
import select
import shutil
import subprocess
import termios
from pathlib import Path

import pytest

from podberth.cli.completion import SHELLS, grammars
from podberth.cli.main import COMMANDS, main, parser_of_everything

# A busy machine starts a zsh in a few seconds.
_PATIENCE_SECONDS = 30.0
_ASK = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(({count} - 1))
COMP_LINE="${{COMP_WORDS[*]}}"
_podberth
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "podberth.bash"
    with pytest.MonkeyPatch.context() as patched, path.open("w", encoding="utf-8") as stream:
        patched.setattr("sys.stdout", stream)
        assert main(["completion", "bash"]) == 0
    return path


def replies(script: Path, *words: str) -> list[str]:
    """Return what bash would offer for the last of the words behind ``podberth``."""
    quoted = " ".join(f"'{word}'" for word in ("podberth", *words))
    asked = _ASK.format(script=script, words=quoted, count=len(words) + 1)
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["li"], ["lint"]),
        (["policies", ""], ["list", "show", "copy", "init", "bundle", "schema"]),
        (["policies", "show", "gpu-"], ["gpu-tolerations"]),
        (["policies", "copy", "gang"], ["gang-topology", "gang-scheduler", "gang-system"]),
        (["policies", "init", "x", "--kind", ""], ["mutate", "validate", "both"]),
        (["lint", "-o", "s"], ["sarif"]),
        (["check", "-o", "j"], ["json", "junit"]),
        (["check", "--simulate", "dgx-a100-8-"], ["dgx-a100-8-mig-single", "dgx-a100-8-mig-mixed"]),
        (["check", "--simulate", "l4-4,hgx-b"], ["l4-4,hgx-b200-8"]),
        (["check", "--simulate", "l4-4", ":", "2,hgx-b"], ["2,hgx-b200-8"]),
        (["check", "--simulate", "=", "l4-4", ":", "2,t4-s", ":", "3,hgx-b"], ["3,hgx-b200-8"]),
        (["check", "--policies", ""], ["shipped", "cluster"]),
        (["explain", "--policies", ""], ["shipped"]),
        (["lint", "--output", "=", "g"], ["github"]),
        (["lint", "--output", "="], ["text", "line", "json", "sarif", "github"]),
        (["lint", "--le"], ["--level"]),
        (["lint", "--topology", "te"], []),
        (["lint", "--level", "note", "policies", "--fail-on", "w"], ["warning"]),
        (["lint", ""], []),
        (["--ver"], ["--version"]),
        (["completion", ""], list(SHELLS)),
    ],
)
def test_bash_offers_what_the_parsers_take(script: Path, words: list[str], offered: list[str]) -> None:
    assert replies(script, *words) == offered


def test_bash_offers_every_command_and_every_flag(script: Path) -> None:
    assert replies(script, "") == [command.name for command in COMMANDS]
    for grammar in grammars(parser_of_everything()):
        spellings = [each for flag in grammar.flags for each in flag.option_strings]
        assert replies(script, *grammar.path, "-") == spellings


def test_bash_falls_back_on_files_in_a_real_line_editor(script: Path, tmp_path: Path) -> None:
    (tmp_path / "only-one.yaml").write_text("", encoding="utf-8")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 200))
    environment = {**os.environ, "TERM": "xterm", "PS1": "$ "}
    command = ["bash", "--noprofile", "--rcfile", str(script), "-i"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ):
        os.close(theirs)
        os.write(ours, b"podberth lint on\t\nexit\n")
        shown = b"".join(iter(lambda: read(ours), b""))
    os.close(ours)
    assert b"podberth lint only-one.yaml" in shown


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux' word for: nobody holds the other end any more
        return b""


def test_zsh_gets_the_functions_of_bash_and_fish_a_line_for_each_word_and_flag(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "zsh"]) == 0
    zsh = capsys.readouterr().out
    assert zsh.startswith("autoload -U +X bashcompinit && bashcompinit\n")
    assert "complete -o default -F _podberth podberth" in zsh
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    flags = sum(len(grammar.flags) + len(grammar.words) for grammar in grammars(parser_of_everything()))
    assert sum(line.startswith("complete -c podberth -n ") for line in lines) == flags
    assert "complete -c podberth -n '__podberth_at lint' -l topology -r -F" in "\n".join(lines)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("podberth li", "podberth lint"),
        ("podberth policies show gpu-", "podberth policies show gpu-tolerations"),
        ("podberth check -o ju", "podberth check -o junit"),
        ("podberth check --simulate t4", "podberth check --simulate t4-shared"),
    ],
)
def test_a_zsh_completes_what_is_typed(
    typed: str, completed: str, zsh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "zsh"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out, encoding="utf-8")
    terminal, other = pty.openpty()
    environ = {"PS1": "> ", "TERM": "dumb", "HOME": str(tmp_path)}
    shell = subprocess.Popen([zsh, "-f", "-i", "+m"], stdin=other, stdout=other, stderr=other, env=environ)
    os.close(other)
    try:
        os.write(terminal, f"autoload -U compinit; compinit -u -D; source {tmp_path}/script; echo r''eady\n".encode())
        _read_until(terminal, "ready")
        os.write(terminal, f"{typed}\t".encode())
        assert completed in _read_until(terminal, completed)
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)


def _read_until(terminal: int, text: str) -> str:
    """Return what the terminal shows, up to the text; less if it shows nothing more for a while."""
    shown = ""
    while text not in shown and select.select([terminal], [], [], _PATIENCE_SECONDS)[0]:
        shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


@pytest.mark.parametrize("shell", [each for each in SHELLS if shutil.which(each)])
def test_a_shell_that_is_here_can_read_its_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    path = tmp_path / "script"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shell_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "cmd"]) == 2
    assert "invalid choice" in capsys.readouterr().err
