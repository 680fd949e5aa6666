"""The cost of compiling and searching a regular expression, estimated from its text.

RE2 compiles a pattern to a program, where repetitions are written out and a class of Unicode is hundreds of steps. It
searches by a table of states that it makes on the way. Where a pattern may be at several of its places at once, there
are more states than it keeps, and it goes over the text with all places at once instead (re2/dfa.cc, "bail").
"""

import re
from dataclasses import dataclass
from typing import Final

# Steps as the price of a pattern's byte counts them, each measured by itself: `a` is one.
_CLASS: Final = 5
_NEGATED: Final = 20
"""Steps of a class that is not ASCII alone: ``.``, ``\\W``, ``[^a]``, a class with other letters."""
_UNICODE: Final = 6_000
"""Steps of a class such as ``\\pL``, to read the tables of Unicode; several in one class take 1.7 ms."""
_FOLDED: Final = 8
"""The factor after ``(?i)``, where each letter is a class."""
_OPTIONAL: Final = 12
"""Steps of a repetition that may be absent, besides those of the repeated part."""
_MOST_REPEATS: Final = 1_000
"""RE2 takes no more (re2/regexp.cc, kMaxRepeat)."""
_ENDLESS: Final = 1e12
"""More than any program: repetitions of repetitions are multiplied, and may come to more than a number holds."""
_UNREAD: Final = _UNICODE / len(r"\pL")
"""Steps of a byte of a pattern that is known only when it is evaluated: the worst there are."""
_FEW: Final = 8
"""Characters of several kinds in a pattern whose states are all kept: two to the power of these, and no more."""

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
"""The end of the text, and not the character. With a flag such as ``(?m)`` it may be the end of a line, and behind
``\\Q`` it is the character."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The properties of a regular expression that its price depends on."""

    steps: float
    """The size of its compiled program, as the bytes of a pattern of letters that compiles to the same size."""
    places: float
    """The number of places in the pattern that a search may have reached at once; 0: a table holds all its states."""
    reach: float = float("inf")
    """The most bytes of a text that a search reads: not all of them if the pattern has to match from the beginning."""
    longest: float = float("inf")
    """The most bytes of a text that matches: bounded where the text has to fit from the beginning to the end."""


@dataclass(slots=True)
class _Group:
    steps: float = 0
    characters: float = 0
    wide: float = 0
    """Characters of several kinds: a search can be at several of these at once."""
    endless: bool = False


def unread(size: float) -> Pattern:
    """Return the worst pattern of so many bytes."""
    return Pattern(size * _UNREAD, size * _UNREAD)


def read(text: str) -> Pattern:
    """Return the properties of a literal pattern. An invalid pattern may give any: it is an error elsewhere."""
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
    return Pattern(whole.steps, places, reach, reach if _ends(text) else float("inf"))


def _ends(text: str) -> bool:
    return bool(_END.search(text)) and "(?" not in text and r"\Q" not in text


def _add(group: _Group, more: _Group) -> None:
    group.steps = min(group.steps + more.steps, _ENDLESS)
    group.characters = min(group.characters + more.characters, _ENDLESS)
    group.wide = min(group.wide + more.wide, _ENDLESS)
    group.endless |= more.endless


def _repeat(group: _Group, last: _Group, token: "re.Match[str]") -> None:
    """Write a repetition out: ``a{1000}`` is a thousand."""
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
    """Return how often something is repeated; of more than RE2 takes, which is an error, that and one more."""
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
