"""Styled lines for a terminal of unknown width, and text that cannot control a terminal."""

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
    """Text in one style: ``bold``, ``dim``, a colour, or several with blanks between; empty: none."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is wrapped where it is too long; continuations are indented by ``hanging`` columns.

    Nothing is broken in its first ``hanging`` columns. A no-break space holds words together, and is shown as a common
    one.
    """

    spans: tuple[Span, ...]
    hanging: int = 0


def visible(text: str, keep: str = "") -> str:
    r"""Return text with invisible characters, which could control a terminal, as escapes: ``\x1b``, ``\u202e``."""
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def inert(text: str) -> str:
    """Return text in which the log of a CI service finds no command: ``::`` before a word, and ``##[``, are changed."""
    return _COMMAND.sub(r"\\::", text).replace("##[", "## [")


def _escape(character: str) -> str:
    code = ord(character)
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return short or (f"\\x{code:02x}" if code <= _LATIN_1 else f"\\u{code:04x}")
