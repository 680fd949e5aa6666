"""The answer to kubectl when somebody presses the tab key behind ``kubectl podberth``.

kubectl runs ``kubectl_complete-podberth`` with the words so far, the last one unfinished. It reads lines with a word, a
tab and a description, and then a colon and a number (kubectl pkg/cmd/plugin_completion.go, cobra's ShellCompDirective).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .grammar import Flag, Grammar, grammars
from .main import parser_of_everything

# cobra: ShellCompDirectiveDefault lets the shell offer files, ShellCompDirectiveNoFileComp does not.
_FILES: Final = 0
_NO_FILES: Final = 4


def answer(words: Sequence[str]) -> str:
    """Return the possible completions of the last word."""
    *before, last = words or ("",)
    known = {grammar.path: grammar for grammar in grammars(parser_of_everything())}
    grammar = _at(known, before)
    flags = {spelling: flag for flag in grammar.flags for spelling in flag.spellings}
    awaited = flags.get(before[-1]) if before else None
    offered, directive = _offered(grammar, awaited, last)
    lines = [f"{word}\t{meaning}" if meaning else word for word, meaning in offered if word.startswith(last)]
    return "\n".join([*lines, f":{directive}"]) + "\n"


def _at(known: Mapping[tuple[str, ...], Grammar], words: Sequence[str]) -> Grammar:
    """Return the grammar of the command that the words lead to."""
    path: tuple[str, ...] = ()
    for word in words:
        path = (*path, word) if (*path, word) in known else path
    return known[path]


def _offered(grammar: Grammar, awaited: Flag | None, last: str) -> tuple[Sequence[tuple[str, str]], int]:
    if awaited is not None and awaited.takes_value:
        return [(value, "") for value in awaited.values], _NO_FILES if awaited.values else _FILES
    if last.startswith("-"):
        return list(_spelled(grammar)), _NO_FILES
    return grammar.words, _NO_FILES if grammar.words else _FILES


def _spelled(grammar: Grammar) -> Iterator[tuple[str, str]]:
    for flag in grammar.flags:
        yield from ((spelling, flag.help) for spelling in flag.spellings)
