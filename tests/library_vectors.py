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

DIFFERENCES: Final[tuple[tuple[str, str | None, str | None], ...]] = (
    # Upstream takes an element that cannot be compared for one that is not better; here it is no overload.
    ("dyn([1, 'a']).min()", None, "1"),
    # Upstream bounds it by cost alone; here no list has more elements than an evaluation may look at.
    ("lists.range(10001).size()", None, "10001"),
    # No quantity that anybody writes; the arithmetic is exact, and would take long.
    ("isQuantity('1e1001')", "false", "true"),
    # An amount in another spelling is another value to a list; == and compareTo know better.
    ("quantity('1000m') in [quantity('1')]", "false", "true"),
)
"""(expression, value here, upstream's): where we differ, and why."""
