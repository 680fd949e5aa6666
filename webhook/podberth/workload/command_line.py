"""Parses the command lines of containers: the commands in a shell script, and the values of flags.

If a line cannot be parsed with certainty, no commands are returned; if a flag cannot be parsed, no value is returned.
No command is executed, and no variable is expanded: ``$(TP)`` and ``${TP}`` remain words with a ``$``.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice

LONGEST = 8192
"""The most characters of a command line that is parsed. Parsing so many takes 5 ms (bench.cel_cost); usual lines have
hundreds.
"""
MOST_WORDS = 512
"""The most words of a command line that is parsed, in all commands of the line together."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
# POSIX.1-2024, sh: options are grouped (-ec, -lc), -o and +o have a value, and -c takes its commands from the operand.
_OPTION = re.compile(r"[-+][A-Za-z]+|--[a-z-]+")
_COMMANDS_FOLLOW = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})

# POSIX.1-2024, Shell Command Language, 2.2 to 2.7. The value of a substitution is unknown: it becomes a single "$".
_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_SUBSTITUTION = re.compile(r"\$\(\([^()]*\)\)|\$\([^()]*\)|`[^`]*`")
# Not parsed: nested substitutions, here-documents, and a quoted word that looks like an operator or a comment.
_UNREADABLE = re.compile(r"\$\(|`|<<|[\"'](?:#|[;&|<>\n]+[\"'])")
_NESTED = 3  # deeper nested shells are not read
_CONTROL, _REDIRECTION = ";&|\n", "<>"
_OPERATORS = frozenset(_CONTROL + _REDIRECTION)


def commands(line: Sequence[str]) -> list[list[str]]:
    """Return the commands that a command line runs, each as a list of words.

    ``line`` is the list of a container's command and args. If the line runs a shell with ``-c``, the result has the
    commands of the script; otherwise, the result has a single command. The result is empty if the line cannot be parsed
    or is too long.
    """
    if sum(map(len, line)) > LONGEST or len(line) > MOST_WORDS:
        return []
    try:
        found = list(islice(_expand(list(line), _NESTED), MOST_WORDS + 1))
    except ValueError:
        return []
    return found if sum(map(len, found)) <= MOST_WORDS else []


def flag(words: Sequence[str], names: Sequence[str]) -> str:
    """Return the value of a flag, ``--x=v`` or ``--x v``, under any of ``names``; empty if absent or without value.

    If the flag occurs several times, the last value is used. In names that start with two dashes, ``_`` equals ``-``,
    because Python programs accept both. A name without dashes may be given, too: the value of the name ``serve`` is the
    next word.
    """
    wanted = set(map(_plain, names))
    found = ""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if _plain(name) in wanted:
            found = value if equals else _operand(words, at + 1)
    return found


def _operand(words: Sequence[str], at: int) -> str:
    following = words[at] if at < len(words) else ""
    # A word that begins with a dash is another flag, except a negative number.
    return "" if following.startswith("-") and not following[1:2].isdigit() else following


def _plain(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


def _expand(words: list[str], depth: int) -> Iterator[list[str]]:
    script = _script(words)
    if script is None:
        if words:
            yield words
    elif depth:
        for command in _split(script):
            yield from _expand(command, depth - 1)
    else:
        raise ValueError("got shells within shells, want three at most")


def _script(words: Sequence[str]) -> str | None:
    """Return the script that a shell in the command line runs with ``-c``; None if there is no such shell."""
    for at, word in enumerate(words):
        if word.rpartition("/")[2] not in _SHELLS:
            continue
        behind = iter(words[at + 1 :])
        for option in behind:
            if option in _WITH_VALUE:
                next(behind, "")
            elif _COMMANDS_FOLLOW.fullmatch(option):
                return next((each for each in behind if not _OPTION.fullmatch(each)), "")
            elif not _OPTION.fullmatch(option):
                break  # the name of a file with the shell's commands
    return None


def _split(script: str) -> Iterator[list[str]]:
    """Yield the simple commands of a shell script, each as a list of words.

    Raises:
        ValueError: a quote is not closed, or the script has a construct that is not parsed.
    """
    text = _SUBSTITUTION.sub("$", _COMMENT.sub("", _CONTINUED.sub("", script)))
    if found := _UNREADABLE.search(text):
        raise ValueError(f"got {found[0]}, want a line without")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_CONTROL + _REDIRECTION)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    command: list[str] = []
    is_file = is_comment = False
    for token in lexer:
        is_operator = token != "" and set(token) <= _OPERATORS
        if is_operator and token[0] in _CONTROL:
            if not is_comment or "\n" in token:
                yield command
                command, is_file, is_comment = [], False, False
        elif is_operator and not is_comment:
            is_file = True
        elif is_comment or token.startswith("#"):
            is_comment = True
        elif is_file:
            is_file = False
        else:
            command.append(token)
    yield command
