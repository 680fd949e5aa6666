"""Kubernetes' CIDR library (apiserver pkg/cel/library/cidr.go, Go's net/netip).

A CIDR prefix is represented by the text "<canonical address>/<bits>"; the address keeps the host bits.
"""

import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final

from . import ip
from .overload import LibraryError, Overload, accepted, overload

_BITS: Final = re.compile(r"0|[1-9][0-9]{0,2}")


def parse(text: str) -> str:
    """Return the canonical text of the CIDR prefix in ``text``.

    Raises:
        LibraryError: the text is not a CIDR prefix.
    """
    said = f'network address parse error during conversion from string: "{text}"'
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise LibraryError(f"{said}: no '/'")
    try:
        found = ip.parse(address)
    except LibraryError as error:
        raise LibraryError(f"{said}: {error}") from error
    if not _BITS.fullmatch(bits) or int(bits) > found.max_prefixlen:
        raise LibraryError(f'{said}: bad bits after slash: "{bits}"')
    return f"{found}/{bits}"


def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


def _contains_ip(prefix: str, address: str) -> bool:
    return ip_address(address) in _network(prefix)


def _contains_cidr(prefix: str, other: str) -> bool:
    outer: Any = _network(prefix)
    inner: Any = _network(other)
    return outer.version == inner.version and bool(inner.subnet_of(outer))


def _of_text(question: Callable[[str, str], bool], convert: Callable[[str], str]) -> Callable[[str, str], bool]:
    return lambda prefix, text: question(prefix, convert(text))


OVERLOADS: tuple[Overload, ...] = (
    overload("string_to_cidr", "cidr(string): net.CIDR", parse),
    overload("is_cidr", "isCIDR(string): bool", accepted(parse)),
    overload(
        "cidr_contains_ip_string",
        ".containsIP(net.CIDR, string): bool",
        _of_text(_contains_ip, lambda text: str(ip.parse(text))),
    ),
    overload("cidr_contains_ip_ip", ".containsIP(net.CIDR, net.IP): bool", _contains_ip),
    overload("cidr_contains_cidr_string", ".containsCIDR(net.CIDR, string): bool", _of_text(_contains_cidr, parse)),
    overload("cidr_contains_cidr", ".containsCIDR(net.CIDR, net.CIDR): bool", _contains_cidr),
    overload("cidr_ip", ".ip(net.CIDR): net.IP", lambda prefix: prefix.rpartition("/")[0]),
    overload("cidr_prefix_length", ".prefixLength(net.CIDR): int", lambda prefix: int(prefix.rpartition("/")[2])),
    overload("cidr_masked", ".masked(net.CIDR): net.CIDR", lambda prefix: str(_network(prefix))),
    overload("cidr_to_string", "string(net.CIDR): string", lambda prefix: prefix),
)
