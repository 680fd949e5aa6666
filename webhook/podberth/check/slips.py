"""Finds slips: names that differ from a known name only by a typing error."""

from typing import Final

SLIP: Final = "got {}; did you mean {}?"
_SHORTEST: Final = 4
"""The length of the shortest known name for which slips are reported."""


def is_slip(got: str, want: str) -> bool:
    """Return whether two names differ only by one letter, by two swapped letters or by upper case.

    False if ``want`` is too short for such a comparison.
    """
    if len(want) < _SHORTEST or abs(len(got) - len(want)) > 1:
        return False
    if got.lower() == want.lower():
        return True
    length = min(len(got), len(want))
    first = next((at for at in range(length) if got[at] != want[at]), length)
    one, other = got[first:], want[first:]
    swapped = one[:2] == other[1::-1] and len(one) > 1 and one[2:] == other[2:]
    return swapped or one[1:] == other or one == other[1:] or one[1:] == other[1:]
