"""How many examples a property has."""

from hypothesis import settings

_DEFAULT = 100
"""https://hypothesis.readthedocs.io/en/latest/reference/api.html#hypothesis.settings.max_examples"""


def examples(count: int) -> int:
    """Return the count, or with the profile `quick`, which has a tenth of Hypothesis' default, a tenth of it."""
    return max(1, count * settings().max_examples // _DEFAULT)
