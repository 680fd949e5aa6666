"""Reads the size of a model from its name: ``meta-llama/Llama-3.3-70B-Instruct`` has 70 billion parameters.

Authors round the number in a name up, and experts share some layers. So the result is a share of the number in the
name: a lower bound of the number of parameters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

LONGEST = 512
"""The most characters of a model's name that are read."""

# "70B", "1.5b"; "8x7B" is eight experts. After a single letter the number is no size: A22B are active parameters, E4B
# are parameters in memory at once, v2b is a version. After a longer word it is a size (llama70b).
_SIZE = re.compile(
    r"(?:(?<![A-Za-z0-9.])|(?<=[A-Za-z]{3}))(?:(?P<experts>[0-9]{1,3})[xX])?(?P<billions>[0-9]{1,4}(?:\.[0-9]{1,3})?)[bB]"
    r"(?![A-Za-z0-9])"
)
# A UUID or a hash in a path may look like a size.
_DIGEST = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{7,64})(?![0-9A-Za-z])")
_MOST_BILLIONS = 1500  # the largest public models have a thousand; more is a date or a number of tokens

# The models' cards on https://huggingface.co: 6.74 billion parameters are called 7B (Llama 2), 116.8 are called 120B
# (gpt-oss), 10.67 are called 11B (Llama 3.2 Vision). No known name is rounded up by more.
_ROUNDED = Fraction(96, 100)
# Experts share all but their feed-forward layers, so the name is larger than the model: 8x7B has 46.7 billion, 8x22B
# 140.6 (Mixtral), 2x8B 13.7, 8x3B 18.4.
_OF_EXPERTS = Fraction(70, 100)

# The parameters in millions of models that are named after their parts. Source: the models' cards.
_NAMED: Mapping[str, int] = {
    "llama-4-maverick": 400_000,
    "llama-4-scout": 108_000,
    "mixtral-8x22b": 140_600,
    "mixtral-8x7b": 46_700,
}

# Families in which every model with a size in its name is dense, except models whose name states experts.
_DENSE = re.compile(
    r"(?<![a-z])(?:code-?llama|llama-?2|llama-?3|qwen-?2(?!-57b)|qwq|gemma-?[23]?-[0-9]|falcon-?[0-9]|command-r|yi-[0-9]|opt-[0-9]"
    r"|pythia|bloom|vicuna|phi-[34]-(?:mini|medium))"
)
_EXPERTS = re.compile(r"(?<![a-z])(?:moe|[0-9]+x[0-9]|[0-9]+e(?![a-z])|a[0-9.]+b)")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """The facts about a machine-learning model that are in the model's name, such as ``Llama-3.3-70B``."""

    millions: int = 0
    """The lower bound of the model's number of parameters, in millions; 0: the name states no size."""
    is_dense: bool = False
    """Whether every token certainly uses every parameter (the model has no experts)."""


def named(name: str) -> NamedModel:
    """Return the facts in a machine-learning model's name, path or URL; no facts if the text is too long.

    If the name has several sizes, the smallest is used. For some known models, the number of parameters is from the
    model's documentation instead.
    """
    if len(name) > LONGEST:
        return NamedModel()
    text = _DIGEST.sub("", name.lower())
    is_dense = bool(_DENSE.search(text)) and not _EXPERTS.search(text)
    for known, millions in _NAMED.items():
        if known in text:
            return NamedModel(millions, is_dense)
    sizes = [_millions(found) for found in _SIZE.finditer(text)]
    return NamedModel(min((each for each in sizes if each), default=0), is_dense)


def _millions(found: re.Match[str]) -> int:
    billions = Fraction(found["billions"]) * int(found["experts"] or 1)
    share = _OF_EXPERTS if found["experts"] else _ROUNDED
    return int(billions * 1000 * share) if billions <= _MOST_BILLIONS else 0
