"""Expressions of Kubernetes' CEL libraries with their values, as a real apiserver gives them.

The data is ``captured/cel_libraries.txt``: upstream's documented examples and error cases, and what lies beside them. A
line is an expression, "  =>  " and its value: a string as it is, anything else as JSON; ``!`` is an error. A line that
begins with ``#`` names the library of those below it. tests/e2e/test_cel_libraries.py puts each to an apiserver.
"""

from pathlib import Path
from typing import Final, NamedTuple

_FILE: Final = Path(__file__).parent / "captured" / "cel_libraries.txt"
_ARROW: Final = "  =>  "
_ERROR: Final = "!"


class Vector(NamedTuple):
    """One expression; ``value`` is None for an error."""

    library: str
    expression: str
    value: str | None


def _read() -> tuple[Vector, ...]:
    found, library = [], ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            library = line.removeprefix("# ")
        elif line:
            expression, _, value = line.rpartition(_ARROW)
            found.append(Vector(library, expression, None if value == _ERROR else value))
    return tuple(found)


VECTORS: Final = _read()


class Difference(NamedTuple):
    """An expression with another value here than upstream; None for an error."""

    expression: str
    ours: str | None
    theirs: str | None


DIFFERENCES: Final = (
    # Upstream takes an element that cannot be compared for one that is not better; here it is no overload.
    Difference("dyn([1, 'a']).min()", ours=None, theirs="1"),
    # Upstream bounds it by cost alone; here no list has more elements than an evaluation may look at.
    Difference("lists.range(10001).size()", ours=None, theirs="10001"),
    # No quantity that anybody writes; the arithmetic is exact, and would take long.
    Difference("isQuantity('1e1001')", ours="false", theirs="true"),
    # The same of order: what cannot be compared is not less.
    Difference("dyn([1, 'a']).isSorted()", ours=None, theirs="true"),
    # Go's sort leaves what is no number where it happens to be.
    Difference("[1.0, 0.0 / 0.0].sort().size()", ours=None, theirs="2"),
    # A list holds what Python makes of a time, which has no nanoseconds.
    Difference("'%s'.format([[duration('1500ms')]])", ours=None, theirs='[duration("1.5s")]'),
    # The engine's times are instants: they know no offset. Of string(timestamp(text)) the text does.
    Difference(
        "string(timestamp('2026-01-01T00:00:00+05:30') + duration('1h'))",
        ours=None,
        theirs="2026-01-01T01:00:00+05:30",
    ),
    # Upstream keeps the precision in one byte, and wraps around.
    Difference("'%.300f'.format([1.5]).size()", ours=None, theirs="46"),
    # Upstream takes the missing overload for no difference.
    Difference("dyn([quantity('1')]) == dyn([1])", ours="false", theirs="true"),
    Difference("dyn(quantity('1')) == dyn(1)", ours="false", theirs=None),
    # The engine compares them as doubles here, and with == it does not.
    Difference("dyn(9007199254740993) in [dyn(9007199254740992.0)]", ours="true", theirs="false"),
    Difference("dyn({1: 1}) in [dyn({1u: 1})]", ours="false", theirs="true"),
    # The engine has no such maps, and neither has JSON.
    Difference("{1.5: 'x'}[1.5]", ours=None, theirs="x"),
    # Of keys that are written as literals the last one wins, as upstream.
    Difference("{'a' + 'b': 1, 'ab': 2}.size()", ours=None, theirs="1"),
    # A key of a kind that no map has.
    Difference("dyn(null) in dyn({'a': 1})", ours=None, theirs="false"),
    Difference("{'a': 1}[?dyn(null)].hasValue()", ours="false", theirs=None),
    # Upstream takes any value for an optional that is there.
    Difference("dyn(1).orValue(2)", ours=None, theirs="1"),
    Difference("string(-dyn(duration('1s')))", ours=None, theirs="-1s"),
    # The place of the server.
    Difference("timestamp(0).getHours('Local')", ours=None, theirs="0"),
    # Letters of a case: RE2 has no such class.
    Difference("'a'.matches('\\\\p{LC}')", ours=None, theirs="true"),
)
"""Where we differ, and why."""
