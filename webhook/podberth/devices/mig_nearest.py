"""Suggests existing MIG profiles for a misspelled name."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby, islice
from math import log2
from operator import itemgetter

from .mig import LONGEST, Profile, bare, parse

# A slip of one doubling of the slices costs 1.25, one of the memory 1, a wrong extra 0.5. When both numbers are off by
# more than two doublings, a name resembles everything and a suggestion would be noise.
_SLICES_WEIGHT = 1.25
_EXTRAS_WEIGHT = 0.5
_FAR = 4.5

# The limit for a name without readable numbers (``lg.5gb``, ``1g.5bg``): two keystrokes, for example a transposition.
_MOST_SLIPS = 2

# The text never has two blanks in a row: each part matches a few characters at most, so the search is linear.
_ROUGH = re.compile(r"(?<!\d)([1-9]) ?g? ?[._-]? ?([1-9]\d{0,2}) ?(?:gi?b?|$)")
_BLANKS = re.compile(r"\s+")
# AKS' --gpu-instance-profile omits the memory: MIG1g, MIG2g, MIG3g, MIG4g, MIG7g
# (https://learn.microsoft.com/azure/aks/gpu-multi-instance).
_SLICES_ALONE = re.compile(r"(?:mig)?([1-9])g")


# The number of remembered answers. Pods of one template need the same one, and a name has at most LONGEST characters.
_ANSWERS = 256


def suggestions(name: str, candidates: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Return at most ``most`` candidates that ``name`` may be a misspelling of, the best candidate first.

    The distance of two profiles is measured between the numbers in their names on a logarithmic scale, because 20
    instead of 25 is a smaller error than 5 instead of 10. Slices count more than memory, because people choose by
    slices and often get the memory wrong: on an A100, "mig-4g.5gb" means 4g.20gb. Among candidates of equal distance,
    the candidate with the more similar spelling comes first. A name without readable numbers is compared by spelling
    alone. Candidates that are no profiles are skipped. Results are cached.
    """
    return _suggestions(name, tuple(candidates), most) if len(name) <= LONGEST else ()


@lru_cache(maxsize=_ANSWERS)
def _suggestions(name: str, candidates: tuple[str, ...], most: int) -> tuple[str, ...]:
    return tuple(islice(_ranked(bare(name).lower(), candidates), most))


def _ranked(text: str, candidates: Iterable[str]) -> Iterator[str]:
    meant = _numbers(text)
    parsed = ((_parsed(spelled), spelled) for spelled in candidates)
    known = [
        (0.0 if meant is None else _distance(meant, profile), profile, spelled)
        for profile, spelled in parsed
        if profile is not None
    ]
    for distance, group in groupby(sorted(known, key=itemgetter(0)), key=itemgetter(0)):
        if distance > _FAR:
            return
        # Keystrokes are counted only among equally near candidates: counting takes longer than all the rest.
        equal = sorted((_slips(text, bare(spelled).lower()), profile, spelled) for _, profile, spelled in group)
        yield from (spelled for slips, _, spelled in equal if meant is not None or slips <= _MOST_SLIPS)


def _parsed(name: str) -> Profile | None:
    try:
        return parse(name)
    except ValueError:
        return None


def _distance(meant: Profile, candidate: Profile) -> float:
    slices = abs(log2(meant.slices / candidate.slices))
    memory = 0.0  # if the name has none
    if meant.memory_gb:
        memory = abs(log2(meant.memory_gb / candidate.memory_gb)) if candidate.memory_gb else _FAR
    if (meant.attributes, meant.without) == (candidate.attributes, candidate.without):
        extras = 0.0
    else:
        # a misspelled extra is nearer to another one than to none
        extras = _EXTRAS_WEIGHT / 2 if meant.attributes and candidate.attributes else _EXTRAS_WEIGHT
    return _SLICES_WEIGHT * slices + memory + extras


def _numbers(text: str) -> Profile | None:
    """Return the numbers in a misspelled profile name such as "1g5gb", "1g.5g", "1G.5GB" or "MIG1g".

    None if the name has no numbers.
    """
    if (profile := _parsed(text)) is not None:
        return profile
    if alone := _SLICES_ALONE.fullmatch(text):
        return Profile(int(alone[1]), 0)
    rough = _ROUGH.search(_BLANKS.sub(" ", text))
    return Profile(int(rough[1]), int(rough[2])) if rough else None


def _slips(one: str, other: str) -> int:
    """Return the edit distance of two names (Levenshtein), or ``_MOST_SLIPS`` + 1 for any larger distance."""
    beyond = _MOST_SLIPS + 1
    if abs(len(one) - len(other)) > _MOST_SLIPS:
        return beyond
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        above, row = row, [number]
        for place, another in enumerate(other, 1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (letter != another)))
    return min(row[-1], beyond)
