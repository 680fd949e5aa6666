"""Kubernetes' regex library (apiserver pkg/cel/library/regex.go): RE2, as Go's regexp is.

The engine's own regex extension does the matching, for time linear in the text. It wants at most one capturing group,
so groups stop capturing: RE2 has no back references, and what is found is the whole match anyway. Its extractAll
forgets what stands before a match (``^`` matches again and again), so all matches are found by replacing them.
"""

from .overload import LibraryError, Overload, rows

# What stands around a match after replacing. No text in a Kubernetes object that anybody writes has it.
_MARK = "\x00"

_FIND = "regex.extract(a, internal.uncaptured(b)).orValue('')"
_FIND_ALL = r"internal.found(a, regex.replace(a, '(' + internal.uncaptured(b) + ')', '\x00\\1\x00'), {limit})"


def uncaptured(pattern: str) -> str:
    r"""Return the pattern with its capturing groups turned into groups that do not capture; flags stay.

    RE2's syntax: ``\(`` and ``[(]`` and what is in ``\Q...\E`` open no group; (?P<n>...) and (?<n>...) capture.
    """
    made: list[str] = []
    at, in_class, class_start = 0, False, 0
    while at < len(pattern):
        each = pattern[at]
        if each == "\\":
            end = pattern.find("\\E", at + 2) if pattern[at + 1 : at + 2] == "Q" else -1
            end = end + 2 if end >= 0 else (len(pattern) if pattern[at + 1 : at + 2] == "Q" else at + 2)
            made.append(pattern[at:end])
            at = end
            continue
        if in_class:
            in_class = each != "]" or at == class_start
        elif each == "[":
            in_class = True
            class_start = at + (2 if pattern[at + 1 : at + 2] == "^" else 1)
        elif each == "(":
            opened, at = _opened(pattern, at)
            made.append(opened)
            continue
        made.append(each)
        at += 1
    return "".join(made)


def _opened(pattern: str, at: int) -> tuple[str, int]:
    """Return how the group at an index opens, uncaptured, and where its inside begins."""
    if pattern[at + 1 : at + 2] != "?":
        return "(?:", at + 1
    for name in ("(?P<", "(?<"):
        end = pattern.find(">", at)
        if pattern.startswith(name, at) and end > 0:
            return "(?:", end + 1
    return "(?", at + 2


def _found(text: str, marked: str, limit: int) -> list[str]:
    """Return the matches in a text; ``marked`` is the text with a mark before and after each. A negative limit: all."""
    if _MARK in text:
        raise LibraryError("findAll: got a text with the character NUL in it, want one without")
    found = marked.split(_MARK)[1::2]
    return found if limit < 0 else found[:limit]


OVERLOADS: tuple[Overload, ...] = (
    *rows("find", ("string_find_string", ("string", "string"), "string", _FIND)),
    *rows(
        "findAll",
        ("string_find_all_string", ("string", "string"), "list(string)", _FIND_ALL.format(limit=-1)),
        ("string_find_all_string_int", ("string", "string", "int"), "list(string)", _FIND_ALL.format(limit="c")),
    ),
)
FOUND = "internal.found"
"""It splits a text that the engine has searched already, so any length will do."""
INTERNAL: tuple[Overload, ...] = (
    *rows("internal.uncaptured", ("internal_uncaptured", ("string",), "string", uncaptured)),
    *rows(FOUND, ("internal_found", ("string", "string", "int"), "list(string)", _found)),
)
