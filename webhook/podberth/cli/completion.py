"""``podberth completion``: prints a script that completes commands in a shell, made from the commands' parsers.

The script contains everything that can be completed, so that a key press starts no Python; the user has to print the
script again after an upgrade. The text of the script is in ``data``. shtab, the usual library for completion scripts,
does not support fish.
"""

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from .. import __version__
from ..files.library import shipped
from .access import SUGGESTED
from .exitcodes import ExitCode
from .main import parser_of_everything
from .output import write_text

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``podberth completion``, which names the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.epilog = (
        "bash: source <(podberth completion bash). zsh: the same, behind compinit. "
        "fish: podberth completion fish > ~/.config/fish/completions/podberth.fish"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script for the shell, and return the exit code."""
    write_text(SCRIPTS[arguments.shell](tuple(grammars(parser_of_everything()))))
    return ExitCode.OK


# ---- the grammar of the command line, as argparse has it ------------------------------------------------------------

_POLICY = "POLICY"
"""The metavar of an argument that is the name of a shipped policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The flags and words that can follow a command.

    ``path`` is the command preceded by the names of the parent commands.
    """

    path: tuple[str, ...]
    flags: tuple[argparse.Action, ...]
    """The flags as argparse has them; ``nargs`` is 0 if a flag takes no value."""
    words: tuple[tuple[str, str], ...]
    """The subcommands, choices and names that can follow the command, each with a description."""


def grammars(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Grammar]:
    """Yield the Grammar (the flags and words) of the parser's command, and of all subcommands of the command.

    ``path`` is the command preceded by the names of the parent commands; empty for ``podberth`` itself.
    """
    flags: list[argparse.Action] = []
    words: list[tuple[str, str]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other access to its arguments
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - as above
            words += [(name, _first(helps.get(name, ""))) for name in action.choices]
            below += action.choices.items()
        elif action.option_strings:
            flags.append(action)
        else:
            words += [(value, "") for value in _values(action)]
    yield Grammar(path=path, flags=tuple(flags), words=tuple(words))
    for name, inner in below:
        yield from grammars(inner, (*path, name))


def _values(action: argparse.Action) -> tuple[str, ...]:
    """Return the possible values of an argument; empty if it takes any text, so that the shell offers files."""
    if action.metavar == _POLICY:
        return tuple(policy.name for policy in shipped())
    return SUGGESTED.get(action) or tuple(map(str, action.choices or ()))


def _is_list(action: argparse.Action) -> bool:
    """Return whether a flag takes several values in one word, separated by commas."""
    return str(action.metavar).endswith(",…")


def _takes_paths(action: argparse.Action) -> bool:
    """Return whether an argument takes any path, besides the values of ``_values``."""
    return action.metavar == "DIR" or not _values(action)


def _first(text: str | None) -> str:
    """Return the first clause of a flag's help text, which a shell shows beside the completed word."""
    text = text or ""
    return text.partition(" (")[0].partition(";")[0].partition(": ")[0] if text != argparse.SUPPRESS else ""


# ---- the scripts ----------------------------------------------------------------------------------------------------


def _filled(script: str, **parts: str) -> str:
    """Return the text of a packaged script with ``@name@`` replaced by the value of ``name`` in ``parts``."""
    text = resources.files(__package__).joinpath("data", script).read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def bash(grammars: Sequence[Grammar], shell: str = "bash") -> str:
    """Return the completion script for bash, which zsh runs, too; the script's first comment names ``shell``."""
    return _filled(
        "completion.bash",
        shell=shell,
        version=__version__,
        commands="|".join(f'"{_after(each.path)}"' for each in grammars[1:]),
        values="\n".join(line for each in grammars for line in _bash_values(each)),
        words="\n".join(_bash_words(each) for each in grammars),
    )


def _after(path: Sequence[str]) -> str:
    """Return the text by which the bash script recognises a command: its parents, a blank, and its own name.

    Several parents are joined by blanks. The text of a command without a parent begins with the blank.
    """
    return f"{' '.join(path[:-1])} {path[-1]}"


def _bash_values(grammar: Grammar) -> Iterator[str]:
    """Yield the lines of the bash script that complete the values of a command's flags.

    After a flag that takes any text, the shell offers files.
    """
    command = " ".join(grammar.path)
    for flag in grammar.flags:
        if flag.nargs != 0:
            patterns = "|".join(f'"{command}|{spelling}"' for spelling in flag.option_strings)
            values = _values(flag)
            typed = '-P "$listed" -W {} -- "${{current##*,}}"' if _is_list(flag) else '-W {} -- "$current"'
            found = f"COMPREPLY=($(compgen {typed.format(_quoted(values))}))" if values else "COMPREPLY=()"
            yield f"        {patterns}) {found}; return ;;"


def _bash_words(grammar: Grammar) -> str:
    flags = [spelling for flag in grammar.flags for spelling in flag.option_strings]
    words = [word for word, _ in grammar.words]
    return f'        "{" ".join(grammar.path)}") words={_quoted(words)} flags={_quoted(flags)} ;;'


def _quoted(words: Sequence[str]) -> str:
    return shlex.quote(" ".join(words)) if words else "''"


def zsh(grammars: Sequence[Grammar]) -> str:
    """Return the completion script for zsh, which runs bash's completions."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash(grammars, "zsh")


def fish(grammars: Sequence[Grammar]) -> str:
    """Return the completion script for fish."""
    commands = " ".join(shlex.quote(" ".join(each.path)) for each in grammars[1:])
    lines = [line for each in grammars for line in _fish_lines(each)]
    return _filled("completion.fish", version=__version__, commands=commands) + "".join(f"{line}\n" for line in lines)


def _fish_lines(grammar: Grammar) -> Iterator[str]:
    start = f"complete -c podberth -n {shlex.quote(' '.join(('__podberth_at', *grammar.path)))}"
    for word, text in grammar.words:
        yield f"{start} -f -a {shlex.quote(word)}{_fish_text(text)}"
    for flag in grammar.flags:
        yield f"{start}{_fish_flag(flag)}{_fish_text(_first(flag.help))}"


def _fish_flag(flag: argparse.Action) -> str:
    spelled = "".join(
        f" -l {each.removeprefix('--')}" if each.startswith("--") else f" -s {each.removeprefix('-')}"
        for each in flag.option_strings
    )
    if flag.nargs == 0:
        return spelled
    values = _values(flag)
    return spelled + (" -r -F" if _takes_paths(flag) else " -x") + (f" -a {_quoted(values)}" if values else "")


def _fish_text(text: str) -> str:
    return f" -d {shlex.quote(text)}" if text else ""


SCRIPTS: Mapping[str, Callable[[Sequence[Grammar]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


# cobra: ShellCompDirectiveDefault lets the shell offer files, ShellCompDirectiveNoFileComp does not.
_FILES: Final = 0
_NO_FILES: Final = 4


def answer(words: Sequence[str]) -> str:
    """Return the completions of the last word of a ``kubectl podberth`` command line, in the format that kubectl reads.

    When a user presses the tab key, kubectl runs the program kubectl_complete-podberth with all words so far; the last
    word is unfinished. kubectl then reads lines with a word, a tab and a description, and then a line with a colon and
    a number (kubectl pkg/cmd/plugin_completion.go, cobra's ShellCompDirective).
    """
    *before, last = words or ("",)
    known = {grammar.path: grammar for grammar in grammars(parser_of_everything())}
    grammar = _at(known, before)
    flags = {spelling: flag for flag in grammar.flags for spelling in flag.option_strings}
    awaited = flags.get(before[-1]) if before else None
    offered, directive = _offered(grammar, awaited, last)
    lines = [f"{word}\t{meaning}" if meaning else word for word, meaning in offered if word.startswith(last)]
    return "\n".join([*lines, f":{directive}"]) + "\n"


def _at(known: Mapping[tuple[str, ...], Grammar], words: Sequence[str]) -> Grammar:
    """Return the Grammar of the innermost command that ``words`` name."""
    path: tuple[str, ...] = ()
    for word in words:
        path = (*path, word) if (*path, word) in known else path
    return known[path]


def _offered(grammar: Grammar, awaited: argparse.Action | None, last: str) -> tuple[Sequence[tuple[str, str]], int]:
    if awaited is not None and awaited.nargs != 0:
        listed = last[: last.rfind(",") + 1] if _is_list(awaited) else ""
        return [(listed + value, "") for value in _values(awaited)], _FILES if _takes_paths(awaited) else _NO_FILES
    if last.startswith("-"):
        return [(each, _first(flag.help)) for flag in grammar.flags for each in flag.option_strings], _NO_FILES
    return grammar.words, _NO_FILES if grammar.words else _FILES
