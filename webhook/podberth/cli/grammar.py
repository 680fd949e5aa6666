"""The grammar of the command line, as argparse has it: commands, flags and the values that they take."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..files.library import shipped

_POLICY = "POLICY"
"""The metavar of an argument that is the name of a shipped policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag, in all its spellings."""

    spellings: tuple[str, ...]
    takes_value: bool
    values: tuple[str, ...]
    """The possible values; empty for any other value, where the shell offers files."""
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The words that can follow a command; its path is the words that lead to it."""

    path: tuple[str, ...]
    flags: tuple[Flag, ...]
    words: tuple[tuple[str, str], ...]
    """Commands, choices and names, each with its description."""


def grammars(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Grammar]:
    """Yield the grammar of a parser's command, and of each command below it."""
    flags: list[Flag] = []
    words: list[tuple[str, str]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other access to its arguments
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - as above
            words += [(name, _first(helps.get(name, ""))) for name in action.choices]
            below += action.choices.items()
        elif action.option_strings:
            flags.append(_flag(action))
        else:
            words += [(value, "") for value in _values(action)]
    yield Grammar(path=path, flags=tuple(flags), words=tuple(words))
    for name, inner in below:
        yield from grammars(inner, (*path, name))


def _flag(action: argparse.Action) -> Flag:
    return Flag(
        spellings=tuple(action.option_strings),
        takes_value=action.nargs != 0,
        values=_values(action),
        help=_first(action.help or ""),
    )


def _values(action: argparse.Action) -> tuple[str, ...]:
    if action.metavar == _POLICY:
        return tuple(policy.name for policy in shipped())
    choices: Sequence[object] = tuple(action.choices or ())
    return tuple(map(str, choices))


def _first(text: str) -> str:
    """Return the first part of a help text, for a line beside the word."""
    return text.partition(" (")[0].partition(";")[0].partition(": ")[0] if text != argparse.SUPPRESS else ""
