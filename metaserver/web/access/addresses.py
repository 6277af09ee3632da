"""Origins of requests, even behind proxies trusted to name them: pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from metaserver.base.errors import InputError

_HOST = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")

Address = IPv4Address | IPv6Address
UNKNOWN = "unknown"  # a connection without an address: a Unix socket


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """A request's origin: the client's address, and whether it used TLS."""

    address: str
    secure: bool

    @property
    def key(self) -> str:
        """The key of its limits: an IPv4 address, or an IPv6 client's /64 network."""
        address = read_address(self.address)
        if isinstance(address, IPv6Address):
            return str(ip_network((address, 64), strict=False))
        return self.address


def site_of(host: str, *, secure: bool) -> str:
    """Return where a request reached the hub, as its `Host` says; empty for what is no host.

    Whoever sends a request chooses its `Host`: so it is only for the answer to that request.
    """
    return f"http{'s' if secure else ''}://{host}" if _HOST.fullmatch(host[:300]) else ""


class Proxies:
    """The networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [_network(network) for network in networks]

    def origin(
        self, peer: str | None, *, secure: bool, forwarded: Sequence[str], protocol: str
    ) -> Origin:
        """Return a request's origin.

        `forwarded` are the values of `X-Forwarded-For`: each proxy adds whom it heard from at the
        end. So it is read from there, as long as who speaks is trusted: what comes before, anybody
        may have written.
        """
        if not self.trusts(peer):
            return Origin(address=_plain(peer), secure=secure)
        hops = [part.strip() for value in forwarded for part in value.split(",")]
        address = peer
        while hops and self.trusts(address):
            heard = hops.pop()
            if read_address(heard) is None:
                break
            address = heard
        return Origin(address=_plain(address), secure=secure or protocol.strip() == "https")

    def trusts(self, address: str | None) -> bool:
        """Return whether an address belongs to a proxy."""
        ip = read_address(address)
        return ip is not None and any(ip in network for network in self._networks)


def read_address(text: str | None) -> Address | None:
    """Read an IP address; an IPv4 address written as IPv6 is the IPv4 address.

    >>> read_address("::ffff:192.0.2.7"), read_address("hub.example.org")
    (IPv4Address('192.0.2.7'), None)
    """
    try:
        address = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _plain(text: str | None) -> str:
    address = read_address(text)
    return UNKNOWN if address is None else str(address)


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise InputError(
            "web.trusted_proxies", f"{error}; expected 10.0.0.0/8 or the like"
        ) from error
