"""Estimates the cost of compiling and searching a regular expression from the expression's text.

RE2 compiles a pattern to a program, in which repetitions are expanded and a Unicode class takes hundreds of steps. RE2
searches with a DFA, and computes the DFA's states during the search. If a search can be at many positions in the
pattern at one time, the DFA has more states than RE2 keeps. Then RE2 simulates all positions at one time, which is
slower (re2/dfa.cc, "bail").
"""

import re
from dataclasses import dataclass
from typing import Final

# Steps as the price of a pattern's byte counts them, each measured by itself: `a` is one.
_CLASS: Final = 5
_NEGATED: Final = 20
"""The program steps of a class with characters beyond ASCII: ``.``, ``\\W``, ``[^a]``, a class with other letters."""
_UNICODE: Final = 6_000
"""The program steps of a Unicode class such as ``\\pL``, whose tables RE2 reads; several of them in one
bracket expression take 1.7 ms."""
_FOLDED: Final = 8
"""The factor for the program steps of the pattern after ``(?i)``, which makes each letter a class."""
_OPTIONAL: Final = 12
"""The additional program steps of a repetition that may match nothing."""
_MOST_REPEATS: Final = 1_000
"""The maximum number of repetitions that RE2 accepts (re2/regexp.cc, kMaxRepeat)."""
_ENDLESS: Final = 1e12
"""The upper limit for estimated steps: nested repetitions multiply the steps, possibly beyond the range of a number."""
_UNREAD: Final = _UNICODE / len(r"\pL")
"""The maximum program steps for each byte of a pattern, for patterns that are only known at evaluation."""
_FEW: Final = 8
"""The maximum number of character classes for which RE2 keeps all states of a pattern's DFA; with n classes, the DFA
has 2^n states.
"""

_TOKEN: Final = re.compile(
    r"(?P<unicode>\\[pP](?:\{[^}]*\}|.))"
    r"|(?P<negated>\\[WDSBxX]|\.)"
    r"|(?P<shorthand>\\[wds])"
    r"|(?P<char>\\.)"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:[^:]*:\]|[^\]\\])*\])"
    r"|(?P<open>\((?:\?[^:)]*[:>)]?)?)"
    r"|(?P<close>\))"
    r"|\{(?P<least>\d+)(?P<range>,(?P<most>\d*))?\}"
    r"|(?P<often>[*+?])"
    r"|(?P<either>\|)"
    r"|(?P<plain>.)",
    re.DOTALL,
)

_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\$\Z")
"""Matches a pattern whose last character is an unescaped ``$``, the end of the text. With a flag such as ``(?m)``,
``$`` may be the end of a line, and after ``\\Q`` a literal dollar sign."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The properties of a regular expression that determine the price of a search."""

    steps: float
    """The cost of compiling the pattern, as the number of letters of a pattern of letters that costs the same."""
    places: float
    """The number of places of the pattern at which a search may be at once; 0 if RE2 keeps all states of the DFA."""
    reach: float = float("inf")
    """The maximum number of bytes of a text that a search reads; limited if the pattern must match from the
    beginning."""
    longest: float = float("inf")
    """The maximum number of bytes of a text that matches; limited if the pattern must match the whole text."""


@dataclass(slots=True)
class _Group:
    steps: float = 0
    characters: float = 0
    wide: float = 0
    """The number of character classes in the group; a search can be in several of these classes at once."""
    endless: bool = False


def unread(size: float) -> Pattern:
    """Return the properties of the most expensive pattern of ``size`` bytes, for a pattern whose text is unknown."""
    return Pattern(size * _UNREAD, size * _UNREAD)


def read(text: str) -> Pattern:
    """Return the properties of the regular expression in a literal.

    The properties of an invalid regular expression are arbitrary, because a policy with such an expression is refused.
    """
    groups, last, whole_ways = [_Group()], _Group(), 1
    folded = _FOLDED if "(?" in text and re.search(r"\(\?[a-zA-Z]*i", text) else 1
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup if token["least"] is None else "counted"
        if kind in ("counted", "often"):
            _repeat(groups[-1], last, token)
            continue
        if kind == "open":
            groups.append(_Group(steps=len(token[0])))
            last = _Group()
            continue
        if kind == "close" and len(groups) > 1:
            last = groups.pop()
            last.steps += 1
        elif kind == "either":
            last = _Group(1, 0, 1)
            whole_ways += len(groups) == 1
        else:
            steps = _steps(kind or "", token[0]) * folded
            last = _Group(steps, 1, int(folded > 1 or kind not in ("plain", "char")))
        _add(groups[-1], last)
    whole = groups[0]
    for group in groups[1:]:
        _add(whole, group)
    anchored = text.startswith("^") and not whole.endless and whole_ways == 1
    places = whole.characters if whole.wide > _FEW else 0
    # A character has four bytes at most; behind the last one it is known that the text does not fit.
    reach = 4 * whole.characters + 4 if anchored else float("inf")
    ends = _END.search(text) and "(?" not in text and r"\Q" not in text
    return Pattern(whole.steps, places, reach, reach if ends else float("inf"))


def _add(group: _Group, more: _Group) -> None:
    group.steps = min(group.steps + more.steps, _ENDLESS)
    group.characters = min(group.characters + more.characters, _ENDLESS)
    group.wide = min(group.wide + more.wide, _ENDLESS)
    group.endless |= more.endless


def _repeat(group: _Group, last: _Group, token: "re.Match[str]") -> None:
    """Add the steps of a repetition to ``group``; RE2 expands it: "a{1000}" has a thousand times the steps of "a".

    ``last`` is the repeated part, whose own steps ``group`` has already. ``token`` is the quantifier.
    """
    if token["often"]:
        group.endless |= token["often"] != "?"
        group.steps += 1
        return
    least = _number(token["least"])
    most = least if token["range"] is None else _number(token["most"] or token["least"])
    group.endless |= token["range"] is not None and not token["most"]
    times = max(least, most, 1)
    optional = max(most - least, 0)
    more = _Group((times - 1) * last.steps + optional * _OPTIONAL, (times - 1) * last.characters)
    more.wide = (times - 1) * last.wide + optional
    _add(group, more)


def _number(digits: str) -> int:
    """Return the number in a repetition such as ``{3}``; numbers that RE2 refuses become one more than the maximum."""
    return min(int(digits[:5]), _MOST_REPEATS + 1)


def _steps(kind: str, text: str) -> float:
    match kind:
        case "unicode":
            return _UNICODE
        case "negated":
            return _NEGATED
        case "shorthand":
            return _CLASS
        case "set":
            if re.search(r"\\[pP]", text):
                return _UNICODE * len(re.findall(r"\\[pP]", text))
            strange = text.startswith("[^") or not text.isascii() or re.search(r"\\[WDSxX]|\[:\^", text)
            return max(len(text), _NEGATED if strange else _CLASS)
        case _:
            return len(text.encode())
