"""Kubernetes' CEL libraries, one module each, with upstream's names and semantics (apiserver pkg/cel/library)."""

from . import authz, cidr, conversions, format, ip, lists, native, optionals, quantity, regex, semver, text, url  # noqa: A004 - the library's own name
from .overload import LibraryError, Overload, overload

__all__ = ["AUTHORIZATION", "INTERNAL", "LIBRARIES", "LibraryError", "Overload"]


def _fail(text: str) -> str:
    raise LibraryError(text)


LIBRARIES: tuple[Overload, ...] = (
    *native.STRINGS,
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
"""All functions of Kubernetes' CEL libraries, which policies can call."""

AUTHORIZATION: tuple[Overload, ...] = authz.OVERLOADS
"""The functions of ``authorizer``, which only native policies have."""

INTERNAL: tuple[Overload, ...] = (
    overload("internal_fail", "internal.fail(string): dyn", _fail),
    *lists.INTERNAL,
    *regex.INTERNAL,
    *format.INTERNAL,
    *conversions.INTERNAL,
    *text.INTERNAL,
)
"""The functions that only the CEL bodies of library functions can call; policies cannot."""
