"""Kubernetes' IP address library (apiserver pkg/cel/library/ip.go, Go's net/netip). An address is a canonical text."""

from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from .overload import LibraryError, Overload, accepted, overload

Address = IPv4Address | IPv6Address

# net/netip's bounds of the kinds of addresses, which differ from Python's.
_LOOPBACK: Final = IPv4Network("127.0.0.0/8")
_LINK_LOCAL_4: Final = IPv4Network("169.254.0.0/16")
_LINK_LOCAL_6: Final = IPv6Network("fe80::/10")
_LINK_LOCAL_MULTICAST_4: Final = IPv4Network("224.0.0.0/24")
_BROADCAST: Final = IPv4Address("255.255.255.255")


def parse(text: str) -> Address:
    """Return the IP address in a text, as upstream's parseIPAddr; zones and IPv4-mapped IPv6 addresses are refused.

    Raises:
        LibraryError: the text is no IP address, or the address has a zone or is IPv4-mapped.
    """
    if "%" in text:
        raise LibraryError(f'IP address "{text}" with zone value is not allowed')
    address = parse_any(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        raise LibraryError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def parse_any(text: str) -> Address:
    """Return the IP address in a text; IPv4-mapped IPv6 addresses are accepted.

    Raises:
        LibraryError: the text is not an address, or has a zone.
    """
    try:
        return IPv6Address(text) if ":" in text else IPv4Address(text)
    except AddressValueError as error:
        raise LibraryError(f'IP Address "{text}" parse error during conversion from string: {error}') from error


def _is_loopback(address: Address) -> bool:
    return address in _LOOPBACK if isinstance(address, IPv4Address) else address == IPv6Address(1)


def _is_link_local(address: Address) -> bool:
    return address in (_LINK_LOCAL_4 if isinstance(address, IPv4Address) else _LINK_LOCAL_6)


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _LINK_LOCAL_MULTICAST_4
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02  # noqa: PLR2004 - ff02::/16, any flags


def _is_global_unicast(address: Address) -> bool:
    """Return what netip's IsGlobalUnicast returns: True also for private addresses, False for the broadcast address."""
    kept_off = address.is_multicast or int(address) == 0 or address == _BROADCAST
    return not (kept_off or _is_loopback(address) or _is_link_local(address))


def _asked(question: Callable[[Address], bool]) -> Callable[[str], bool]:
    return lambda text: question(ip_address(text))


OVERLOADS: tuple[Overload, ...] = (
    overload("string_to_ip", "ip(string): net.IP", lambda text: str(parse(text))),
    overload("is_ip", "isIP(string): bool", accepted(parse)),
    overload("ip_is_canonical", "ip.isCanonical(string): bool", lambda text: str(parse(text)) == text),
    overload("ip_family", ".family(net.IP): int", lambda text: ip_address(text).version),
    overload("ip_is_unspecified", ".isUnspecified(net.IP): bool", _asked(lambda address: int(address) == 0)),
    overload("ip_is_loopback", ".isLoopback(net.IP): bool", _asked(_is_loopback)),
    overload("ip_is_link_local_multicast", ".isLinkLocalMulticast(net.IP): bool", _asked(_is_link_local_multicast)),
    overload("ip_is_link_local_unicast", ".isLinkLocalUnicast(net.IP): bool", _asked(_is_link_local)),
    overload("ip_is_global_unicast", ".isGlobalUnicast(net.IP): bool", _asked(_is_global_unicast)),
    overload("ip_to_string", "string(net.IP): string", lambda text: text),
)
