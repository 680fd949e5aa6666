"""Which MIG profile was probably meant: a name with a slip in it, against the names that there are."""

import re
from collections.abc import Iterable
from math import log2

from .mig import LONGEST, Profile, bare, parse

# A slip of one doubling of the slices costs 1.25, one of the memory 1, a wrong extra 0.5. Beyond both numbers off by
# two doublings a name resembles everything, and a suggestion would be noise.
_SLICES_WEIGHT = 1.25
_EXTRAS_WEIGHT = 0.5
_FAR = 4.5

# Of a name without readable numbers (``lg.5gb``, ``1g.5bg``): two keystrokes off, a transposition for example.
_MOST_SLIPS = 2

_ROUGH = re.compile(r"(?<!\d)([1-9])\s*g?\s*[._ -]?\s*([1-9]\d{0,2})\s*(?:gi?b?|$)")
# AKS' --gpu-instance-profile says no memory: MIG1g, MIG2g, MIG3g, MIG4g, MIG7g
# (https://learn.microsoft.com/azure/aks/gpu-multi-instance).
_SLICES_ALONE = re.compile(r"(?:mig)?([1-9])g")


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Find the candidate that ``name`` was probably meant to be, or None where nothing is near."""
    return next(iter(suggestions(name, candidates)), None)


def suggestions(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that ``name`` may have been meant to be, the best first, as they are spelled.

    Near is measured by size: the profile's own numbers on a logarithmic scale, since 20 for 25 is a smaller slip than 5
    for 10; slices weigh more than memory, because people choose by them and copy the rest. ``mig-4g.5gb`` is 4g.20gb to
    an A100. Of equally near ones that which is spelled more alike comes first. A name whose numbers cannot be read is
    compared by its spelling alone. Candidates that are no profiles are passed over.
    """
    if len(name) > LONGEST:
        return []
    text = bare(name).lower()
    meant = _numbers(text)
    ranked: list[tuple[float, int, Profile, str]] = []
    for spelled in candidates:
        try:
            found = parse(spelled)
        except ValueError:
            continue
        slips = _slips(text, bare(spelled).lower())
        if meant is None and slips <= _MOST_SLIPS:
            ranked.append((0, slips, found, spelled))
        elif meant is not None and (distance := _distance(meant, found)) <= _FAR:
            ranked.append((distance, slips, found, spelled))
    return [spelled for *_, spelled in sorted(ranked)]


def _distance(meant: Profile, candidate: Profile) -> float:
    slices = abs(log2(meant.slices / candidate.slices))
    memory = 0.0  # where the name says none
    if meant.memory_gb:
        memory = abs(log2(meant.memory_gb / candidate.memory_gb)) if candidate.memory_gb else _FAR
    if (meant.attributes, meant.without) == (candidate.attributes, candidate.without):
        extras = 0.0
    else:
        # a misspelled extra is nearer to another one than to none
        extras = _EXTRAS_WEIGHT / 2 if meant.attributes and candidate.attributes else _EXTRAS_WEIGHT
    return _SLICES_WEIGHT * slices + memory + extras


def _numbers(text: str) -> Profile | None:
    """Read a profile's numbers from a name with slips in it (``1g5gb``, ``1g.5g``, ``1G.5GB``, ``MIG1g``), or None."""
    try:
        return parse(text)
    except ValueError:
        pass
    if alone := _SLICES_ALONE.fullmatch(text):
        return Profile(int(alone[1]), 0)
    rough = _ROUGH.search(text)
    return Profile(int(rough[1]), int(rough[2])) if rough else None


def _slips(one: str, other: str) -> int:
    """Count the keystrokes between two names (Levenshtein); one more than counts where their lengths tell enough."""
    if abs(len(one) - len(other)) > _MOST_SLIPS:
        return _MOST_SLIPS + 1
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        before, row[0] = row[0], number
        for place, wanted in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != wanted))
    return row[-1]
