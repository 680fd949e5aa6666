"""Words the warnings and denials that users read: one bounded line each, the most important first (docs/rules.md, 14).

The API server keeps 4,096 runes of warnings for one request, from all webhooks together; beyond that limit, the API
server cuts each warning to 256 runes (apiserver pkg/endpoints/filters/warning.go). podberth uses half of the 4,096
runes, and shortens each line.
"""

from collections.abc import Iterable, Sequence

from ..kube.patch import Patch
from .outcome import Decision

MAX_LINE = 256
MAX_TOTAL = 2048
_MOST_READ = 4 * MAX_LINE
"""How many characters of a text are read for a line; a message of a policy may have 5 KiB of blanks."""
_SILENT = frozenset({"mutate", "except", "note"})
"""The actions whose decisions get no own warning: all mutations share one warning, exceptions are in the audit log, and
``podberth check`` has the notes.
"""
_RANKS = ("error", "conflict")
"""The actions of decisions whose warnings come first in the answer of /mutate, in this order."""


def line(policy: str, text: str) -> str:
    """Return "podberth <policy>: <text>" as one line of at most MAX_LINE characters; the policy may be empty."""
    flat = full_line(policy, text[:_MOST_READ])
    return flat if len(flat) <= MAX_LINE else flat[: MAX_LINE - 1] + "…"


def full_line(policy: str, text: str) -> str:
    """Return "podberth <policy>: <text>" as one line of any length; the policy may be empty."""
    author = f"podberth {policy}" if policy else "podberth"
    return " ".join(f"{author}: {text}".split())


def within_budget(lines: Iterable[str], last: Iterable[str] = ()) -> tuple[str, ...]:
    """Return ``lines``, then ``last``, without duplicates, cut to about MAX_TOTAL characters.

    If some of ``lines`` do not fit, one more line has their number. ``last`` are cut in the same way, to the characters
    that ``lines`` leave.
    """
    unique = list(dict.fromkeys(lines))
    kept = _fitting(unique, MAX_TOTAL)
    later = [each for each in dict.fromkeys(last) if each not in unique]
    return (*kept, *_fitting(later, MAX_TOTAL - sum(map(len, kept))))


def _fitting(unique: Sequence[str], room: int) -> tuple[str, ...]:
    if sum(map(len, unique)) <= room:
        return tuple(unique)
    room -= len(_rest(len(unique)))
    if room < 0:
        return ()
    kept: list[str] = []
    for text in unique:
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return (*kept, _rest(len(unique) - len(kept)))


def of_mutations(decisions: Sequence[Decision], patch: Patch) -> tuple[str, ...]:
    """Return the warnings of /mutate: errors first, then conflicts and skipped writes, and one line of all changes."""
    shown = sorted(
        (item for item in decisions if item.action not in _SILENT),
        key=lambda item: _RANKS.index(item.action) if item.action in _RANKS else len(_RANKS),
    )
    changed = changes(decisions) if patch else ""
    return within_budget(
        [*(line(item.policy, item.message) for item in shown), *([line("", changed)] if changed else ())]
    )


def changes(decisions: Iterable[Decision], room: int = MAX_LINE) -> str:
    """Return one text that lists the changes of all policies; empty if nothing changed.

    The text has at most ``room`` characters, minus the length of the prefix ``podberth:``. If some changes do not fit,
    the text ends with "and N more". The first change is never cut or left out.
    """
    phrases = list(dict.fromkeys(" ".join(item.message.split()) for item in decisions if item.action == "mutate"))
    room -= len(line("", ""))
    for count in range(len(phrases), 1, -1):
        left = [f"and {len(phrases) - count} more"] if count < len(phrases) else []
        text = "; ".join([*phrases[:count], *left])
        if len(text) <= room:
            return text
    return "; ".join([*phrases[:1], *([f"and {len(phrases) - 1} more"] if len(phrases) > 1 else ())])


def _rest(count: int) -> str:
    return f"podberth: {count} more not shown"
