"""Styled lines for a terminal of unknown width, and functions that make foreign text harmless to a terminal."""

import re
from dataclasses import dataclass
from typing import NamedTuple

# Characters that a terminal acts on or does not show: controls (ECMA-48), line breaks, half characters, and the marks
# that change the direction of text (https://trojansource.codes)
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\uffff]"
)


# actions/runner, src/Runner.Common/ActionCommand.cs
_COMMAND = re.compile(r"(?<!\S)::")
_LATIN_1 = 0xFF


class Span(NamedTuple):
    """A text in one style: "bold", "dim", a colour, or several styles separated by blanks; empty for no style."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output that is wrapped if too long; continuation lines are indented by ``hanging`` columns.

    The first ``hanging`` columns are never broken. A no-break space keeps two words on one line, and is printed as an
    ordinary space.
    """

    spans: tuple[Span, ...]
    hanging: int = 0


def visible(text: str, keep: str = "") -> str:
    r"""Return a text in which characters that could control a terminal are escaped, as in ``\x1b`` or ``\u202e``.

    The characters in ``keep`` are left unchanged.
    """
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def inert(text: str) -> str:
    """Return a text that is harmless in a CI service's log: without ``::`` before a word, and without ``##[``.

    The service would read such text as commands.
    """
    return _COMMAND.sub(r"\\::", text).replace("##[", "## [")


def _escape(character: str) -> str:
    code = ord(character)
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return short or (f"\\x{code:02x}" if code <= _LATIN_1 else f"\\u{code:04x}")
