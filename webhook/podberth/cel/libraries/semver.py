"""Kubernetes' semver library (apiserver pkg/cel/library/semverlib.go, github.com/blang/semver/v4).

A version is represented by the version's text without build metadata, which comparisons ignore. Only ASCII is accepted,
as in Go.
"""

import re
from typing import Final, NamedTuple

from .overload import SEMVER, LibraryError, Overload, accepted, overload

_UINT64: Final = 2**64
_NUMBER: Final = re.compile(r"[0-9]+")
_WORD: Final = re.compile(r"[0-9A-Za-z-]+")


class Version(NamedTuple):
    """A semantic version without build metadata."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text that represents the version while an expression is evaluated."""
        numbers = ".".join(map(str, self.numbers))
        return f"{numbers}-{'.'.join(self.prerelease)}" if self.prerelease else numbers


def parse(text: str) -> Version:
    """Return the version that upstream's semver.Parse reads from a text.

    Raises:
        LibraryError: the text is not a version; the message is upstream's.
    """
    if not text:
        raise LibraryError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:  # noqa: PLR2004 - major, minor, patch
        raise LibraryError("No Major.Minor.Patch elements found")
    patch, has_build, build = parts[2].partition("+")
    patch, has_prerelease, prerelease = patch.partition("-")
    numbers = (_number(parts[0], "Major"), _number(parts[1], "Minor"), _number(patch, "Patch"))
    before = tuple(prerelease.split(".")) if has_prerelease else ()
    for each in before:
        _want_word(each, "Prerelease")
        if _NUMBER.fullmatch(each):
            _number(each, "Prerelease")
    for each in build.split(".") if has_build else ():
        _want_word(each, "Build meta data")
    return Version(numbers, before)


def normalized(text: str) -> str:
    """Return a version's text in the form MAJOR.MINOR.PATCH, as in upstream's normalizeAndParse.

    A ``v`` at the beginning and leading zeros are removed, and missing minor and patch numbers are added.

    Raises:
        LibraryError: a version with fewer than three numbers has a prerelease or build metadata.
    """
    parts = text.removeprefix("v").split(".", 2)
    for place, part in enumerate(parts):
        if len(part) > 1:
            bare = part.lstrip("0")
            parts[place] = bare if bare and bare[0] in "0123456789" else f"0{bare}"
    if len(parts) < 3 and any(each in parts[-1] for each in "+-"):  # noqa: PLR2004 - major, minor, patch
        raise LibraryError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


def compare(first: Version, second: Version) -> int:
    """Return -1, 0 or 1 if the first version is lower than, equal to or higher than the second.

    A release is higher than the release's prereleases.
    """
    if first.numbers != second.numbers:
        return 1 if first.numbers > second.numbers else -1
    if not first.prerelease or not second.prerelease:
        return bool(second.prerelease) - bool(first.prerelease)
    one, other = _ranks(first), _ranks(second)
    return (one > other) - (one < other)


def _ranks(version: Version) -> list[tuple[bool, int, str]]:
    """Return the sort key of a version's prerelease: numbers sort by value, and before words."""
    return [(False, int(each), "") if _NUMBER.fullmatch(each) else (True, 0, each) for each in version.prerelease]


def _number(text: str, what: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise LibraryError(f'Invalid character(s) found in {what.lower()} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise LibraryError(f'{what} number must not contain leading zeroes "{text}"')
    if len(text) > len(str(_UINT64)) or int(text) >= _UINT64:
        raise LibraryError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _want_word(text: str, what: str) -> None:
    if not text:
        raise LibraryError(f"{what} is empty")
    if not _WORD.fullmatch(text):
        raise LibraryError(f'Invalid character(s) found in {what.lower()} "{text}"')


def _semver(text: str, normalize: bool = False) -> str:
    return parse(normalized(text) if normalize else text).text


def _compared(first: str, second: str) -> int:
    return compare(parse(first), parse(second))


def _part(text: str, place: int) -> int:
    number = parse(text).numbers[place]
    return number if number < _UINT64 // 2 else number - _UINT64  # Go's conversion of a uint64 to an int64


_TWO = f"({SEMVER}, {SEMVER})"

OVERLOADS: tuple[Overload, ...] = (
    overload("string_to_semver", "semver(string): kubernetes.Semver", _semver),
    overload("string_bool_to_semver", "semver(string, bool): kubernetes.Semver", _semver),
    overload("is_semver_string", "isSemver(string): bool", accepted(_semver)),
    overload("is_semver_string_bool", "isSemver(string, bool): bool", accepted(_semver)),
    overload("semver_is_greater_than", f".isGreaterThan{_TWO}: bool", lambda a, b: _compared(a, b) > 0),
    overload("semver_is_less_than", f".isLessThan{_TWO}: bool", lambda a, b: _compared(a, b) < 0),
    overload("semver_compare_to", f".compareTo{_TWO}: int", _compared),
    overload("semver_major", ".major(kubernetes.Semver): int", lambda text: _part(text, 0)),
    overload("semver_minor", ".minor(kubernetes.Semver): int", lambda text: _part(text, 1)),
    overload("semver_patch", ".patch(kubernetes.Semver): int", lambda text: _part(text, 2)),
)
