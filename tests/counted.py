"""A text that counts how often it is compared."""

from typing import ClassVar


class Counted(str):
    """A text that counts comparisons with it, for all texts of the class together; a set compares only equal hashes."""

    __slots__ = ()
    comparisons: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        """Count, and compare as ever."""
        Counted.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def values(count: int) -> list[str]:
    """Return texts that no label has, and start to count."""
    Counted.comparisons = 0
    return [Counted(f"no-such-{number}") for number in range(count)]
