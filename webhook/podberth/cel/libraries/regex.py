"""Kubernetes' regex library (apiserver pkg/cel/library/regex.go). The syntax is RE2, which Go's regexp uses, too.

The engine's own regex extension does the matching, in time linear in the text. The extension accepts at most one
capturing group, so capturing groups are made non-capturing: RE2 has no back references, and the result is the whole
match anyway. The engine's extractAll ignores the text before a match, so that ``^`` matches repeatedly. So this module
finds matches with the extension's replace function instead.
"""

import re

from .overload import LibraryError, Overload, overload

# The mark around a match after replacing. Real texts of Kubernetes objects do not contain it.
_MARK = "\x00"

_FIND = "regex.extract(a, internal.uncaptured(b)).orValue('')"
_FIND_ALL = r"internal.found(a, regex.replace(a, '(' + internal.uncaptured(b) + ')', '\x00\\1\x00'), {limit})"


_NAMED = re.compile(r"\(\?P?<([^>]*)>")
_NAME = re.compile(r"[0-9A-Za-z_]+")


def uncaptured(pattern: str) -> str:
    r"""Return the pattern with capturing groups replaced by groups that do not capture; flags such as (?i) stay.

    RE2's syntax: ``\(`` and ``[(]`` and the text in ``\Q...\E`` open no group; (?P<n>...) and (?<n>...) capture. An
    open ``\Q`` is closed, because the text around the pattern is not part of it.

    Raises:
        LibraryError: the pattern has syntax that RE2 accepts and Go's regexp does not (``\C``, one byte, or an invalid
            name of a group), or closes a group that is not open.
    """
    made: list[str] = []
    at, in_class, class_start, depth = 0, False, 0, 0
    while at < len(pattern):
        each = pattern[at]
        if each == "\\":
            escaped, at = _escaped(pattern, at)
            made.append(escaped)
            continue
        if in_class:
            end = pattern.find(":]", at + 2) if pattern.startswith("[:", at) else -1
            if end >= 0:  # [:alpha:]
                made.append(pattern[at : end + 2])
                at = end + 2
                continue
            in_class = each != "]" or at == class_start
        elif each == "[":
            in_class = True
            class_start = at + (2 if pattern[at + 1 : at + 2] == "^" else 1)
        elif each == "(":
            opened, at = _opened(pattern, at)
            made.append(opened)
            depth += 1
            continue
        elif each == ")":
            depth -= 1
            if depth < 0:  # it would close the group around the pattern
                raise LibraryError(f"error parsing regexp: unexpected ): `{pattern}`")
        made.append(each)
        at += 1
    return "".join(made)


def _escaped(pattern: str, at: int) -> tuple[str, int]:
    """Return (the escape sequence that begins at the index ``at``, the index after the sequence)."""
    kind = pattern[at + 1 : at + 2]
    if kind == "C":
        raise LibraryError("error parsing regexp: invalid escape sequence: `\\C`")
    if kind != "Q":
        return pattern[at : at + 2], at + 2
    inside, end, _ = pattern[at + 2 :].partition("\\E")
    return f"\\Q{inside}\\E", at + 2 + len(inside) + len(end)


def _legal(pattern: str) -> str:
    """Return the pattern unchanged if Go's regexp accepts it; otherwise raise LibraryError."""
    uncaptured(pattern)
    return pattern


def _opened(pattern: str, at: int) -> tuple[str, int]:
    """Return (the non-capturing form of the group's opening at the index ``at``, the index after the opening)."""
    if pattern[at + 1 : at + 2] != "?":
        return "(?:", at + 1
    if named := _NAMED.match(pattern, at):
        if not _NAME.fullmatch(named[1]):
            raise LibraryError(f"error parsing regexp: invalid named capture: `{named[0]}`")
        return "(?:", named.end()
    return "(?", at + 2


def _found(text: str, marked: str, limit: int) -> list[str]:
    """Return the first ``limit`` matches of a pattern; all matches if ``limit`` is negative.

    ``text`` is the searched text, and ``marked`` is the searched text with a mark before and after each match.
    """
    if _MARK in text:
        raise LibraryError("findAll: got a text with the character NUL in it, want one without")
    found = marked.split(_MARK)[1::2]
    return found if limit < 0 else found[:limit]


OVERLOADS: tuple[Overload, ...] = (
    overload("string_find_string", ".find(string, string): string", _FIND),
    overload("string_find_all_string", ".findAll(string, string): list(string)", _FIND_ALL.format(limit=-1)),
    overload("string_find_all_string_int", ".findAll(string, string, int): list(string)", _FIND_ALL.format(limit="c")),
)
FOUND = "internal.found"
"""The name of the function that returns the matches in a text. The text may have any length, because the CEL engine has
already searched it."""
LEGAL = "internal.legal"
"""The name of the function that refuses a pattern which Go's regexp does not accept: one with ``\\C`` or with an
invalid name of a group."""
INTERNAL: tuple[Overload, ...] = (
    overload("internal_uncaptured", "internal.uncaptured(string): string", uncaptured),
    overload("internal_legal", f"{LEGAL}(string): string", _legal),
    overload("internal_found", f"{FOUND}(string, string, int): list(string)", _found),
)
