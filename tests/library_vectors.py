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
    # An amount in another spelling is another value to a list; == and compareTo know better.
    Difference("quantity('1000m') in [quantity('1')]", ours="false", theirs="true"),
    # cel-spec's (timestamps.textproto) is the part of a second; upstream's is all of them.
    Difference("duration('1s250ms').getMilliseconds()", ours="250", theirs="1250"),
    # Upstream writes the power of ten as people do.
    Difference("'%e'.format([1234.5])", ours="1.234500e+03", theirs="1.234500×10⁰³"),  # noqa: RUF001 - its own sign
    # The engine's checker has the conversion, and the engine has not.
    Difference("int(duration('90s'))", ours=None, theirs="90000000000"),
)
"""Where we differ, and why."""
