"""How many examples a property has, and how many cases of a table that is as long as a property's examples."""

from collections.abc import Iterable
from random import Random
from typing import Final, TypeVar

from hypothesis import settings

_DEFAULT: Final = 100
"""https://hypothesis.readthedocs.io/en/latest/reference/api.html#hypothesis.settings.max_examples"""

_Case = TypeVar("_Case")


def examples(count: int) -> int:
    """Return the count, or with the profile `quick`, which has a tenth of Hypothesis' default, a tenth of it."""
    return max(1, count * settings().max_examples // _DEFAULT)


def is_thorough() -> bool:
    """Return whether the profile `thorough` runs, which has ten times Hypothesis' default: by hand alone."""
    return settings().max_examples > _DEFAULT


def thinned(cases: Iterable[_Case]) -> list[_Case]:
    """Return the cases, or with the profile `quick` a tenth of them: always the same ones, so that a name stays one."""
    known = list(cases)
    drawn = Random(0).sample(range(len(known)), min(len(known), examples(len(known))))  # noqa: S311 - no secret
    return [known[number] for number in sorted(drawn)]
