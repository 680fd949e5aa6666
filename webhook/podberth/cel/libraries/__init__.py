"""Kubernetes' CEL libraries, one file each, under upstream's names and semantics (apiserver pkg/cel/library)."""

from . import cidr, conversions, format, ip, lists, optionals, quantity, regex, semver, strings, text, url  # noqa: A004 - the library's own name
from .overload import LibraryError, Overload, rows

__all__ = ["INTERNAL", "LIBRARIES", "LibraryError", "Overload"]


def _fail(text: str) -> str:
    raise LibraryError(text)


LIBRARIES: tuple[Overload, ...] = (
    *strings.OVERLOADS,
    *lists.OVERLOADS,
    *regex.OVERLOADS,
    *quantity.OVERLOADS,
    *url.OVERLOADS,
    *ip.OVERLOADS,
    *cidr.OVERLOADS,
    *format.OVERLOADS,
    *semver.OVERLOADS,
    *optionals.OVERLOADS,
)
"""All library functions that policies can call."""

INTERNAL: tuple[Overload, ...] = (
    *rows("internal.fail", ("internal_fail", ("string",), "dyn", _fail)),
    *lists.INTERNAL,
    *regex.INTERNAL,
    *format.INTERNAL,
    *conversions.INTERNAL,
    *text.INTERNAL,
)
"""Further functions for bodies; policies cannot name them."""
