"""Guard against addresses that no article may be sent to: servers' URLs are chosen by others.

The guard checks each socket's address before it connects, after parsing and DNS, so an earlier name
resolution does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


class RefusedAddressError(OSError):
    """A refused address; an `OSError`, so that the next address of a name is tried."""


# IANA's special-purpose registries (RFC 6890) and the metadata services of clouds. The first
# network that contains an address counts.
_SPECIAL: Final[Mapping[Network, str]] = {
    ip_network(network): word
    for word, networks in (
        (
            "a cloud's metadata service",
            "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 fd00:ec2::254",
        ),
        ("unspecified", "0.0.0.0/8 ::"),
        ("loopback", "127.0.0.0/8 ::1"),
        ("link-local", "169.254.0.0/16 fe80::/10"),
        ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10 64:ff9b:1::/48"),
        ("shared by a provider's customers", "100.64.0.0/10"),
        ("multicast", "224.0.0.0/4 ff00::/8"),
        (
            "for examples in documents",
            "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        ),
        ("reserved", "192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4 2001::/23"),
    )
    for network in networks.split()
}
_GLOBAL: Final = IPv6Network("2000::/3")  # IPv6's global unicast: RFC 4291, section 2.4

_COMPATIBLE: Final = IPv6Network("::/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")


def read_network(text: str, setting: str) -> Network:
    """Return a network written as `10.20.0.0/16`; raises `ValueError` that names the setting.

    >>> read_network("10.20.0.0/16", "servers.allow")
    IPv4Network('10.20.0.0/16')
    """
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(f"{setting}: {error}; expected one such as 10.20.0.0/16") from None


class AddressGuard:
    """A guard that refuses private, local and reserved addresses, unless `allow` lists them."""

    def __init__(self, allow: Sequence[Network] = ()) -> None:
        self._allow = tuple(allow)

    def check(self, host: str) -> None:
        """Raise `RefusedAddressError` unless articles may go to `host`, a socket's address."""
        try:
            address = ip_address(host)
        except ValueError:  # the system would look it up again
            raise RefusedAddressError(f"{host[:80]!r} is not an address") from None
        word = self._refusal(address)
        if word is not None:
            words = " in ".join(map(str, (*_embedded(address), address)))
            raise RefusedAddressError(
                f"the address {words} is {word}; this hub does not send articles there"
            )

    def _refusal(self, address: Address) -> str | None:
        """Return why an address is refused; None if it is permitted."""
        if any(address in network for network in self._allow):
            return None
        inner = tuple(_embedded(address))
        if inner:
            return next(filter(None, map(self._refusal, inner)), None)
        for network, word in _SPECIAL.items():
            if address in network:
                return word
        return None if address.version == 4 or address in _GLOBAL else "reserved"


def _embedded(address: Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that packets to an IPv6 address would reach, or pass through."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo
    elif address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
