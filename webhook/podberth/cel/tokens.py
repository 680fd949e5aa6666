"""The tokens of CEL's source, as far as the text of a part needs them: strings, names, brackets.

Source: cel-spec doc/langdef.md, Syntax. The checker has accepted the source before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CLOSING: Final[Mapping[str, str]] = {"(": ")", "[": "]", "[?": "]", "{": "}"}
"""The closing bracket of each opening one."""

_SPACE = r"(?P<space>\s+|//[^\n]*)"
_RAW = r"""(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')"""
_QUOTED = r"""[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`\n]*`)"""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_NUMBER = r"0[xX][0-9a-fA-F]+[uU]?|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?[uU]?"
_TOKEN = re.compile(rf"{_SPACE}|{_RAW}|{_QUOTED}|{_NAME}|{_NUMBER}|\.\?|\[\?|&&|\|\||[=!<>]=|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the source; offsets count characters from 0, ``end`` is behind the last."""

    text: str
    start: int
    end: int


def tokens_of(source: str) -> list[Token]:
    """Return the tokens in order, without blanks and comments."""
    return [
        Token(found.group(), found.start(), found.end())
        for found in _TOKEN.finditer(source)
        if found.group("space") is None
    ]
