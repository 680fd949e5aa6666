"""The scripts of ``podberth completion``, one template for each shell.

Where no word of podberth fits, the shell offers files.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from .grammar import Flag, Grammar

_BASH = """\
# {shell} completion of podberth {version}; made by podberth completion {shell}
_podberth() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" word words="" flags=""
    # --flag=value comes as three words
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $before == "=" ]]; then
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$command $word" in
            {commands}) command="${{command:+$command }}$word" ;;
        esac
    done
    case "$command|$before" in
{values}
    esac
    case "$command" in
{words}
    esac
    [[ $current == -* ]] && words="$flags"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _podberth podberth
"""
_ZSH = """\
autoload -U +X bashcompinit && bashcompinit
"""
_FISH = """\
# fish completion of podberth {version}; made by podberth completion fish
function __podberth_at
    set -l command
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' $command $word) {commands}
            set command $command $word
        end
    end
    test "$command" = "$argv"
end
"""


def bash(grammars: Sequence[Grammar], version: str, shell: str = "bash") -> str:
    """Return the script for bash."""
    return _BASH.format(
        shell=shell,
        version=version,
        commands="|".join(f'"{_after(each.path)}"' for each in grammars[1:]),
        values="\n".join(line for each in grammars for line in _bash_values(each)),
        words="\n".join(_bash_words(each) for each in grammars),
    )


def _after(path: Sequence[str]) -> str:
    """Return the words so far, a blank, and the next one; nothing stands before the blank of a first word."""
    return f"{' '.join(path[:-1])} {path[-1]}"


def _bash_values(grammar: Grammar) -> Iterator[str]:
    """Yield the possible values of flags; behind a flag with any other value, only files are offered."""
    command = " ".join(grammar.path)
    for flag in grammar.flags:
        if flag.takes_value:
            patterns = "|".join(f'"{command}|{spelling}"' for spelling in flag.spellings)
            found = f'COMPREPLY=($(compgen -W {_quoted(flag.values)} -- "$current"))' if flag.values else "COMPREPLY=()"
            yield f"        {patterns}) {found}; return ;;"


def _bash_words(grammar: Grammar) -> str:
    flags = [spelling for flag in grammar.flags for spelling in flag.spellings]
    words = [word for word, _ in grammar.words]
    return f'        "{" ".join(grammar.path)}") words={_quoted(words)} flags={_quoted(flags)} ;;'


def _quoted(words: Sequence[str]) -> str:
    return shlex.quote(" ".join(words)) if words else "''"


def zsh(grammars: Sequence[Grammar], version: str) -> str:
    """Return the script for zsh, which runs bash's completions."""
    return _ZSH + bash(grammars, version, "zsh")


def fish(grammars: Sequence[Grammar], version: str) -> str:
    """Return the script for fish."""
    commands = " ".join(shlex.quote(" ".join(each.path)) for each in grammars[1:])
    lines = [line for each in grammars for line in _fish_lines(each)]
    return _FISH.format(version=version, commands=commands) + "".join(f"{line}\n" for line in lines)


def _fish_lines(grammar: Grammar) -> Iterator[str]:
    start = f"complete -c podberth -n {shlex.quote(' '.join(('__podberth_at', *grammar.path)))}"
    for word, text in grammar.words:
        yield f"{start} -f -a {shlex.quote(word)}{_fish_text(text)}"
    for flag in grammar.flags:
        yield f"{start}{_fish_flag(flag)}{_fish_text(flag.help)}"


def _fish_flag(flag: Flag) -> str:
    spelled = "".join(
        f" -l {each.removeprefix('--')}" if each.startswith("--") else f" -s {each.removeprefix('-')}"
        for each in flag.spellings
    )
    if flag.values:
        return f"{spelled} -x -a {_quoted(flag.values)}"
    return f"{spelled} -r -F" if flag.takes_value else spelled


def _fish_text(text: str) -> str:
    return f" -d {shlex.quote(text)}" if text else ""


SCRIPTS: Mapping[str, Callable[[Sequence[Grammar], str], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
