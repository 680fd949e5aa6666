"""What came of one pair of policy and object, in the words of both sides, and where two such answers differ."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ERROR: Final = "resulted in error: "
# apimachinery pkg/util/rand: five characters of this alphabet. podberth writes zeros.
_GENERATED: Final = re.compile(r"-([bcdfghjklmnpqrstvwxz2456789]{5}|00000)\b")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an API server says to a creation, as far as ValidatingAdmissionPolicies have a part in it."""

    refused: str = ""
    """Why it does not take the policy; empty: it does."""
    code: int = 201
    reason: str = ""
    messages: tuple[str, ...] = ()
    """The denial. podberth says all of them, and the API server says one, the first in an order that is not fixed."""
    warnings: tuple[str, ...] = ()
    unjudged: str = ""
    """Why podberth cannot say; always empty of the API server."""


def difference(ours: Answer, theirs: Answer) -> str:
    """Return in what the answers differ: ``refusal``, ``verdict``, ``status``, ``message``, ``warnings`` or nothing."""
    if ours.unjudged:
        return "" if theirs.refused else "unjudged"
    if bool(ours.refused) != bool(theirs.refused):
        return "refusal"
    if bool(ours.messages) != bool(theirs.messages):
        return "verdict"
    if not set(map(plain, theirs.messages)) <= set(map(plain, ours.messages)):
        return "message"
    if len(ours.messages) == 1 and (ours.code, ours.reason) != (theirs.code, theirs.reason):
        return "status"
    return "" if _sorted(ours.warnings) == _sorted(theirs.warnings) else "warnings"


def worded_apart(ours: Answer, theirs: Answer) -> Sequence[tuple[str, str]]:
    """Return the errors of expressions that the two say in other words, each as (ours, theirs)."""
    pairs = [(ours.messages, theirs.messages), (ours.warnings, theirs.warnings)]
    found = []
    for mine, yours in pairs:
        by_lead = {plain(each): each for each in mine}
        for each in yours:
            own = by_lead.get(plain(each), each)
            if own != each:
                found.append((own.partition(_ERROR)[2], each.partition(_ERROR)[2]))
    return found


def _sorted(lines: Sequence[str]) -> list[str]:
    return sorted({plain(each) for each in lines})


def plain(line: str) -> str:
    """Return a line without what cannot be equal: an error's own words, and the end of a generated name."""
    lead, found, _ = _GENERATED.sub("-", line).partition(_ERROR)
    return lead + found
