"""Reads a CEL expression up to a place: the name at the place, the value before its dot, and the macros around it.

The rest of the expression may be unfinished. Only the tokens are read here; ``Language`` asks the type checker.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...cel.libraries.native import MACROS
from ...cel.parts import CLOSING, Token, tokens_of
from ...cel.types import CelType
from .language import Language

_DOTS: Final = frozenset({".", ".?"})
_QUOTES: Final = ("'", '"')
_OPTIONAL_MACROS: Final = frozenset({"optMap", "optFlatMap"})
_LOOP_VARIABLES: Final[Mapping[str, int]] = {
    name: max(
        sum(len(each) == 1 and each.islower() for each in macro.arguments) for macro in MACROS if macro.name == name
    )
    for name in {macro.name for macro in MACROS if macro.receiver}
}
"""The largest number of loop variables that each macro can have."""
_TWO: Final = 2


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro around a place, such as ``x.map(r, ...)``: the source of its receiver, its name, its loop variables."""

    receiver: str
    macro: str
    variables: tuple[str, ...]

    def around(self, inner: str) -> str:
        """Return the source of a list or optional whose only type parameter is the type of ``inner`` in the loop."""
        macro = self.macro if self.macro in _OPTIONAL_MACROS else "transformList" if len(self.variables) > 1 else "map"
        return f"({self.receiver}).{macro}({', '.join(self.variables)}, {inner})"


@dataclass(frozen=True, slots=True)
class Mention:
    """The name at a place of an expression, or the place where a name can be typed."""

    name: str
    """The whole name at the place; empty if there is none yet."""
    start: int
    """The offset of the name in the expression."""
    receiver: str
    """The source of the value whose member the name is; empty if there is no dot before the name."""
    loops: tuple[Loop, ...]
    """The macros around the place, the outermost first."""
    text: str = ""
    """The beginning of the text literal at the place, without its quotation mark."""
    in_text: bool = False
    """Whether the place is in a text literal; then ``receiver`` is the value that has a key with that text."""
    is_called: bool = False
    """Whether a parenthesis follows the name."""

    def type_in(self, language: Language, source: str) -> CelType | None:
        """Return the type that an expression has at the place; None if it does not compile."""
        for loop in reversed(self.loops):
            source = loop.around(source)
        found = language.type_of(source)
        for _ in self.loops:
            found = found.parameters[0] if found is not None and found.parameters else None
        return found

    @property
    def loop_variables(self) -> tuple[str, ...]:
        """The loop variables that can be read at the place."""
        return tuple(name for loop in self.loops for name in loop.variables)


def mention_at(source: str, offset: int) -> Mention:
    """Return the name at an offset of an expression."""
    tokens = tokens_of(source[:offset])
    opened = next((at for at, token in enumerate(tokens) if token.text in _QUOTES), None)
    if opened is not None:
        return _in_text(source, tokens, opened, offset)
    rest = tokens_of(source[offset:])
    start, name = offset, ""
    if tokens and tokens[-1].end == offset and _is_name(tokens[-1]):
        start, name = tokens[-1].start, tokens.pop().text
    if rest and rest[0].start == 0 and (_is_name(rest[0]) or (name and rest[0].text.isdecimal())):
        name += rest.pop(0).text
    receiver = ""
    if tokens and tokens[-1].text in _DOTS:
        receiver = _before(source, tokens, len(tokens) - 2)
    called = bool(rest) and rest[0].text == "("
    return Mention(name, start, receiver, tuple(_loops(source, tokens)), is_called=called)


def _in_text(source: str, tokens: list[Token], opened: int, offset: int) -> Mention:
    """Return the text literal that begins with the token ``opened`` and is not closed before ``offset``."""
    before, start = tokens[:opened], tokens[opened].end
    receiver = ""
    if before and before[-1].text in ("[", "[?"):
        receiver = _before(source, before, len(before) - 2)
    loops = tuple(_loops(source, before))
    return Mention("", start, receiver, loops, text=source[start:offset], in_text=True)


def _is_name(token: Token) -> bool:
    return token.text.isidentifier()


def _before(source: str, tokens: Sequence[Token], end: int) -> str:
    """Return the source of the operand whose last token has the index ``end``; empty if there is none."""
    first = _first_of(tokens, end)
    return "" if first is None else source[tokens[first].start : tokens[end].end]


def _first_of(tokens: Sequence[Token], end: int) -> int | None:
    """Return the index of the first token of the operand that ends with the token at ``end``; None if there is none."""
    opening = _opening(tokens)
    at = end
    while at >= 0:
        if tokens[at].text in CLOSING.values():
            if at not in opening:
                return None
            at = opening[at]
            if at and tokens[at].text != "{" and _ends_operand(tokens[at - 1]):
                at -= 1
                continue
        elif not _ends_operand(tokens[at]):
            return None
        if not at or tokens[at - 1].text not in _DOTS:
            return at
        at -= 2
    return None


def _ends_operand(token: Token) -> bool:
    if token.text == "in":
        return False
    return _is_name(token) or token.text in CLOSING.values() or token.text[-1] in "'\"`" or token.text[0].isdecimal()


def _opening(tokens: Sequence[Token]) -> dict[int, int]:
    """Return a mapping from the index of each closing bracket to the index of its opening bracket."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in CLOSING:
            waiting.append(at)
        elif token.text in CLOSING.values() and waiting:
            found[at] = waiting.pop()
    return found


def _loops(source: str, tokens: Sequence[Token]) -> Iterator[Loop]:
    """Yield the macros whose bodies begin in ``tokens`` and do not end there, the outermost first."""
    waiting: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in CLOSING:
            waiting.append(at)
        elif token.text in CLOSING.values() and waiting:
            waiting.pop()
    for at in waiting:
        if at < _TWO or tokens[at].text != "(" or tokens[at - 2].text not in _DOTS:
            continue
        macro = tokens[at - 1].text
        names: list[str] = []
        for name, comma in zip(tokens[at + 1 :: 2], tokens[at + 2 :: 2], strict=False):
            if len(names) == _LOOP_VARIABLES.get(macro, 0) or not _is_name(name) or comma.text != ",":
                break
            names.append(name.text)
        receiver = _before(source, tokens, at - 3)
        if names and receiver:
            yield Loop(receiver, macro, tuple(names))
